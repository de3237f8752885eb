/**
 * The settings that the published systems were evaluated with, by benchmark (method specification, training 15.1), and what a
 * job's spec leaves out filled in from them.
 */
import { UserError } from '../errors'
import { type ReleasedName, releasedNames } from './systems'

export const benchmarks = [
  'math500',
  'medqa',
  'gpqa',
  'mbppplus',
  'aime25',
  'aime26',
  'livecodebench',
  'bamboogle',
  'hotpotqa',
] as const
export type Benchmark = (typeof benchmarks)[number]

export interface RecommendedSettings {
  readonly seed: number
  readonly rounds: number
  readonly latentSteps: number
  readonly batchSize: number
  readonly rollouts: number
  readonly maxNewTokens: number
  readonly temperature: number
  readonly topP: number
  /** Kind of question: the prompts, and the links of systems that have them by task. */
  readonly task: 'math' | 'code' | 'choice'
}

/** [latent steps, rounds, temperature where it is its own]. */
type Tuned = readonly [latentSteps: number, rounds: number, temperature?: number]

const tuned: Record<ReleasedName, Partial<Record<Benchmark, Tuned>>> = {
  sequential_light: {
    math500: [32, 3],
    medqa: [32, 2],
    gpqa: [48, 3],
    mbppplus: [48, 3],
    aime25: [32, 3],
    aime26: [32, 2],
  },
  sequential_scaled: {
    math500: [64, 2],
    medqa: [32, 3],
    gpqa: [32, 2],
    mbppplus: [32, 3],
    aime25: [48, 3],
    aime26: [64, 3],
    livecodebench: [48, 2, 0.2],
  },
  distillation: {
    math500: [64, 3],
    medqa: [64, 2],
    gpqa: [64, 3],
    mbppplus: [16, 2],
    aime25: [32, 3],
    aime26: [32, 3],
    livecodebench: [64, 2, 0.6],
  },
  deliberation: {
    math500: [16, 2],
    medqa: [16, 2],
    gpqa: [16, 3],
    mbppplus: [16, 3],
    aime25: [16, 3],
    aime26: [16, 2],
    livecodebench: [16, 3, 0.6],
    bamboogle: [16, 3],
    hotpotqa: [32, 2],
  },
  mixture: {
    math500: [64, 3],
    medqa: [48, 2],
    gpqa: [48, 3],
    mbppplus: [32, 3],
    aime25: [16, 3],
    aime26: [32, 2],
    livecodebench: [16, 2, 0.2],
  },
}

/** Where nothing was tuned. */
const usual = { latentSteps: 32, rounds: 3, batchSize: 8, temperature: 0.6 }

const tunedBatch: Partial<Record<Benchmark, number>> = {
  aime25: 15,
  aime26: 15,
  livecodebench: 12,
  bamboogle: 8,
  hotpotqa: 8,
}

/** Whose questions are answered by searching the web. */
const searched: readonly Benchmark[] = ['bamboogle', 'hotpotqa']

export const isSearched = (benchmark: Benchmark): boolean => searched.includes(benchmark)

/** UserError: the benchmark asks for a tool that the system does not use (method specification, training 15.1). */
export function checkBenchmark(system: ReleasedName, benchmark: Benchmark): void {
  if (isServed(system, benchmark)) return
  throw new UserError({
    what: `The benchmark ${benchmark} cannot be asked of ${system}.`,
    why: 'Its questions are answered by searching the web, and of the published systems only deliberation does.',
    next: `Choose deliberation, or one of ${benchmarks.filter((b) => !isSearched(b)).join(', ')}.`,
  })
}

const isServed = (system: ReleasedName, benchmark: Benchmark): boolean =>
  !isSearched(benchmark) || tuned[system][benchmark] !== undefined

/**
 * The settings of a published system on a benchmark, `overrides` put over them. A benchmark that the system was not tuned for gets
 * the method's usual ones (32 latent steps, 3 rounds, batches of 8). UserError: an unknown system, benchmark or setting, or a
 * benchmark that needs a search that the system does not make.
 */
export function recommendedSettings(
  system: string,
  benchmark: string,
  overrides: Readonly<Partial<RecommendedSettings>> = {},
): RecommendedSettings {
  const name = oneOf(releasedNames, system, 'published system')
  const own = oneOf(benchmarks, benchmark, 'benchmark')
  checkBenchmark(name, own)
  const entry = tuned[name][own]
  const [latentSteps, rounds, temperature] = entry ?? [usual.latentSteps, usual.rounds]
  const settings: RecommendedSettings = {
    seed: 42,
    rounds,
    latentSteps,
    batchSize: entry ? (tunedBatch[own] ?? 16) : usual.batchSize,
    rollouts: isAime(own) ? 10 : 1,
    maxNewTokens: longestText(name, own),
    temperature: temperature ?? (isCode(own) ? 0.2 : usual.temperature),
    topP: 0.95,
    task: isCode(own) ? 'code' : own === 'medqa' || own === 'gpqa' ? 'choice' : 'math',
  }
  for (const key of Object.keys(overrides)) oneOf(Object.keys(settings), key, 'setting')
  return { ...settings, ...overrides }
}

const isAime = (benchmark: Benchmark): boolean => benchmark === 'aime25' || benchmark === 'aime26'
const isCode = (benchmark: Benchmark): boolean => benchmark === 'mbppplus' || benchmark === 'livecodebench'

function longestText(system: ReleasedName, benchmark: Benchmark): number {
  const light = system === 'sequential_light'
  if (benchmark === 'math500') return light ? 1000 : 2000
  if (isAime(benchmark)) return light ? 8192 : 16000
  return benchmark === 'livecodebench' ? 4096 : 4000
}

function oneOf<T extends string>(known: readonly T[], given: string, what: string): T {
  const found = known.find((k) => k === given)
  if (found !== undefined) return found
  throw new UserError({
    what: `The ${what} ${JSON.stringify(given)} is not known.`,
    why: `Known are ${known.join(', ')}.`,
    next: 'Choose one of them.',
  })
}

/**
 * A raw evaluation spec with what it leaves out filled from its benchmark's recommended settings; every other value as it is.
 * What does not fit is left for the schema to refuse.
 */
export function withRecommended(raw: unknown): unknown {
  if (!isObject(raw) || raw.kind !== 'evaluate' || !isObject(raw.system)) return raw
  const { name, benchmark } = raw.system
  const system = releasedNames.find((n) => n === name)
  const own = benchmarks.find((b) => b === benchmark)
  if (!system || !own || !isServed(system, own)) return raw
  const { maxNewTokens, temperature, topP, ...settings } = recommendedSettings(system, own)
  const generation = { maxNewTokens, temperature, topP, sample: true, answerRetry: true }
  return {
    ...settings,
    ...raw,
    generation:
      raw.generation === undefined
        ? generation
        : isObject(raw.generation)
          ? { ...generation, ...raw.generation }
          : raw.generation,
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

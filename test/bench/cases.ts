/**
 * What can be measured, by name: the baseline's works as they are, which is what runs unless others are asked for; some of them
 * on inputs of growing size (series); works that only this engine has; and works on a gated delta-net model.
 */
import { type BenchInputs, mixtureSamples, tokenIds } from './inputs'
import { type ChildWork, type WorkName, workNames } from './measure'

/** The random models: see random-model.ts. */
export type ModelName = 'llama' | 'delta-net'

export interface BenchCase {
  readonly name: string
  readonly model: ModelName
  /** What the process does. */
  readonly work: ChildWork
  /** Inputs other than those in the model's folder. */
  readonly inputs?: (usual: BenchInputs, vocabulary: number) => BenchInputs
  /** The baseline's work of the same content, in its variant `best`; null: it has none, and this engine is measured alone. */
  readonly baseline: { readonly work: WorkName; readonly checkpointing?: boolean } | null
  readonly series?: {
    readonly name: string
    readonly size: number
    /** What one unit of size is. */
    readonly unit: string
    /** The time should lie on a straight line. */
    readonly linear: boolean
  }
}

const usualCases: readonly BenchCase[] = workNames.map((work) => ({
  name: work,
  model: 'llama',
  work,
  baseline: { work },
}))

const rounds = [1, 2, 4, 8]

/** `outer_step` of one sample over so many rounds. The baseline stops at an unused link, which one round leaves. */
const stepRounds = rounds.map((size): BenchCase => ({
  name: `step_rounds${size}`,
  model: 'llama',
  work: 'outer_step',
  inputs: (usual) => ({
    ...usual,
    outer: { ...usual.outer, rounds: size, samples: usual.outer.samples.slice(0, 1) },
  }),
  baseline: size === 1 ? null : { work: 'outer_step' },
  series: { name: 'step_rounds', size, unit: 'round', linear: true },
}))

/** Inference over so many rounds, up to the answer. */
const thinkRounds = rounds.map((size): BenchCase => ({
  name: `think_rounds${size}`,
  model: 'llama',
  work: 'think',
  inputs: (usual) => ({ ...usual, think: { rounds: size, latent_steps: 16 } }),
  baseline: null,
  series: { name: 'think_rounds', size, unit: 'round', linear: true },
}))

/** `rollout8` with so many rows. */
const batches = [1, 2, 4, 8, 16].map((size): BenchCase => ({
  name: `batch${size}`,
  model: 'llama',
  work: 'rollout8',
  inputs: (usual, vocabulary) => ({
    ...usual,
    rollout8: {
      ...usual.rollout8,
      prompts: Array.from({ length: size }, (_, b) => tokenIds(1000 * b, 300, vocabulary)),
    },
  }),
  baseline: { work: 'rollout8' },
  series: { name: 'batch', size, unit: 'row', linear: false },
}))

/** `rollout` after so many tokens. */
const prompts = [128, 256, 512, 1024, 2048].map((size): BenchCase => ({
  name: `prompt${size}`,
  model: 'llama',
  work: 'rollout',
  inputs: (usual, vocabulary) => ({
    ...usual,
    rollout: { ...usual.rollout, prompts: [tokenIds(0, size, vocabulary)] },
  }),
  baseline: { work: 'rollout' },
  series: { name: 'prompt', size, unit: 'token', linear: false },
}))

/** Three experts and a summarizer, six links; rounds, samples and lengths of `outer_step`. */
const mixtureStep: BenchCase = {
  name: 'mixture_step',
  model: 'llama',
  work: 'mixture_step',
  inputs: (usual, vocabulary) => ({ ...usual, mixture: { ...usual.outer, samples: mixtureSamples(vocabulary) } }),
  baseline: null,
}

/** The baseline shares the text before a slot as keys and values, which delta-net layers do not have: there it reads it again. */
const deltaWorks = ['forward_hidden', 'rollout', 'decode', 'inner_step', 'outer_step'] as const
const delta = deltaWorks.map((work): BenchCase => ({
  name: `delta_${work}`,
  model: 'delta-net',
  work,
  baseline: { work, checkpointing: work === 'outer_step' },
}))

const groups: Readonly<Record<string, readonly BenchCase[]>> = {
  forward: usualCases.filter(({ name }) => name.startsWith('forward')),
  scaling: [...stepRounds, ...thinkRounds, ...batches, ...prompts],
  step_rounds: stepRounds,
  think_rounds: thinkRounds,
  batch: batches,
  prompt: prompts,
  delta,
}

const allCases = [...usualCases, ...Object.values(groups).flat(), mixtureStep]

/** The cases of a name or a group's name; null when there is no such name. */
export function casesNamed(name: string): readonly BenchCase[] | null {
  if (Object.hasOwn(groups, name)) return groups[name]
  const found = allCases.find((c) => c.name === name)
  return found ? [found] : null
}

/** What is measured when nothing is named. */
export const casesByDefault = usualCases

/** For people: what each further name stands for. */
export const furtherNames = `  scaling       the four series that follow
  step_rounds   outer_step of one sample over ${rounds.join(', ')} rounds (step_rounds1, ...)
  think_rounds  a sequential system's thoughts about a question over ${rounds.join(', ')} rounds; this engine alone
  batch         rollouts of 1 to 16 rows (batch1, ...)
  prompt        rollouts after 128 to 2048 tokens (prompt128, ...)
  mixture_step  a training step of four agents and six links; this engine alone
  delta         ${deltaWorks.join(', ')} of a gated delta-net model (delta_rollout, ...)`

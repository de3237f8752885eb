/** The exact inputs of every piece of work, in the layout of the baseline's `inputs.json`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../src-main/engine/errors'

interface TrainingSettings {
  readonly learning_rate: number
  readonly betas: readonly [number, number]
  readonly eps: number
  readonly weight_decay: number
  readonly max_grad_norm: number
}

export interface OuterSettings extends TrainingSettings {
  readonly rounds: number
  readonly max_latents: number
}

interface Prompt {
  readonly before: readonly number[]
  readonly after: readonly number[]
}

export interface OuterSample {
  /** Plan, refined plan, answer. */
  readonly targets: readonly (readonly number[])[]
  readonly planner: Prompt
  readonly planner_feedback: Prompt
  readonly refiner: Prompt
  readonly solver: Prompt
}

/** By agent, texts as pieces with a slot between each two. */
export interface MixtureSample {
  readonly targets: readonly (readonly number[])[]
  /** Round 0: the experts' texts have no slot. */
  readonly first: readonly (readonly (readonly number[])[])[]
  readonly later: readonly (readonly (readonly number[])[])[]
}

interface RolloutInput {
  readonly prompts: readonly (readonly number[])[]
  readonly latent_steps: number
}

export interface BenchInputs {
  readonly rollout: RolloutInput
  readonly rollout8: RolloutInput
  readonly decode: { readonly prompt: readonly number[]; readonly new_tokens: number }
  readonly forward: { readonly ids: readonly number[] }
  readonly inner: TrainingSettings & { readonly ids: readonly (readonly number[])[]; readonly prompt_length: number }
  readonly outer: OuterSettings & { readonly samples: readonly OuterSample[] }
  /** Of works that the baseline does not have; there when such a work is to be done. */
  readonly mixture?: OuterSettings & { readonly samples: readonly MixtureSample[] }
  /** The prompts are those of `outer`, of the first sample. */
  readonly think?: { readonly rounds: number; readonly latent_steps: number }
}

export const inputsFile = (folder: string) => join(folder, 'inputs.json')

export async function readInputs(file: string): Promise<BenchInputs> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as BenchInputs
  } catch (error) {
    throw new UserError({
      what: 'The inputs of the benchmark cannot be read.',
      why: `${file}: ${(error as Error).message}.`,
      next: 'Give --weights a folder that the baseline or this command has filled, or remove it to have it made again.',
    })
  }
}

/** `count` fixed ids from place `start` on: ((start + j) * 7919 + 13) mod vocabulary. */
export function tokenIds(start: number, count: number, vocabulary: number): number[] {
  return Array.from({ length: count }, (_, j) => ((start + j) * 7919 + 13) % vocabulary)
}

/** Two samples for three experts and a summarizer with a slot for each, of the lengths of `outer`. */
export function mixtureSamples(vocabulary: number): MixtureSample[] {
  const ids = (start: number, count: number) => tokenIds(start, count, vocabulary)
  return [0, 1].map((b) => {
    const start = (p: number) => 1000 * (8 * b + p)
    const whole = (p: number) => [ids(start(p), 240)]
    const slotted = (p: number) => [ids(start(p), 200), ids(start(p) + 200, 40)]
    const summarizer = [0, 200, 220, 240].map((at, i) => ids(start(6) + at, [200, 20, 20, 40][i]))
    return {
      targets: [120, 120, 120, 80].map((length, a) => ids(200_000 + 1000 * (4 * b + a), length)),
      first: [whole(0), whole(1), whole(2), summarizer],
      later: [slotted(3), slotted(4), slotted(5), summarizer],
    }
  })
}

/** What the baseline writes for a vocabulary of this size. */
export function makeInputs(vocabulary: number): BenchInputs {
  const ids = (start: number, count: number) => tokenIds(start, count, vocabulary)
  const rows = (count: number, length: number) => Array.from({ length: count }, (_, b) => ids(1000 * b, length))
  const training: TrainingSettings = {
    learning_rate: 5e-4,
    betas: [0.9, 0.95],
    eps: 1e-8,
    weight_decay: 0,
    max_grad_norm: 1,
  }
  const sample = (b: number): OuterSample => {
    const prompt = (p: number): Prompt => {
      const start = 1000 * (4 * b + p)
      return { before: ids(start, 200), after: ids(start + 200, 40) }
    }
    return {
      targets: [120, 120, 80].map((length, a) => ids(100_000 + 1000 * (3 * b + a), length)),
      planner: prompt(0),
      planner_feedback: prompt(1),
      refiner: prompt(2),
      solver: prompt(3),
    }
  }
  return {
    rollout: { prompts: rows(1, 300), latent_steps: 48 },
    rollout8: { prompts: rows(8, 300), latent_steps: 48 },
    decode: { prompt: rows(1, 300)[0], new_tokens: 64 },
    forward: { ids: rows(1, 512)[0] },
    inner: { ids: rows(2, 512), prompt_length: 200, ...training },
    outer: { rounds: 3, max_latents: 80, samples: [0, 1].map(sample), ...training },
  }
}

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
  readonly outer: TrainingSettings & {
    readonly rounds: number
    readonly max_latents: number
    readonly samples: readonly OuterSample[]
  }
}

export async function readInputs(folder: string): Promise<BenchInputs> {
  const file = join(folder, 'inputs.json')
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
function tokenIds(start: number, count: number, vocabulary: number): number[] {
  return Array.from({ length: count }, (_, j) => ((start + j) * 7919 + 13) % vocabulary)
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

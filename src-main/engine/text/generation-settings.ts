/** How a run samples: what the run says goes before what the checkpoint proposes, and that before the defaults. */
import { repeats } from '../defects'
import type { Mode } from '../job-spec'
import type { ModelText } from './model-text'

/** What a run says; undefined leaves it to the checkpoint. */
export interface GenerationChoice {
  readonly maxNewTokens: number
  readonly sample: boolean
  readonly temperature?: number
  /** 0 = off. */
  readonly topK?: number
  readonly topP?: number
  readonly minP?: number
}

/** Settings of a generation, nothing left open. */
export interface GenerationSettings {
  readonly maxNewTokens: number
  /** false: greedy. */
  readonly sample: boolean
  readonly temperature: number
  /** 0 = off. */
  readonly topK: number
  /** 1 = off. */
  readonly topP: number
  /** 0 = off. */
  readonly minP: number
  /** Ids that end a row. */
  readonly stopIds: readonly number[]
}

/** The library's own defaults: "not said" does not mean "off" for top-k. */
const DEFAULTS = { temperature: 1, topK: 50, topP: 1, minP: 0 }

/** Ids that end an answer: the tokenizer's eos; in corrected mode those of the checkpoint's generation settings too. */
export function stopIdsOf(model: Pick<ModelText, 'tokenizer' | 'generation'>, mode: Mode): number[] {
  const own = model.tokenizer.eos ? [model.tokenizer.eos.id] : []
  return repeats('one-stop-token', mode) ? own : [...new Set([...own, ...model.generation.eosIds])]
}

export function resolveGeneration(
  model: Pick<ModelText, 'tokenizer' | 'generation'>,
  choice: GenerationChoice,
  mode: Mode,
): GenerationSettings {
  const pick = (name: keyof typeof DEFAULTS): number => choice[name] ?? model.generation[name] ?? DEFAULTS[name]
  return {
    maxNewTokens: choice.maxNewTokens,
    sample: choice.sample,
    temperature: pick('temperature'),
    // some checkpoints write -1 for off
    topK: Math.max(pick('topK'), 0),
    topP: pick('topP'),
    minP: pick('minP'),
    stopIds: stopIdsOf(model, mode),
  }
}

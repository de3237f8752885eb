/**
 * One optimiser step's worth of the unrolled system: all rounds forward, the cross-entropy of the last agent, and the
 * gradient of every outer link through the frozen models and inner links back to round 0. Walks any style.
 */
import { scaleInPlace } from '../nn/rows'
import { type Pieces, PrefixPool } from '../styles/stage-text'
import type { StyleGraph } from '../styles/style'
import type { Team } from '../styles/team'
import type { StateStore } from './state-store'
import { passedBy } from './passed-states'
import { textsOf } from './reading-lengths'
import { Sweep } from './sweep'

/** Which states of a stage cross the link (specification: improvements 1). */
export type PassedStates = 'reference' | 'shifted' | 'self-fed' | 'before-answer'

export interface TrainingText {
  /** The prompt as inference gives it. */
  readonly prompt: Pieces
  /** What stands before the target in the finished conversation; with most templates the same as `prompt`. */
  readonly context: Pieces
  /** The supervised ids that follow the last piece of `context`. */
  readonly target: readonly number[]
}

export interface TrainingSample {
  /** Names the row in messages. */
  readonly id: number
  /** Texts of each round, by agent index; a shorter list repeats its last entry. Stages of round 0 of first agents have no slot. */
  readonly rounds: readonly (readonly TrainingText[])[]
}

export interface UnrollOptions {
  readonly rounds: number
  readonly states: Exclude<PassedStates, 'before-answer'>
  /** What the last agent sends back; `same` as the others. */
  readonly feedback: 'same' | 'self-fed' | 'before-answer'
  /** Rows that cross a link at most. */
  readonly cap: number
  /** Steps of a self-fed rollout. */
  readonly latentSteps: number
  /** Weight of the mean cross-entropy of the rounds before the last; null: not even computed, 0: computed and reported. */
  readonly earlierWeight: number | null
  readonly maxLength: number
  /** What happens to a row longer than maxLength: its beginning is cut off (reference), or the sample is left out. */
  readonly tooLong: 'cut-left' | 'leave-out'
  /** Each sample's loss is divided by this many (rows of all micro-batches of the step). */
  readonly divisor: number
  /** Texts before a slot that are shorter are not encoded apart. */
  readonly shortestPrefix: number
  /** Keeps the gradient of each round apart, beside the sum. */
  readonly keepRoundGradients?: boolean
  /** Keeps the links' crossing latents in the result. */
  readonly keepCrossings?: boolean
}

/** Why a sample took no part in a step. */
export type SkipCause = 'empty text' | 'longer than the limit' | 'loss not finite'

export interface LinkGradient {
  /** Sum over samples and rounds, by parameter name. */
  readonly total: Record<string, Float32Array>
  /** Squared norm of each round's part; null where the link was not used with a gradient. */
  readonly squaredByRound: (number | null)[]
  /** Each round's part, when asked for. */
  readonly byRound?: (Record<string, Float32Array> | null)[]
}

export interface UnrollResult {
  /** Per sample that took part: index into the given samples, its loss, its cross-entropy by round (null: not computed). */
  readonly losses: { sample: number; loss: number; rounds: (number | null)[] }[]
  /** By link key; links without any gradient are absent. */
  readonly gradients: Map<string, LinkGradient>
  readonly skipped: { sample: number; cause: SkipCause }[]
  /** Positions that went through a model, forward and reverse counted apart. */
  readonly positions: number
  /** `sample<j>/round<r>/<link>` -> latents, when asked for. */
  readonly crossings: Map<string, Float32Array>
}

/** Runs forward and backward for the samples of one micro-batch. Samples that turn out unusable are left out and named. */
export async function unroll(
  team: Team,
  samples: readonly TrainingSample[],
  options: UnrollOptions,
  firstStates: StateStore | null,
): Promise<UnrollResult> {
  const skipped: { sample: number; cause: SkipCause }[] = []
  let active: number[] = []
  samples.forEach((s, i) => {
    const cause = unusable(team.style, s, options)
    if (cause) skipped.push({ sample: i, cause })
    else active.push(i)
  })
  const prefixes = new PrefixPool(options.shortestPrefix)
  try {
    while (active.length > 0) {
      const sweep = new Sweep(team, active, samples, options, firstStates, prefixes)
      const bad = await sweep.run()
      if (bad.length === 0) return { ...sweep.result(), skipped }
      for (const b of bad) skipped.push(b)
      active = active.filter((i) => !bad.some((b) => b.sample === i))
    }
  } finally {
    prefixes.dispose()
  }
  return { losses: [], gradients: new Map(), skipped, positions: 0, crossings: new Map() }
}

/** What can be told from the texts alone. */
export function unusable(
  style: StyleGraph,
  sample: TrainingSample,
  options: Pick<UnrollOptions, 'rounds' | 'states' | 'feedback'>,
): SkipCause | null {
  for (let r = 0; r < options.rounds; r++) {
    const texts = textsOf(sample, r)
    for (let agent = 0; agent < style.agentCount; agent++) {
      if (passedBy(style, agent, options) !== 'self-fed' || agent === style.last)
        if (texts[agent].target.length === 0) return 'empty text'
    }
  }
  return null
}

/** Rescales gradients where some samples took no part, so that the sum is the mean over those that did. */
export function rescale(gradients: Map<string, LinkGradient>, factor: number): void {
  for (const g of gradients.values()) {
    for (const values of Object.values(g.total)) scaleInPlace(values, factor)
    g.squaredByRound.forEach((s, r) => (g.squaredByRound[r] = s === null ? null : s * factor * factor))
  }
}

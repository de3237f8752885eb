/**
 * What the trainers and the runner know of a language model: an interface over batches of rows, without a word about
 * graphs or sessions. B rows, H hidden size, V vocabulary, L latent steps. All floating-point data is float32.
 *
 * Rows of one call may differ in length; each row gives what it would give alone (up to rounding).
 */
import type { LinkParameters, InnerLinkType } from '../nn/link-types'
import type { GenerationSettings } from '../text/generation-settings'

/** A stretch of a row: token ids, or vectors that stand where embeddings stand (a filled slot). */
export type Segment =
  | { readonly kind: 'tokens'; readonly ids: readonly number[] }
  /** `values` is [count, H], row-major. */
  | { readonly kind: 'latents'; readonly values: Float32Array; readonly count: number }

/** Keys and values of text that was encoded earlier (no gradient goes through it). Owned by whoever made it. */
export interface Prefix {
  readonly length: number
  /** Bytes held. */
  readonly bytes: number
  dispose(): void
}

/** What a pass over rows keeps for one gradient over the same rows. Owned by whoever asked for it. */
export interface KeptPass {
  /** Bytes held. */
  readonly bytes: number
  dispose(): void
}

export interface Row {
  /** Encoded text before the first segment; positions and everything else continue from it. */
  readonly prefix?: Prefix
  readonly segments: readonly Segment[]
}

/** An inner link as the rollout needs it: its type and its parameters by state-dict name. */
export interface InnerLinkState {
  readonly type: InnerLinkType
  readonly parameters: LinkParameters
}

export interface RolloutResult {
  /** Per row: raw states after the final norm, [L, H]; state 0 is the one at the last prompt position. */
  readonly states: Float32Array[]
  /** Per row: inner link of each state, [L, H]; fed[t] is what stands at the position of state t+1. */
  readonly fed: Float32Array[]
}

/** Lets a caller in between the runs of a long call; throwing there ends the call. */
export interface RunControl {
  /** Awaited before every run of the model: each batch of rows, each few dozen tokens of a generation. */
  readonly between?: () => Promise<void>
}

/** Stop ids are part of the result; none: exactly maxNewTokens tokens. */
export interface SamplingOptions extends RunControl, GenerationSettings {
  /** One per row: [seed, sample, rollout]; fixes that row's random stream whatever batch it is in. */
  readonly streams?: readonly (readonly [number, number, number])[]
  /** Called now and then with the number of tokens of each row so far and the new ids of each row. */
  readonly onTokens?: (newIds: readonly (readonly number[])[]) => void
}

export interface VjpRequest {
  /** Per row: positions (counted from the first segment, the prefix excluded) whose states are asked for. */
  readonly positions: readonly (readonly number[])[]
  /** Per row: [positions, H] cotangent of those states. Absent: zero. */
  readonly cotangents?: readonly Float32Array[]
  /** Cross-entropy: per row, positions and the token id each should predict; loss_b = mean over them. */
  readonly targets?: readonly { readonly positions: readonly number[]; readonly ids: readonly number[] }[]
  /** Per row: factor of its cross-entropy in the scalar that is differentiated. Default 1. */
  readonly lossWeights?: readonly number[]
  /** From `record` over exactly these rows and positions, without targets: most of the forward pass is then not done again. */
  readonly kept?: KeptPass
}

export interface VjpResult {
  /** Per row: states at `positions`, [n, H]. */
  readonly states: Float32Array[]
  /** Per row: cross-entropy (unweighted; 0 where there are no targets). */
  readonly losses: Float32Array
  /** Per row, per latents segment in order: gradient [count, H]. */
  readonly gradients: Float32Array[][]
}

export interface Agent {
  readonly hiddenSize: number
  readonly vocabSize: number
  /** Parameters of the language model. */
  readonly parameterCount: number

  /** Output of the embedding module for token ids: [ids.length, H]. */
  embed(ids: readonly number[]): Promise<Float32Array>
  /** Encodes texts once; each can then start any number of rows. */
  encodePrefixes(texts: readonly (readonly number[])[], control?: RunControl): Promise<Prefix[]>
  /** States after the final norm at the given positions of each row: [n_b, H] per row. */
  states(rows: readonly Row[], positions: readonly (readonly number[])[], control?: RunControl): Promise<Float32Array[]>
  /** As `states`, keeping what a `vjp` over the same rows and positions can start from, where the agent and its memory allow it. */
  record(rows: readonly Row[], positions: readonly (readonly number[])[]): Promise<{ states: Float32Array[]; kept: KeptPass | null }>
  /** Logits at the given positions of each row: [n_b, V] per row. */
  logits(rows: readonly Row[], positions: readonly (readonly number[])[]): Promise<Float32Array[]>
  /** Mean cross-entropy of the targets, per row, without any gradient. */
  crossEntropy(rows: readonly Row[], targets: NonNullable<VjpRequest['targets']>): Promise<Float32Array>
  /** Forward and reverse in one run; gradients of sum(states * cotangents) + sum_b weight_b * loss_b to the latents. */
  vjp(rows: readonly Row[], request: VjpRequest): Promise<VjpResult>
  /** Latent rollout of `steps` >= 1 steps after each row, in one run. */
  rollout(rows: readonly Row[], link: InnerLinkState, steps: number, control?: RunControl): Promise<RolloutResult>
  /** Text after each row: token ids, stop id included. */
  generate(rows: readonly Row[], options: SamplingOptions): Promise<number[][]>
  dispose(): Promise<void>
}

/** How many positions a row has, its prefix not counted. */
export function rowLength(row: Row): number {
  return row.segments.reduce((n, s) => n + (s.kind === 'tokens' ? s.ids.length : s.count), 0)
}

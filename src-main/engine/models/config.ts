/**
 * What a decoder is built from: the numbers of config.json after defaults and old spellings are resolved.
 * One `DecoderConfig` serves every family; a family file says how its config.json becomes one.
 */

import type { DeltaNetLayout } from '../nn/delta-net'

export type RopeParameters =
  | { readonly type: 'default'; readonly theta: number }
  | { readonly type: 'linear'; readonly theta: number; readonly factor: number }
  | {
      readonly type: 'llama3'
      readonly theta: number
      readonly factor: number
      readonly lowFreqFactor: number
      readonly highFreqFactor: number
      readonly originalMaxPositions: number
    }

/** Gated delta-net layers. */
export interface DeltaConfig extends Omit<DeltaNetLayout, 'compute'> {
  /** Per layer: is it one? The others attend. */
  readonly layers: readonly boolean[]
}

export interface DecoderConfig {
  readonly family: string
  readonly vocabSize: number
  readonly hiddenSize: number
  readonly intermediateSize: number
  readonly layers: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly normEpsilon: number
  /** Added to the weight of every RMSNorm: 1 where checkpoints hold w of (1 + w), else 0. */
  readonly normOffset: 0 | 1
  /** A norm after attention and after the MLP as well as before each. */
  readonly outputNorms: boolean
  /** Bias of the query, key and value projections. */
  readonly qkvBias: boolean
  /** Bias of the attention's output projection. */
  readonly outputBias: boolean
  readonly mlpBias: boolean
  /** RMSNorm of each query and key head before rotation. */
  readonly qkNorm: boolean
  /** How much of each query and key head is rotated: its first so many numbers. */
  readonly rotaryDim: number
  /** Mixtures of heads times a sigmoid, which the query projection gives beside each head's queries. */
  readonly outputGate: boolean
  /** Factor of the attention scores. */
  readonly attentionScale: number
  /** Of the gate of each MLP. */
  readonly activation: 'silu' | 'gelu_tanh'
  /** Per layer: how many places back (itself included) a place sees; 0 = all. */
  readonly windows: readonly number[]
  readonly rope: RopeParameters
  /** Rope of the layers with a window where it is another one. */
  readonly localRope: RopeParameters | null
  /** Layers with a gated delta net in place of attention. */
  readonly delta: DeltaConfig | null
  /** Factor of token embeddings; the head and latents go without. */
  readonly embeddingScale: number
  /** What matrices are multiplied in on a GPU: activations of some families leave the range of float16. */
  readonly halfType: 'float16' | 'bfloat16'
  /** The output head is the embedding matrix. */
  readonly tiedEmbeddings: boolean
  readonly maxPositions: number
  readonly bosTokenId: number | null
  readonly eosTokenIds: readonly number[]
  readonly padTokenId: number | null
}

/** Rope of a layer. */
export function ropeOf(config: DecoderConfig, layer: number): RopeParameters {
  return config.localRope && config.windows[layer] > 0 ? config.localRope : config.rope
}

/** Layers that attend, and so have keys and values, in order. */
export function attentionLayers(config: DecoderConfig): number[] {
  return config.windows.flatMap((_, i) => (config.delta?.layers[i] ? [] : [i]))
}

/** Inverse frequencies of the rotary embedding, [width / 2] for what is rotated of a head, with float32 rounding where torch rounds. */
export function inverseFrequencies(rope: RopeParameters, width: number): number[] {
  const f = Math.fround
  const base = Array.from({ length: width / 2 }, (_, i) => f(1 / f(Math.pow(rope.theta, f((2 * i) / width)))))
  switch (rope.type) {
    case 'default':
      return base
    case 'linear':
      return base.map((x) => f(x / rope.factor))
    case 'llama3':
      return base.map((x) => llama3Frequency(x, rope))
    default: {
      const never: never = rope
      return never
    }
  }
}

/** Long wavelengths are divided by the factor, short ones kept, those between blended. */
function llama3Frequency(x: number, rope: Extract<RopeParameters, { type: 'llama3' }>): number {
  const f = Math.fround
  const wavelength = (2 * Math.PI) / x
  const longest = rope.originalMaxPositions / rope.lowFreqFactor
  const shortest = rope.originalMaxPositions / rope.highFreqFactor
  if (wavelength > longest) return f(x / rope.factor)
  if (wavelength < shortest) return x
  const smooth = (rope.originalMaxPositions / wavelength - rope.lowFreqFactor) / (rope.highFreqFactor - rope.lowFreqFactor)
  return f(f((1 - smooth) * f(x / rope.factor)) + f(smooth * x))
}

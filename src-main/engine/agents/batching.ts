/** Grouping rows of similar length into batches, so that padding stays small and memory bounded. */
import { attentionLayers, type DecoderConfig } from '../models/config'
import { deltaChannels } from '../nn/delta-net'

export interface BatchLimits {
  /** Rows times the longest row's places, at most. */
  readonly maxPlaces: number
  /** Share of a batch that may be padding. */
  readonly maxPadding: number
}

/** Indices of `lengths` in groups; within a group lengths are close. Deterministic. */
export function planBatches(lengths: readonly number[], limits: BatchLimits): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b] - lengths[a] || a - b)
  const batches: number[][] = []
  let current: number[] = []
  let used = 0
  for (const i of order) {
    const longest = current.length ? lengths[current[0]] : lengths[i]
    const places = longest * (current.length + 1)
    const padding = 1 - (used + lengths[i]) / places
    if (current.length && (places > limits.maxPlaces || padding > limits.maxPadding)) {
      batches.push(current)
      current = []
      used = 0
    }
    current.push(i)
    used += lengths[i]
  }
  if (current.length) batches.push(current)
  return batches
}

/**
 * Places (rows x longest, cached ones included) whose activations fit a share of so many bytes of memory. A forward pass
 * frees each block's as it goes; a vjp keeps those of all blocks, attention probabilities over `longest` places included.
 */
export function placesPerRun(c: DecoderConfig, keepsBlocks: boolean, longest: number, memory: number): number {
  const attending = attentionLayers(c).length
  const cache = 2 * attending * c.kvHeads * c.headDim
  const block = 6 * c.hiddenSize + 4 * c.intermediateSize + 2 * (c.heads + 2 * c.kvHeads) * c.headDim
  const scores = 3 * c.heads * longest
  const mixing = c.delta ? 4 * (deltaChannels(c.delta) + c.delta.valueHeads * c.delta.valueDim) : 0
  const kept = c.layers * block + attending * scores + (c.layers - attending) * mixing
  const floats = keepsBlocks ? kept + cache : block + Math.max(scores, mixing) + 4 * cache
  return Math.max(longest, Math.floor((memory * (keepsBlocks ? 0.3 : 0.15)) / (4 * floats)))
}

/** Bytes that passes may keep for later gradients, all of an agent's together. */
export const keptBytes = (memory: number): number => memory * 0.2

/**
 * Are weights of so many bytes kept a second time for the steps of rollouts and generation? A run asks it once, of the memory that it
 * begins with, and keeps to it when it is resumed.
 */
export function packsSteps(bytes: number, memory: number): boolean {
  return bytes < memory * 0.08
}

/** Grouping rows of similar length into batches, so that padding stays small and memory bounded. */

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

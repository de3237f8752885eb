/**
 * Which rows run together: rows of similar length share one call, so that little is padded, and no call holds more
 * positions than the memory plan allows. Which rows form a training step never depends on this.
 */

export interface GroupLimits {
  /** Positions (rows times longest row) of one call at most; a single longer row still runs alone. */
  readonly positions: number
  /** Rows of one call at most. */
  readonly rows?: number
}

/** Padding that is cheaper than one more call: positions per row. */
const freePadding = 32
/** Beyond that a row may be padded by this share of the longest row. */
const paddedShare = 0.25

/** Indices into `lengths`, every index in exactly one group. */
export function groupsByLength(lengths: readonly number[], limits: GroupLimits): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b] - lengths[a] || a - b)
  const groups: number[][] = []
  let current: number[] = []
  for (const i of order) {
    const longest = current.length ? lengths[current[0]] : 0
    const fits =
      current.length > 0 &&
      (current.length + 1) * longest <= limits.positions &&
      current.length < (limits.rows ?? Infinity) &&
      longest - lengths[i] <= Math.max(freePadding, paddedShare * longest)
    if (!fits) groups.push((current = []))
    current.push(i)
  }
  return groups
}

/** Runs `call` once per group and puts the results back into the order of the rows. */
export async function inGroups<T>(
  lengths: readonly number[],
  limits: GroupLimits,
  call: (indices: readonly number[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const results = new Array<T>(lengths.length)
  for (const group of groupsByLength(lengths, limits)) {
    const part = await call(group)
    group.forEach((row, k) => (results[row] = part[k]))
  }
  return results
}

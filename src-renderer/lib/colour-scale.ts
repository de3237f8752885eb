/** Places a number on a ground between nothing and the full colour, for cells of latents. */

export interface Scale {
  readonly low: number
  readonly high: number
}

/** The range of all finite values; a single value gets a little room. */
export function scaleOf(values: readonly (number | null)[]): Scale {
  let low = Infinity
  let high = -Infinity
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  if (low > high) return { low: 0, high: 1 }
  return low === high ? { low: low - 0.5, high: high + 0.5 } : { low, high }
}

/** Share of the full colour in percent, 12 at the low end so that a cell can always be seen. */
export function share(value: number, { low, high }: Scale): number {
  const t = Math.min(1, Math.max(0, (value - low) / (high - low)))
  return Math.round(12 + 88 * t)
}

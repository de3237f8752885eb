/**
 * Thins a line to what a screen can show. Each pixel column keeps its first, lowest, highest and last point, so that
 * spikes stay visible and the outline equals that of all points. Gaps (null) are kept as gaps.
 */

export interface Point {
  readonly x: number
  readonly y: number | null
}

/**
 * @param xs ascending; same length as `ys`
 * @param columns pixel columns between `from` and `to`
 * @returns at most 4 points a column, plus one neighbour on either side so that lines run to the edge
 */
export function decimate(
  xs: readonly number[],
  ys: readonly (number | null)[],
  from: number,
  to: number,
  columns: number,
): Point[] {
  const start = Math.max(0, lowerBound(xs, from) - 1)
  const end = Math.min(xs.length, upperBound(xs, to) + 1)
  if (end - start <= columns * 4) {
    const all: Point[] = []
    for (let i = start; i < end; i += 1) all.push({ x: xs[i], y: ys[i] })
    return all
  }
  const points: Point[] = []
  const width = (to - from) / columns || 1
  let i = start
  while (i < end) {
    const column = Math.floor((xs[i] - from) / width)
    let last = i
    let low = -1
    let high = -1
    let gap = -1
    for (let j = i; j < end && Math.floor((xs[j] - from) / width) === column; j += 1) {
      last = j
      const y = ys[j]
      if (y === null) {
        gap = j
        continue
      }
      if (low < 0 || y < (ys[low] as number)) low = j
      if (high < 0 || y > (ys[high] as number)) high = j
    }
    const keep = [...new Set([i, low, high, gap, last])].filter((index) => index >= 0).sort((a, b) => a - b)
    for (const index of keep) points.push({ x: xs[index], y: ys[index] })
    i = last + 1
  }
  return points
}

/** Index of the first x >= value. */
export function lowerBound(xs: readonly number[], value: number): number {
  let low = 0
  let high = xs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (xs[middle] < value) low = middle + 1
    else high = middle
  }
  return low
}

/** Index of the first x > value. */
export function upperBound(xs: readonly number[], value: number): number {
  let low = 0
  let high = xs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (xs[middle] <= value) low = middle + 1
    else high = middle
  }
  return low
}

/** Exponential moving average that starts without bias and skips gaps; `weight` of the past in [0, 1). */
export function smooth(ys: readonly (number | null)[], weight: number): (number | null)[] {
  let sum = 0
  let mass = 0
  return ys.map((y) => {
    if (y === null || !Number.isFinite(y)) return null
    sum = weight * sum + (1 - weight) * y
    mass = weight * mass + (1 - weight)
    return sum / mass
  })
}

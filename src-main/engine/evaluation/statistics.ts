/** How far accuracies can be trusted: 95 % intervals of one fraction and of the difference of two on the same questions. */

/** The two-sided 95 % point of the normal distribution. */
const z = 1.959963984540054

export interface Interval {
  readonly value: number
  readonly low: number
  readonly high: number
  readonly n: number
}

/** Wilson's 95 % interval for `right` of `n`. For n = 0 the value is 0 and the interval all of [0, 1]. */
export function wilson(right: number, n: number): Interval {
  checkCounts(right, n)
  if (n === 0) return { value: 0, low: 0, high: 1, n }
  const p = right / n
  const spread = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))
  const middle = p + (z * z) / (2 * n)
  const scale = 1 + (z * z) / n
  return {
    value: p,
    low: right === 0 ? 0 : Math.max(0, (middle - spread) / scale),
    high: right === n ? 1 : Math.min(1, (middle + spread) / scale),
    n,
  }
}

export interface PairedDifference extends Interval {
  /** Questions that only the first, and only the second got right. */
  readonly onlyFirst: number
  readonly onlySecond: number
  /** McNemar's exact two-sided p: how likely so uneven a split of these questions is by chance. */
  readonly p: number
}

/**
 * First minus second accuracy on the same questions (in the same order). The interval adds half a question to each of the
 * four outcomes (Agresti and Min 2005), so it has a width also where nothing differs.
 */
export function pairedDifference(first: readonly boolean[], second: readonly boolean[]): PairedDifference {
  if (first.length !== second.length) throw new RangeError('both need the same questions')
  const n = first.length
  const onlyFirst = first.filter((right, index) => right && !second[index]).length
  const onlySecond = second.filter((right, index) => right && !first[index]).length
  const value = n === 0 ? 0 : (onlyFirst - onlySecond) / n
  const size = n + 2
  const middle = (onlyFirst - onlySecond) / size
  const spread = z * Math.sqrt(((onlyFirst + onlySecond + 1) / size - middle * middle) / size)
  return {
    value,
    low: Math.max(-1, middle - spread),
    high: Math.min(1, middle + spread),
    n,
    onlyFirst,
    onlySecond,
    p: mcnemar(onlyFirst, onlySecond),
  }
}

/** McNemar's exact test: twice the binomial tail at one half of the smaller count, at most 1. */
export function mcnemar(onlyFirst: number, onlySecond: number): number {
  checkCounts(onlyFirst, onlyFirst + onlySecond)
  const trials = onlyFirst + onlySecond
  const smaller = Math.min(onlyFirst, onlySecond)
  if (2 * smaller === trials) return 1
  // Terms relative to the largest, from which they fall; the logarithm of that one keeps small tails exact.
  let logLargest = -trials * Math.LN2
  for (let k = 1; k <= smaller; k++) logLargest += Math.log((trials - smaller + k) / k)
  let term = 1
  let sum = 1
  for (let k = smaller; k > 0; k--) {
    term *= k / (trials - k + 1)
    sum += term
  }
  return Math.min(1, 2 * sum * Math.exp(logLargest))
}

function checkCounts(right: number, n: number) {
  if (!Number.isInteger(right) || !Number.isInteger(n) || right < 0 || right > n) {
    throw new RangeError(`${right} of ${n} is no count`)
  }
}

/**
 * Two systems on the same questions. The interval is the Wald one with the Bonett-Price adjustment (one more question in each
 * direction), which holds its 95 % at small numbers too; p is the exact McNemar test on the questions where they differ.
 */
import type { PairedDifference } from '../bridge/contract'

const z = 1.959963984540054

/** Right or wrong by question, for a and b; only questions that both answered count. */
export function pairedDifference(a: ReadonlyMap<string, boolean>, b: ReadonlyMap<string, boolean>): PairedDifference {
  let [bothRight, onlyA, onlyB, bothWrong] = [0, 0, 0, 0]
  for (const [question, rightA] of a) {
    const rightB = b.get(question)
    if (rightB === undefined) continue
    if (rightA && rightB) bothRight++
    else if (rightA) onlyA++
    else if (rightB) onlyB++
    else bothWrong++
  }
  const n = bothRight + onlyA + onlyB + bothWrong
  const shareA = (onlyA + 1) / (n + 2)
  const shareB = (onlyB + 1) / (n + 2)
  const centre = shareA - shareB
  const half = z * Math.sqrt((shareA + shareB - centre * centre) / (n + 2))
  return {
    n,
    bothRight,
    onlyA,
    onlyB,
    bothWrong,
    difference: n === 0 ? 0 : (onlyA - onlyB) / n,
    low: Math.max(-1, centre - half),
    high: Math.min(1, centre + half),
    p: exactMcNemar(onlyA, onlyB),
  }
}

/** Two-sided: twice the probability of at most the smaller count among fair coin throws. */
export function exactMcNemar(onlyA: number, onlyB: number): number {
  const throws = onlyA + onlyB
  let sum = 0
  // In logarithms: 2^-throws alone is 0 in floating point from 1075 throws on.
  let logTerm = -throws * Math.LN2
  for (let k = 0; k <= Math.min(onlyA, onlyB); k++) {
    sum += Math.exp(logTerm)
    logTerm += Math.log(throws - k) - Math.log(k + 1)
  }
  return Math.min(1, 2 * sum)
}

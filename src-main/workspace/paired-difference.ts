/** Two systems question by question: whatever both answered, compared as evaluation/statistics does. */
import type { PairedDifference } from '../bridge/contract'
import { pairedDifference as compare } from '../engine/evaluation/statistics'

/** Right or wrong by question, for a and b; only questions that both answered count. */
export function pairedDifference(a: ReadonlyMap<string, boolean>, b: ReadonlyMap<string, boolean>): PairedDifference {
  const both = [...a].flatMap(([question, rightA]) => {
    const rightB = b.get(question)
    return rightB === undefined ? [] : [[rightA, rightB] as const]
  })
  const found = compare(
    both.map(([rightA]) => rightA),
    both.map(([, rightB]) => rightB),
  )
  return {
    n: found.n,
    bothRight: both.filter(([rightA, rightB]) => rightA && rightB).length,
    onlyA: found.onlyFirst,
    onlyB: found.onlySecond,
    bothWrong: both.filter(([rightA, rightB]) => !rightA && !rightB).length,
    difference: found.value,
    low: found.low,
    high: found.high,
    p: found.p,
  }
}

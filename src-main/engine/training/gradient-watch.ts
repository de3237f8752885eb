/** Warns where a link learns nothing: no gradient at all, or a round whose share is lost in rounding. */
import type { StyleGraph } from '../styles/style'
import { linksUsed } from '../styles/walk'
import type { LinkGradient } from './unrolled'

/** A round's norm under this share of the last used round's is as good as none. */
const least = 1e-6

/** One odd batch is no reason to worry. */
const stepsInARow = 5

/**
 * The result is to be called with the gradients of every step; each complaint is made once. What is sent and read by nobody (feedback
 * in the last round) has no gradient by construction and says nothing, for good or bad.
 */
export function gradientWatch(
  style: StyleGraph,
  warn: (message: string) => void,
): (gradients: ReadonlyMap<string, LinkGradient>) => void {
  const seen = new Map<string, number>()
  function note(what: string, faulty: boolean, message: () => string): void {
    const count = faulty ? (seen.get(what) ?? 0) + 1 : 0
    // once said, never again
    if (seen.get(what) === stepsInARow) return
    seen.set(what, count)
    if (count === stepsInARow) warn(message())
  }
  return (gradients) => {
    const rounds = Math.max(0, ...[...gradients.values()].map((g) => g.squaredByRound.length))
    const used = linksUsed(style, rounds)
    for (const { key } of style.links) {
      const uses = used.flatMap((keys, round) => (keys.has(key) ? [round] : []))
      if (uses.length === 0) continue
      const squared = gradients.get(key)?.squaredByRound ?? []
      const norms = uses.map((round) => Math.sqrt(squared[round] ?? 0))
      const last = norms.findLastIndex((n) => n > 0)
      note(key, last < 0, () => `The link ${key} receives no gradient (${stepsInARow} steps in a row).`)
      if (last < 0) continue
      uses.forEach((round, i) =>
        note(`${key} ${round}`, norms[i] === 0 || norms[i] < least * norms[last], () => {
          const share = `${norms[i].toExponential(1)} against ${norms[last].toExponential(1)} in round ${uses[last] + 1}`
          return `The link ${key} receives next to no gradient in round ${round + 1} (${share}; ${stepsInARow} steps in a row).`
        }),
      )
    }
  }
}

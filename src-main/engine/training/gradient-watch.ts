/** Warns where a link learns nothing: no gradient at all, or a round whose share is lost in rounding. */
import type { StyleGraph } from '../styles/style'
import { linksUsed } from '../styles/walk'
import type { LinkGradient } from './unrolled'

/** A round's norm under this share of the last used round's is as good as none. */
const least = 1e-6

/** One odd batch is no reason to worry. */
const stepsInARow = 5

/** The result is to be called with the gradients of every step; each complaint is made once. */
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
    // what is sent and never read has no gradient by construction
    const used = linksUsed(style, rounds)
    for (const { key } of style.links) {
      const norms = (gradients.get(key)?.squaredByRound ?? []).map((s) => (s === null ? null : Math.sqrt(s)))
      const last = norms.reduce((found, n) => n ?? found, null)
      note(key, used.some((keys) => keys.has(key)) && !last, () => `The link ${key} receives no gradient (${stepsInARow} steps in a row).`)
      norms.forEach((n, r) => {
        if (n === null || !last) return
        note(`${key} ${r}`, n < least * last, () => {
          const share = `${n.toExponential(1)} against ${last.toExponential(1)} in its last round`
          return `The link ${key} receives next to no gradient in round ${r + 1} (${share}; ${stepsInARow} steps in a row).`
        })
      })
    }
  }
}

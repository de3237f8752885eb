/** Warns where a link learns nothing: no gradient at all, or a round whose share is lost in rounding. */
import type { StyleGraph } from '../styles/style'
import type { LinkGradient } from './unrolled'

/** A round's norm under this share of the last used round's is as good as none. */
const least = 1e-6

export function gradientWatch(
  style: StyleGraph,
  warn: (message: string) => void,
): (gradients: ReadonlyMap<string, LinkGradient>) => void {
  return (gradients) => {
    const rounds = Math.max(0, ...[...gradients.values()].map((g) => g.squaredByRound.length))
    for (const { key, target } of style.links) {
      const norms = (gradients.get(key)?.squaredByRound ?? []).map((s) => (s === null ? null : Math.sqrt(s)))
      const last = norms.reduce((found, n) => n ?? found, null)
      if (last === null || last === 0) {
        // what is sent back after the only round is never read
        if (rounds > 1 || !style.first.includes(target)) warn(`The link ${key} receives no gradient.`)
        continue
      }
      norms.forEach((n, r) => {
        if (n !== null && n < least * last)
          warn(
            `The link ${key} receives next to no gradient in round ${r + 1} (${n.toExponential(1)} against ${last.toExponential(1)} in its last round).`,
          )
      })
    }
  }
}

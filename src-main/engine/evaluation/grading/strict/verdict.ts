/** What a comparison says: right, wrong, or debatable (null), and why in a few words. */
export interface Verdict {
  readonly correct: boolean | null
  readonly reason: string
}

export const right = (reason: string): Verdict => ({ correct: true, reason })
export const wrong = (reason: string): Verdict => ({ correct: false, reason })
export const debatable = (reason: string): Verdict => ({ correct: null, reason })

/** A right answer becomes debatable for the given reason; anything else stays. */
export function doubted(verdict: Verdict, reason: string): Verdict {
  return verdict.correct === true ? debatable(reason) : verdict
}

/** Right if all are, wrong if one is, else debatable. */
export function every(verdicts: Iterable<Verdict>, reason: string): Verdict {
  let doubt: Verdict | null = null
  for (const verdict of verdicts) {
    if (verdict.correct === false) return verdict
    if (verdict.correct === null) doubt ??= verdict
  }
  return doubt ?? right(reason)
}

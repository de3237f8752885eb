/** The name that was probably meant. */

/** Of `known` the one that fewest slips lead to from `name`; null where none is near. */
export function nearest(name: string, known: readonly string[]): string | null {
  const near = known
    .map((other) => ({ other, slips: slips(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, slips }) => slips <= Math.max(1, Math.floor(Math.min(name.length, other.length) / 4)))
  near.sort((a, b) => a.slips - b.slips)
  return near[0]?.other ?? null
}

/** Letters left out, put in, changed or swapped with their neighbour that lead from one word to the other. */
function slips(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2] + 1 : Infinity
      row.push(Math.min(last[j] + 1, row[j - 1] + 1, changed, swapped))
    }
    ;[before, last] = [last, row]
  }
  return last[b.length]
}

/** Finds entries by a few typed letters: all words must occur, in any order; word starts and early hits rank first. */

/** A score (higher is better), or null where the text does not match. */
export function matchScore(text: string, query: string): number | null {
  const hay = text.toLowerCase()
  let score = 0
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = hay.indexOf(word)
    if (at < 0) return null
    const start = new RegExp(`(^|[^\\p{L}\\p{N}])${escapeRegExp(word)}`, 'u').exec(hay)
    score += start ? 2 - start.index / 1000 : 1 - at / 1000
  }
  return score
}

/** Entries that match, best first; an empty query keeps the given order. */
export function filterByQuery<T>(entries: readonly T[], query: string, text: (entry: T) => string): T[] {
  if (query.trim() === '') return [...entries]
  return entries
    .map((entry) => ({ entry, score: matchScore(text(entry), query) }))
    .filter((hit): hit is { entry: T; score: number } => hit.score !== null)
    .sort((a, b) => b.score - a.score)
    .map((hit) => hit.entry)
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

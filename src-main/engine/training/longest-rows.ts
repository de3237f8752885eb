/** Which rows of the data are likely to be the longest texts: told by their characters, as not all can be tokenised beforehand. */
import type { DataRow } from '../data/rows'

/** Rows that are looked at. */
const few = 8

/** Indices of the rows with the most characters. */
export function longestRows(rows: readonly Pick<DataRow, 'values'>[]): number[] {
  const sizes = rows.map(({ values }) => sizeOf(values))
  return sizes
    .map((_, i) => i)
    .sort((a, b) => sizes[b] - sizes[a] || a - b)
    .slice(0, few)
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((n, v) => n + sizeOf(v), 0)
    : 1
}

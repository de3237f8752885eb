/** Where the columns of a wide table stand, and which of them can be seen. */
import type { ColumnView } from '../../src-main/bridge/contract'

export const narrowest = 48
export const widest = 1200

/** Ends of the columns in px, from the left edge of the first. */
export function columnEnds(widths: readonly number[]): number[] {
  let at = 0
  return widths.map((width) => (at += width))
}

/** Columns [first, end) that reach into [left, left + room). */
export function columnsInSight(ends: readonly number[], left: number, room: number): { first: number; end: number } {
  const first = ends.findIndex((end) => end > left)
  if (first < 0) return { first: 0, end: 0 }
  const last = ends.findIndex((end) => end >= left + room)
  return { first, end: last < 0 ? ends.length : last + 1 }
}

/** px that a column has until a person chooses: texts get what is left. */
export function usualWidths(columns: readonly Pick<ColumnView, 'name' | 'type'>[], room: number): number[] {
  const roomy = (type: ColumnView['type']): boolean => type === 'text' || type === 'list' || type === 'object'
  const narrow = columns.map(({ name, type }) => (roomy(type) ? 0 : Math.max(90, Math.min(200, 52 + name.length * 8))))
  const texts = narrow.filter((width) => width === 0).length
  const left = room - narrow.reduce((sum, width) => sum + width, 0)
  const text = Math.max(180, Math.min(560, Math.floor(left / Math.max(1, texts))))
  return narrow.map((width) => width || text)
}

export function clampWidth(width: number): number {
  return Math.round(Math.max(narrowest, Math.min(widest, width)))
}

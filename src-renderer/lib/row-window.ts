/**
 * Which rows of a long list can be seen. All rows are equally high. Browsers cut elements at about 33.5 million px, so that the
 * scroll bar of a longer list stands for more px than it has: `top` counts px of the list, `scrollTop` px of the scroll bar.
 */

export interface RowSpace {
  readonly total: number
  /** px of a row. */
  readonly rowHeight: number
  /** px of the part that can be seen. */
  readonly room: number
}

/** Below Chromium's limit of 2^25 px. */
export const highest = 30_000_000

export function listHeight({ total, rowHeight }: RowSpace): number {
  return total * rowHeight
}

/** px of the element that is scrolled. */
export function scrolledHeight(space: RowSpace): number {
  return Math.min(highest, listHeight(space))
}

/** The scroll bar stands for more px than it has. */
export function isScaled(space: RowSpace): boolean {
  return listHeight(space) > highest
}

export function clampTop(top: number, space: RowSpace): number {
  return Math.max(0, Math.min(top, listHeight(space) - space.room))
}

export function topOf(scrollTop: number, space: RowSpace): number {
  return clampTop(scrollTop * ratio(space), space)
}

export function scrollTopOf(top: number, space: RowSpace): number {
  return clampTop(top, space) / ratio(space)
}

/** Rows [first, end) that are to be drawn, some to spare on both sides. */
export function rowsInSight(top: number, space: RowSpace, spare = 10): { first: number; end: number } {
  const first = Math.floor(top / space.rowHeight) - spare
  const end = Math.ceil((top + space.room) / space.rowHeight) + spare
  return { first: Math.max(0, Math.min(first, space.total)), end: Math.max(0, Math.min(space.total, end)) }
}

/** `top` that shows the whole row, moved as little as possible. */
export function topThatShows(row: number, top: number, space: RowSpace): number {
  const above = row * space.rowHeight
  const below = above + space.rowHeight - space.room
  return clampTop(above < top ? above : below > top ? below : top, space)
}

/** px of the list for each px of the scroll bar, both without what is seen at once. */
function ratio(space: RowSpace): number {
  const way = scrolledHeight(space) - space.room
  return isScaled(space) && way > 0 ? (listHeight(space) - space.room) / way : 1
}

/** Which rows of a long list are drawn, with and without a scroll bar that stands for more px than it has. */
import { describe, expect, it } from 'vitest'
import {
  highest,
  isScaled,
  rowsInSight,
  scrolledHeight,
  scrollTopOf,
  topOf,
  topThatShows,
} from '../../../src-renderer/lib/row-window'

const space = (total: number) => ({ total, rowHeight: 28, room: 500 })

describe.each([0, 1, 17, 18, 1000, 1_000_000, 2_000_000, 50_000_000])('%i rows', (total) => {
  it('fit an element that browsers do not cut', () => {
    expect(scrolledHeight(space(total))).toBeLessThan(2 ** 25)
    expect(isScaled(space(total))).toBe(total * 28 > highest)
  })

  it('the ends of the scroll bar are the ends of the list', () => {
    const way = Math.max(0, scrolledHeight(space(total)) - 500)
    expect(rowsInSight(topOf(0, space(total)), space(total), 0).first).toBe(0)
    expect(rowsInSight(topOf(way, space(total)), space(total), 0).end).toBe(total)
  })

  it('every row can be shown, and only then the list moves', () => {
    for (const row of [0, 1, Math.floor(total / 3), total - 2, total - 1]) {
      if (row < 0 || row >= total) continue
      const top = topThatShows(row, 0, space(total))
      const { first, end } = rowsInSight(top, space(total), 0)
      expect(first).toBeLessThanOrEqual(row)
      expect(end).toBeGreaterThan(row)
      expect(topThatShows(row, top, space(total))).toBe(top)
      // there and back over the scroll bar, to a px of it
      expect(Math.abs(topOf(scrollTopOf(top, space(total)), space(total)) - top)).toBeLessThan(1e-3)
    }
  })
})

it('spare rows stand on both sides, within the list', () => {
  expect(rowsInSight(2800, space(1000), 10)).toEqual({ first: 90, end: 128 })
  expect(rowsInSight(0, space(1000), 10)).toEqual({ first: 0, end: 28 })
  expect(rowsInSight(27_500, space(1000), 10)).toEqual({ first: 972, end: 1000 })
})

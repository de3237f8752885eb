/** The bars of a histogram. */
import { expect, it } from 'vitest'
import { histogramBars } from '../../../src-renderer/lib/histogram-bars'

const of = 'tokens' as const
const rest = { of, mean: 0, median: 0 }

it('part the range from least to most equally', () => {
  expect(histogramBars({ ...rest, least: 10, most: 30, counts: [1, 0, 5, 2] })).toEqual([
    { from: 10, to: 15, count: 1 },
    { from: 15, to: 20, count: 0 },
    { from: 20, to: 25, count: 5 },
    { from: 25, to: 30, count: 2 },
  ])
})

it('are one where all values are the same, and none where there are none', () => {
  expect(histogramBars({ ...rest, least: 7, most: 7, counts: [0, 9] })).toEqual([{ from: 6.5, to: 7.5, count: 9 }])
  expect(histogramBars({ ...rest, least: 0, most: 0, counts: [0] })).toEqual([])
})

/** The bars of a histogram: equal parts from least to most. */
import type { Histogram } from '../../src-main/bridge/contract'

export interface HistogramBar {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** Where all values are the same, one bar of width 1 around them. */
export function histogramBars({ least, most, counts }: Histogram): HistogramBar[] {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (most <= least) return total === 0 ? [] : [{ from: least - 0.5, to: least + 0.5, count: total }]
  const part = (most - least) / counts.length
  return counts.map((count, i) => ({ from: least + i * part, to: least + (i + 1) * part, count }))
}

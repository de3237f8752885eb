import { describe, expect, it } from 'vitest'
import { byStep, gradientsByLink, lossesByRound } from '../../../src-renderer/charts/series'
import type { MetricPoint } from '../../../src-main/bridge/contract'

function point(step: number, fields: Partial<MetricPoint> = {}): MetricPoint {
  return { step, time: step, loss: 1 / step, learningRate: 0, gradNorm: 1, ...fields }
}

describe('series of metrics', () => {
  it('an absent sample is a gap, and a value that never came is no series', () => {
    const points = [point(1, { tokensPerSecond: 5 }), point(2), point(3, { tokensPerSecond: 7 })]
    expect(byStep(points, 't', 0, (p) => p.tokensPerSecond)).toMatchObject({ x: [1, 2, 3], y: [5, null, 7] })
    expect(byStep(points, 'm', 0, (p) => p.memoryBytes).x).toEqual([])
  })

  it('gives one series a round for every link, rounds keeping their colours', () => {
    const points = [
      point(1, { gradNorms: { outer_23: [1, null], outer_12: [2, null] } }),
      point(2, { gradNorms: { outer_23: [3, 4, 5], outer_12: [null, 6] } }),
    ]
    const links = gradientsByLink(points)
    expect(links.map(({ link }) => link)).toEqual(['outer_12', 'outer_23'])
    expect(links[0].series.map(({ label, y, color }) => [label, y, color])).toEqual([
      ['round 1', [2, null], 0],
      ['round 2', [null, 6], 1],
    ])
    expect(links[1].series.map(({ y }) => y)).toEqual([
      [1, 3],
      [null, 4],
      [null, 5],
    ])
  })

  it('shows losses by round only where there is more than one round', () => {
    expect(lossesByRound([point(1, { roundLosses: [0.5] })])).toEqual([])
    expect(lossesByRound([point(1, { roundLosses: [null, null, 0.5] })])).toEqual([])
    expect(lossesByRound([point(1, { roundLosses: [0.4, 0.5] })]).map(({ y }) => y)).toEqual([[0.4], [0.5]])
  })
})

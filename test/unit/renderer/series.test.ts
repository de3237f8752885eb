import { describe, expect, it } from 'vitest'
import { byStep, dodge, gradientsByLink, lossesByRound, stepRange } from '../../../src-renderer/charts/series'
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

describe('places of points', () => {
  const line = (label: string) => ({ label, x: [1, 2], y: [5, 6], color: 0 })

  it('moves series that share an x apart, evenly, values untouched', () => {
    const moved = dodge([line('a'), line('b'), line('c')], 0.1)
    expect(moved.map(({ x }) => x.map((value) => Number(value.toFixed(6))))).toEqual([
      [0.9, 1.9],
      [1, 2],
      [1.1, 2.1],
    ])
    expect(moved.map(({ y }) => y)).toEqual([
      [5, 6],
      [5, 6],
      [5, 6],
    ])
    expect(dodge([line('a')])[0].x).toEqual([1, 2])
  })

  it('a run has one range of steps for all its charts', () => {
    expect(stepRange([point(3), point(4), point(9)])).toEqual({ from: 3, to: 9 })
    expect(stepRange([point(3), point(9)], [{ step: 0 }, { step: 6 }])).toEqual({ from: 0, to: 9 })
    expect(stepRange([])).toBeUndefined()
  })
})

import { describe, expect, it } from 'vitest'
import { summariseLatents } from '../../../src-main/engine/evaluation/latents-summary'

describe('summariseLatents', () => {
  it('gives norms, and cosines to the same place of the round before', () => {
    const [one, two] = summariseLatents([Float32Array.of(3, 4, 0, 1), Float32Array.of(4, -3, 0, -2)], 2)
    expect(one.norms).toEqual([5, 1])
    expect(one.cosines).toEqual([null, null])
    expect(two.norms).toEqual([5, 2])
    expect(two.cosines).toEqual([0, -1])
  })

  it('projects onto the plane in which the states lie, distances kept', () => {
    // points of a plane in four dimensions: x along (1,1,0,0)/sqrt2, y along (0,0,1,-1)/sqrt2
    const points: [number, number][] = [
      [0, 0],
      [4, 1],
      [-3, 1],
      [2, -2],
      [6, 0.5],
      [-5, -0.5],
    ]
    const s = Math.SQRT1_2
    const states = Float32Array.from(points.flatMap(([x, y]) => [x * s + 10, x * s, y * s, -y * s + 7]))
    const [{ projection }] = summariseLatents([states], 4)
    for (let a = 0; a < points.length; a++)
      for (let b = 0; b < a; b++) {
        const far = Math.hypot(points[a][0] - points[b][0], points[a][1] - points[b][1])
        const got = Math.hypot(projection[a][0] - projection[b][0], projection[a][1] - projection[b][1])
        expect(Math.abs(got - far)).toBeLessThan(1e-3)
      }
    // most of the spread is on the first axis
    const spread = (i: 0 | 1) => projection.reduce((n, p) => n + p[i] ** 2, 0)
    expect(spread(0)).toBeGreaterThan(5 * spread(1))
  })

  it('copes with states that are all alike and with none', () => {
    expect(summariseLatents([Float32Array.of(1, 2, 1, 2)], 2)[0].projection).toEqual([
      [0, 0],
      [0, 0],
    ])
    expect(summariseLatents([new Float32Array(0)], 3)).toEqual([{ norms: [], cosines: [], projection: [] }])
  })
})

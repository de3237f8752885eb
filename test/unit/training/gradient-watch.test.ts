import { describe, expect, it } from 'vitest'
import { sequential } from '../../../src-main/engine/styles/sequential'
import { gradientWatch } from '../../../src-main/engine/training/gradient-watch'
import type { LinkGradient } from '../../../src-main/engine/training/unrolled'

const norms = (o: Record<string, (number | null)[]>) =>
  new Map(
    Object.entries(o).map(([k, v]): [string, LinkGradient] => [
      k,
      { total: {}, squaredByRound: v.map((n) => (n === null ? null : n * n)) },
    ]),
  )

describe('gradientWatch', () => {
  const healthy = { outer_12: [1, 1], outer_23: [1, 1], outer_31: [1, null] }
  function warnings(steps: Record<string, (number | null)[]>[]): string[] {
    const said: string[] = []
    const watch = gradientWatch(sequential, (w) => said.push(w))
    for (const s of steps) watch(norms(s))
    return said
  }

  it('says nothing of links that learn, nor of the feedback of a last or only round', () => {
    expect(warnings(Array(10).fill(healthy))).toEqual([])
    expect(warnings(Array(10).fill({ outer_12: [1], outer_23: [1] }))).toEqual([])
  })

  it('names a link without gradient, and a round whose share is lost, once and only after several steps', () => {
    const { outer_31: _, ...without } = healthy
    expect(warnings(Array(4).fill(without))).toEqual([])
    expect(warnings(Array(12).fill(without))).toEqual([expect.stringContaining('outer_31 receives no gradient')])
    const weak = { ...healthy, outer_12: [0.9e-6, 1] }
    expect(warnings(Array(12).fill(weak))).toEqual([expect.stringMatching(/outer_12 .* round 1 /)])
    expect(warnings(Array(12).fill({ ...healthy, outer_12: [1.1e-6, 1] }))).toEqual([])
    expect(warnings([...Array(4).fill(weak), healthy, ...Array(4).fill(weak)])).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { deliberation } from '../../../src-main/engine/styles/deliberation'
import { distillation } from '../../../src-main/engine/styles/distillation'
import { mixture } from '../../../src-main/engine/styles/mixture'
import { sequential } from '../../../src-main/engine/styles/sequential'
import { isFeedback, type StyleGraph } from '../../../src-main/engine/styles/style'
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

  it('counts a used round that has no gradient at all as lost', () => {
    expect(warnings(Array(12).fill({ ...healthy, outer_23: [null, 1] }))).toEqual([
      expect.stringMatching(/outer_23 .* round 1 /),
    ])
    expect(warnings(Array(12).fill({ ...healthy, outer_23: [1, null] }))).toEqual([
      expect.stringMatching(/outer_23 .* round 2 \(0\.0e\+0 against 1\.0e\+0 in round 1/),
    ])
  })

  it('lets steps in which a link is not used pass, as where batches draw their rounds', () => {
    const one = { outer_12: [1], outer_23: [1] }
    const two = { outer_12: [1, 1], outer_23: [1, 1] }
    expect(warnings([two, one, two, one, two, one, two])).toEqual([])
    expect(warnings([two, one, two, one, two, one, two, one, two])).toEqual([
      expect.stringContaining('outer_31 receives no gradient'),
    ])
  })

  it('knows the uses of every style', () => {
    const of = (style: StyleGraph, step: Record<string, (number | null)[]>) => {
      const said: string[] = []
      const watch = gradientWatch(style, (w) => said.push(w))
      for (let i = 0; i < 6; i++) watch(norms(step))
      return said
    }
    for (const style of [mixture, distillation, deliberation]) {
      const whole = Object.fromEntries(style.links.map((l) => [l.key, isFeedback(l) ? [1, 1, null] : [1, 1, 1]]))
      expect(of(style, whole)).toEqual([])
      for (const { key } of style.links) {
        const { [key]: _, ...without } = whole
        expect(of(style, without)).toEqual([expect.stringContaining(`${key} receives no gradient`)])
        const weak = of(style, { ...whole, [key]: [1e-7, ...whole[key].slice(1)] })
        expect(weak).toEqual([
          expect.stringContaining(`${key} receives next to no gradient in round 1 (1.0e-7 against 1.0e+0`),
        ])
      }
    }
  })
})

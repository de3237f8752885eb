/** AdamW and clipping against torch's steps on the toy links, and against closed forms. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  AdamW,
  clipGradients,
  globalNorm,
  innerParameters,
  outerParameters,
} from '../../../src-main/engine/training/optimiser'

type Nested = Record<string, number[] | number[][]>
const fixture = JSON.parse(readFileSync(join(import.meta.dirname, '../../golden/links/inner_ln_res.json'), 'utf8'))
const arrays = (tensors: Nested) => new Map(Object.entries(tensors).map(([n, v]) => [n, Float32Array.from(v.flat())]))

describe('AdamW', () => {
  it('repeats four clipped steps of torch on an inner link (float32, weight decay on matrices)', () => {
    const start = Object.fromEntries(arrays(fixture.init))
    const parameters = innerParameters(start)
    const adamw = new AdamW(parameters, { weightDecay: 0.01 })
    for (const step of fixture.steps) {
      const gradients = arrays(step.grads_before_clip)
      const norm = clipGradients(gradients.values(), 1)
      expect(Math.abs(norm - step.grad_norm_before_clip) / norm).toBeLessThan(1e-6)
      adamw.step(gradients, step.lr)
      for (const [name, expected] of arrays(step.params_after)) {
        const given = parameters.find((p) => p.name === name)?.values ?? new Float32Array()
        // One float32 rounding per step of values up to 1, as the fixture's torch orders its sums a little differently.
        for (let i = 0; i < expected.length; i++)
          expect(Math.abs(given[i] - expected[i]), `${name}[${i}]`).toBeLessThan(3e-7)
      }
    }
  })

  it('takes the closed-form first step: a whole learning rate against the gradient, after decay', () => {
    const values = Float32Array.of(1, -2, 0.5)
    new AdamW([{ name: 'w', values, decay: true }], { weightDecay: 0.1 }).step(
      new Map([['w', Float32Array.of(3, -0.01, 2)]]),
      0.25,
    )
    for (const [i, expected] of [0.975 - 0.25, -2 * 0.975 + 0.25, 0.5 * 0.975 - 0.25].entries())
      expect(values[i]).toBeCloseTo(expected, 5)
  })

  it('neither steps nor decays a parameter without a gradient, and starts its bias correction at its own first step', () => {
    const a = Float32Array.of(1)
    const b = Float32Array.of(1)
    const adamw = new AdamW(
      [
        { name: 'a', values: a, decay: true },
        { name: 'b', values: b, decay: true },
      ],
      { weightDecay: 0.5 },
    )
    for (let i = 0; i < 3; i++) adamw.step(new Map([['a', Float32Array.of(1)]]), 0.1)
    expect(b[0]).toBe(1)
    adamw.step(new Map([['b', Float32Array.of(1)]]), 0.1)
    expect(b[0]).toBeCloseTo(0.95 - 0.1, 6)
    expect(adamw.exportState().get('b')?.steps).toBe(1)
  })

  it('continues exactly from an exported state, which later steps do not change', () => {
    const gradient = (i: number) => new Map([['w', Float32Array.of(Math.sin(i), Math.cos(3 * i))]])
    const whole = Float32Array.of(0.3, -0.7)
    const one = new AdamW([{ name: 'w', values: whole, decay: true }], { weightDecay: 0.01 })
    for (let i = 0; i < 5; i++) one.step(gradient(i), 0.01)
    const half = whole.slice()
    const state = one.exportState()
    for (let i = 5; i < 9; i++) one.step(gradient(i), 0.01)
    const two = new AdamW([{ name: 'w', values: half, decay: true }], { weightDecay: 0.01 })
    two.importState(state)
    for (let i = 5; i < 9; i++) two.step(gradient(i), 0.01)
    expect(half).toEqual(whole)
    expect(two.exportState()).toEqual(one.exportState())
  })

  it('refuses gradients and states that fit no parameter', () => {
    const adamw = new AdamW([{ name: 'w', values: new Float32Array(2), decay: true }], { weightDecay: 0 })
    expect(() => adamw.step(new Map([['w', new Float32Array(3)]]), 0.1)).toThrow('gradient w')
    expect(() => adamw.step(new Map([['v', new Float32Array(2)]]), 0.1)).toThrow('gradient v')
    const moments = { steps: 1, first: new Float32Array(3), second: new Float32Array(3) }
    expect(() => adamw.importState(new Map([['w', moments]]))).toThrow('optimiser state of w')
  })
})

describe('decay groups', () => {
  const link = {
    'proj1.weight': new Float32Array(4),
    'proj1.bias': new Float32Array(2),
    'ln_target.weight': new Float32Array(2),
  }
  it('inner: matrices only; outer: everything in reference mode, matrices in corrected mode', () => {
    expect(innerParameters(link).map((p) => p.decay)).toEqual([true, false, false])
    expect(outerParameters([{ key: 'outer_12', parameters: link }], 'reference').map((p) => p.decay)).toEqual([
      true,
      true,
      true,
    ])
    const corrected = outerParameters([{ key: 'outer_12', parameters: link }], 'corrected')
    expect(corrected.map((p) => [p.name, p.decay])).toEqual([
      ['outer_12.proj1.weight', true],
      ['outer_12.proj1.bias', false],
      ['outer_12.ln_target.weight', false],
    ])
  })
})

describe('clipping', () => {
  it('scales to max / (norm + 1e-6) over all arrays, and only when above', () => {
    const gradients = [Float32Array.of(3, 0), Float32Array.of(0, 4)]
    expect(clipGradients(gradients, 1)).toBe(5)
    expect(globalNorm(gradients)).toBeCloseTo(1, 6)
    const small = [Float32Array.of(0.3)]
    clipGradients(small, 1)
    expect(small[0][0]).toBe(Math.fround(0.3))
  })

  it('only measures with maxNorm 0, and sums without float32 loss', () => {
    const many = new Float32Array(4_000_000).fill(1e-4)
    expect(clipGradients([many], 0)).toBeCloseTo(0.2, 7)
    expect(many[0]).toBe(Math.fround(1e-4))
  })
})

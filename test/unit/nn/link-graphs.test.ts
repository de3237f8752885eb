import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { LinkSessions, linkParameterShapes, type LinkShape } from '../../../src-main/engine/nn/link-graphs'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import {
  innerLinkTypes,
  outerLinkTypes,
  type InnerLinkType,
  type OuterLinkType,
} from '../../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'

const sessions = new LinkSessions({ threads: 1 })
afterAll(() => sessions.dispose())

const flat = (x: unknown): Float32Array => Float32Array.from((x as number[]).flat(Infinity) as number[])
const record = (o: Record<string, unknown>) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k, flat(v)]))
const error = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  let d = 0
  let n = 0
  for (let i = 0; i < b.length; i++) {
    d += (a[i] - b[i]) ** 2
    n += b[i] ** 2
  }
  return Math.sqrt(d / n)
}

const golden = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../golden/links/${name}.json`, import.meta.url), 'utf8'))

describe('link forward against the specification vectors (training 1, inference 12.3)', () => {
  it('inner ln_res_adapter', async () => {
    const link = sessions.link({ kind: 'inner', type: 'ln_res_adapter', width: 3 })
    const parameters = {
      'proj1.weight': flat([
        [0.1, -0.2, 0.3],
        [0.4, 0.5, -0.6],
        [-0.7, 0.8, 0.9],
      ]),
      'proj1.bias': flat([0.01, -0.02, 0.03]),
      'proj2.weight': flat([
        [0.2, 0.1, -0.1],
        [-0.3, 0.2, 0.4],
        [0.5, -0.5, 0.25],
      ]),
      'proj2.bias': flat([0.05, 0, -0.05]),
      'pre_ln.weight': flat([1, 1.1, 0.9]),
      'pre_ln.bias': flat([0, 0.1, -0.1]),
      'post_ln.weight': flat([0.5, 1, 1.5]),
      'post_ln.bias': flat([0.2, 0, -0.2]),
    }
    const y = await link.forward(parameters, flat([0.5, -1, 2]))
    expect(error(y, [0.22301834675013715, -1.2471108822578665, 1.6016112831363885])).toBeLessThan(1e-6)
  })

  it('outer ln_res_adapter', async () => {
    const link = sessions.link({ kind: 'outer', type: 'outer_ln_res_adapter', inWidth: 2, outWidth: 3 })
    const parameters = {
      'proj1.weight': flat([
        [0.1, 0.2],
        [-0.3, 0.4],
        [0.5, -0.6],
        [0.7, 0.8],
        [-0.9, 1],
        [0.15, -0.25],
      ]),
      'proj1.bias': flat([0, 0.1, -0.1, 0.2, -0.2, 0.3]),
      'proj2.weight': flat([
        [0.1, -0.2, 0.3, -0.4, 0.5, 0.6],
        [0.5, 0.6, -0.7, 0.8, -0.9, 0.1],
        [0.9, -1, 1.1, 0.2, 0.3, -0.4],
      ]),
      'proj2.bias': flat([0.01, -0.01, 0.02]),
      'ln_source.weight': flat([1, 0.5]),
      'ln_source.bias': flat([0.1, -0.1]),
      'ln_target.weight': flat([2, 0.5, 1]),
      'ln_target.bias': flat([0.3, -0.3, 0]),
      'residual_proj.weight': flat([
        [0.3, -0.7],
        [0.25, 0.5],
        [-0.4, 0.6],
      ]),
      'residual_proj.bias': flat([0, 0.1, -0.1]),
    }
    const y = await link.forward(parameters, flat([1.5, -0.5]))
    expect(error(y, [3.0646068174943455, -0.5162641494160666, -0.9497751099150394])).toBeLessThan(1e-6)
  })
})

describe('links against torch (golden/links)', () => {
  it('inner: prediction, losses and gradients of the first step', async () => {
    const g = golden('inner_ln_res')
    const link = sessions.link({ kind: 'inner', type: 'ln_res_adapter', width: 6 })
    const parameters = record(g.init)
    const step = g.steps[0]
    // pairs: state at t, embedding at t + 1, where the step's mask is 1
    const x: number[] = []
    const target: number[] = []
    step.mask.forEach((row: number[], b: number) =>
      row.forEach((m, t) => {
        if (!m) return
        x.push(...g.hidden[b][t])
        target.push(...g.embeds[b][t + 1])
      }),
    )
    const out = await link.loss(parameters, Float32Array.from(x), Float32Array.from(target), { cosine: 1, mse: 0.1 })
    expect(Math.abs(out.cosine / step.cosine - 1)).toBeLessThan(1e-5)
    expect(Math.abs(out.mse / step.mse - 1)).toBeLessThan(1e-5)
    expect(Math.abs(out.loss / step.loss - 1)).toBeLessThan(1e-5)
    for (const [name, expected] of Object.entries(record(step.grads_before_clip)))
      expect(error(out.gradients[name], expected)).toBeLessThan(1e-5)
    const y = await link.forward(parameters, flat(g.hidden))
    expect(error(y, flat(g.pred_first))).toBeLessThan(1e-5)
  })

  it('outer: output and gradient norm of the first step', async () => {
    const g = golden('outer_ln_res')
    const link = sessions.link({ kind: 'outer', type: 'outer_ln_res_adapter', inWidth: 6, outWidth: 4 })
    const y = await link.forward(record(g.init), flat(g.x))
    expect(error(y, flat(g.y_first))).toBeLessThan(1e-5)
  })
})

describe('every link type against finite differences', () => {
  const cases: LinkShape[] = [
    ...(Object.keys(innerLinkTypes) as InnerLinkType[]).map((type) => ({ kind: 'inner' as const, type, width: 5 })),
    ...(Object.keys(outerLinkTypes) as OuterLinkType[]).map((type) => ({
      kind: 'outer' as const,
      type,
      inWidth: 4,
      outWidth: 5,
    })),
  ]
  it.each(cases)('$type', async (shape) => {
    const link = sessions.link(shape)
    const generator = new TorchGenerator(7)
    const parameters: Record<string, Float32Array> = {
      ...(shape.kind === 'inner'
        ? initInnerLink(shape.type, shape.width, generator)
        : initOuterLink(shape.type, shape.inWidth, shape.outWidth, generator)),
    }
    // norms away from 1 and 0, so that their part in the chain shows
    for (const { name } of linkParameterShapes(shape))
      if (/ln/.test(name)) parameters[name] = parameters[name].map((v, i) => v + 0.1 * (i + 1) * (i % 2 ? 1 : -1))
    const x = generator.uniform(-1.5, 1.5, 3 * link.inWidth)
    const cotangent = generator.uniform(-1, 1, 3 * link.outWidth)
    const target = generator.uniform(-1, 1, 3 * link.outWidth)
    const weights = { cosine: 0.7, mse: 0.3 }
    const projected = async (p: Record<string, Float32Array>, at: Float32Array) =>
      (await link.forward(p, at)).reduce((s, v, i) => s + v * cotangent[i], 0)
    const vjp = await link.vjp(parameters, x, cotangent)
    expect(error(await link.backInput(parameters, x, cotangent), vjp.inputGradient)).toBeLessThan(1e-6)
    const fit = await link.loss(parameters, x, target, weights)

    const h = 2 ** -8
    const nudged = (values: Float32Array, i: number, by: number) => values.map((v, j) => (j === i ? v + by : v))
    const slope = async (f: (by: number) => Promise<number>) => ((await f(h)) - (await f(-h))) / (2 * h)
    const check = async (expected: Float32Array, f: (i: number, by: number) => Promise<number>) => {
      const measured = new Float32Array(expected.length)
      for (let i = 0; i < expected.length; i++) measured[i] = await slope((by) => f(i, by))
      expect(error(measured, expected)).toBeLessThan(2e-3)
    }
    await check(vjp.inputGradient, (i, by) => projected(parameters, nudged(x, i, by)))
    for (const name of Object.keys(parameters)) {
      const shifted = (i: number, by: number) => ({ ...parameters, [name]: nudged(parameters[name], i, by) })
      await check(vjp.gradients[name], (i, by) => projected(shifted(i, by), x))
      await check(fit.gradients[name], async (i, by) => (await link.loss(shifted(i, by), x, target, weights)).loss)
    }
  })
})

it('rows of no length need no session run', async () => {
  const link = sessions.link({ kind: 'inner', type: 'adapter', width: 4 })
  expect(await link.forward({}, new Float32Array(0))).toHaveLength(0)
})

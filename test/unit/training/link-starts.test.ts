/** How outer links start: the aligned loss and its gradient, the least-squares fit of every type, and the scale of the last norm. */
import { afterAll, describe, expect, it } from 'vitest'
import { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import { outerLinkTypes, type LinkParameters, type OuterLinkType } from '../../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import type { OuterLink } from '../../../src-main/engine/styles/team'
import { TargetTable } from '../../../src-main/engine/training/align-targets'
import { embeddingScale, lastNormUnits, scaleLastNorm } from '../../../src-main/engine/training/last-norm'
import { checkLeastSquares, LeastSquares } from '../../../src-main/engine/training/least-squares'
import { AdamW, clipGradients, innerParameters, toUnits } from '../../../src-main/engine/training/optimiser'
import { lcg } from './toy-agent'

const sessions = new LinkSessions({ threads: 1 })
afterAll(() => sessions.dispose())

const types = Object.keys(outerLinkTypes) as OuterLinkType[]
const [inWidth, outWidth] = [7, 5]
const random = lcg(11)
const draw = (n: number, size = 1) => Float32Array.from({ length: n }, () => (random() * 2 - 1) * size)

function outer(type: OuterLinkType, seed = 4): OuterLink {
  const graph = sessions.link({ kind: 'outer', type, inWidth, outWidth })
  const parameters = initOuterLink(type, inWidth, outWidth, new TorchGenerator(seed))
  return { key: 'outer_12', type, source: 0, target: 1, parameters, graph }
}

/** A vocabulary of random embeddings. */
const table = draw(20 * outWidth)
const receiver = {
  hiddenSize: outWidth,
  embed: async (ids: readonly number[]) =>
    Float32Array.from(ids.flatMap((id) => [...table.subarray(id * outWidth, (id + 1) * outWidth)])),
}

describe('aligned start', () => {
  const wanted = [[3], [4, 5], [6], [7, 8, 9], [3], [3]]

  it('aims at the mean of the embeddings of a place', async () => {
    const targets = await TargetTable.of(receiver, wanted)
    const at = targets.at([1, 3])
    for (let i = 0; i < outWidth; i++) {
      expect(at[i]).toBeCloseTo((table[4 * outWidth + i] + table[5 * outWidth + i]) / 2, 6)
      const mean = [7, 8, 9].reduce((sum, id) => sum + table[id * outWidth + i], 0) / 3
      expect(at[outWidth + i]).toBeCloseTo(mean, 6)
    }
  })

  it.each(types)('has the gradient of its loss, written down once more in double precision: %s', async (type) => {
    const link = outer(type)
    const targets = (await TargetTable.of(receiver, wanted)).at(wanted.map((_, k) => k))
    const x = draw(wanted.length * inWidth)
    const fit = await link.graph.loss(link.parameters, x, targets, { cosine: 1, mse: 0 })
    const loss = (parameters: Record<string, ArrayLike<number>>) => meanDistance(type, parameters, x, targets)
    expect(fit.loss).toBeCloseTo(loss(link.parameters), 6)
    const step = 1e-4
    for (const [name, gradient] of Object.entries(fit.gradients)) {
      const largest = Math.max(...gradient.map(Math.abs))
      for (let i = 0; i < gradient.length; i += Math.max(1, gradient.length >> 3)) {
        const at = (by: number) => {
          const moved = Float64Array.from(link.parameters[name])
          moved[i] += by
          return loss({ ...link.parameters, [name]: moved })
        }
        const slope = (at(step) - at(-step)) / (2 * step)
        expect(Math.abs(gradient[i] - slope), `${name}[${i}]`).toBeLessThan(1e-5 * Math.max(1, largest))
      }
    }
  })
})

describe('least-squares start', () => {
  const places = 60
  const images = draw(places * inWidth)
  const wanted = Array.from({ length: places }, (_, k) => [k % 20])

  it.each(types.filter((t) => t !== 'outer_adapter' && t !== 'outer_ln_adapter'))(
    'leaves only the linear path, which has the least squares: %s',
    async (type) => {
      const { residual, norms } = outerLinkTypes[type]
      const link = outer(type)
      const targets = await TargetTable.of(receiver, wanted)
      const solver = new LeastSquares({ checkpoint: async () => undefined }, 1e-6, 1)
      try {
        await solver.fit(link, { images, targets })
      } finally {
        await solver.dispose()
      }
      // the same without a norm at the end
      const linear = residual ? 'residual_proj' : 'proj1'
      const straight = {
        'proj1.weight': link.parameters[`${linear}.weight`],
        'proj1.bias': link.parameters[`${linear}.bias`],
      }
      const y = targets.at(wanted.map((_, k) => k))
      const said = await link.graph.forward(link.parameters, images)
      const plain = rowsOf('outer_linear_adapter', straight, images)
      if (norms) {
        const normed = plain.map((row) => layerNorm(row, link.parameters, 'ln_target'))
        normed.flat().forEach((v, i) => expect(said[i]).toBeCloseTo(v, 4))
      } else {
        plain.flat().forEach((v, i) => expect(said[i]).toBeCloseTo(v, 5))
        // the residual of a least-squares fit is orthogonal to every input
        for (let i = 0; i < inWidth; i++)
          for (let o = 0; o < outWidth; o++) {
            let sum = 0
            for (let n = 0; n < places; n++)
              sum += (said[n * outWidth + o] - y[n * outWidth + o]) * images[n * inWidth + i]
            expect(Math.abs(sum / places)).toBeLessThan(1e-5)
          }
      }
      // and training goes on from there: the silent path is not dead
      const { gradients } = await link.graph.loss(link.parameters, images, y, { cosine: 1, mse: 1 })
      const last = outerLinkTypes[type].layers === 2 ? 'proj2' : 'proj1'
      expect(Math.max(...gradients[`${last}.weight`].map(Math.abs))).toBeGreaterThan(1e-4)
    },
  )

  it('is refused, by link and type, where there is no linear path', () => {
    const style = { links: ['outer_12', 'outer_23'].map((key) => ({ key, source: 0, target: 1 })) }
    expect(() => checkLeastSquares(style, () => 'outer_ln_res_adapter')).not.toThrow()
    for (const type of ['outer_adapter', 'outer_ln_adapter'] as const)
      expect(() => checkLeastSquares(style, (key) => (key === 'outer_23' ? type : 'outer_res_adapter'))).toThrow(
        expect.objectContaining({
          why: expect.stringContaining(`outer_23 (${type})`) as string,
          next: expect.stringContaining('outer_res_adapter') as string,
        }) as Error,
      )
  })
})

describe('scale of the last norm', () => {
  it('is the median length of the embeddings over sqrt(width)', async () => {
    const lengths = [0.1, 0.2, 0.3, 0.4, 9]
    const embed = async (ids: readonly number[]) => Float32Array.from(ids.flatMap((id) => [0, lengths[id], 0, 0]))
    expect(await embeddingScale({ hiddenSize: 4, embed }, 5)).toBeCloseTo(0.3 / 2, 6)
    expect(await embeddingScale({ hiddenSize: 4, embed }, 4)).toBeCloseTo(0.25 / 2, 6)
  })

  it('makes what a fresh link says as long as an embedding', async () => {
    for (const type of types) {
      const link = outer(type)
      const before = structuredClone(link.parameters)
      scaleLastNorm(link.parameters, 0.02)
      if (!outerLinkTypes[type].norms) {
        expect(link.parameters).toEqual(before)
        expect(lastNormUnits(link.parameters).size).toBe(0)
        continue
      }
      const said = await link.graph.forward(link.parameters, draw(9 * inWidth))
      for (let n = 0; n < 9; n++) {
        const length = Math.hypot(...said.subarray(n * outWidth, (n + 1) * outWidth))
        expect(length).toBeCloseTo(0.02 * Math.sqrt(outWidth), 4)
      }
      const [weight, bias] = ['ln_target.weight', 'ln_target.bias'].map((n) => lastNormUnits(link.parameters).get(n)!)
      expect(weight).toBeCloseTo(0.02, 7)
      expect(bias).toBe(weight)
    }
  })

  it('trains as from a gain of one: the same losses and directions, the output shorter all along', async () => {
    const width = 6
    const graph = sessions.link({ kind: 'inner', type: 'ln_res_adapter', width })
    const [x, y] = [draw(40 * width), draw(40 * width)]
    async function train(scale: number) {
      const parameters = initInnerLink('ln_res_adapter', width, new TorchGenerator(2))
      scaleLastNorm(parameters, scale)
      const trained = innerParameters(parameters, scale === 1 ? undefined : lastNormUnits(parameters))
      const optimiser = new AdamW(trained, { weightDecay: 0 })
      const losses: number[] = []
      for (let step = 0; step < 60; step++) {
        const fit = await graph.loss(parameters, x, y, { cosine: 1, mse: 0 })
        losses.push(fit.loss)
        const gradients = new Map(Object.entries(fit.gradients))
        toUnits(trained, gradients)
        clipGradients(gradients.values(), 0.2)
        optimiser.step(gradients, 1e-2)
      }
      return { losses, said: await graph.forward(parameters, x) }
    }
    const scale = 1 / 64
    const [whole, short] = [await train(1), await train(scale)]
    expect(whole.losses.at(-1)!).toBeLessThan(0.7 * whole.losses[0])
    whole.losses.forEach((l, i) => expect(Math.abs(short.losses[i] - l)).toBeLessThan(1e-4))
    whole.said.forEach((v, i) => expect(Math.abs(short.said[i] / scale - v)).toBeLessThan(5e-3))
  })
})

/** Links in double precision, written from the method's formulas. */
function rowsOf(type: OuterLinkType, p: Record<string, ArrayLike<number>>, x: Float32Array): number[][] {
  const { layers, residual, norms } = outerLinkTypes[type]
  const linear = (name: string, v: readonly number[]) =>
    Array.from({ length: p[`${name}.bias`].length }, (_, o) =>
      v.reduce((sum, xi, i) => sum + p[`${name}.weight`][o * v.length + i] * xi, p[`${name}.bias`][o]),
    )
  return Array.from({ length: x.length / inWidth }, (_, n) => {
    const row = [...x.subarray(n * inWidth, (n + 1) * inWidth)]
    const once = linear('proj1', norms ? layerNorm(row, p, 'ln_source') : row)
    const mapped = layers === 1 ? once : linear('proj2', once.map(gelu))
    const joined = residual ? linear('residual_proj', row).map((v, i) => v + mapped[i]) : mapped
    return norms ? layerNorm(joined, p, 'ln_target') : joined
  })
}

function layerNorm(
  row: readonly number[],
  p: LinkParameters | Record<string, ArrayLike<number>>,
  name: string,
): number[] {
  const mean = row.reduce((a, b) => a + b, 0) / row.length
  const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length
  return row.map((v, i) => ((v - mean) / Math.sqrt(variance + 1e-5)) * p[`${name}.weight`][i] + p[`${name}.bias`][i])
}

/** x Phi(x), the integral by Simpson's rule. */
function gelu(x: number): number {
  const n = 400
  let sum = 0
  for (let k = 0; k <= n; k++) sum += (k === 0 || k === n ? 1 : k % 2 ? 4 : 2) * Math.exp(-(((x * k) / n) ** 2) / 2)
  return x * (0.5 + (sum * (x / n)) / 3 / Math.sqrt(2 * Math.PI))
}

function meanDistance(
  type: OuterLinkType,
  p: Record<string, ArrayLike<number>>,
  x: Float32Array,
  target: Float32Array,
): number {
  const rows = rowsOf(type, p, x)
  const distances = rows.map((row, n) => {
    const t = [...target.subarray(n * row.length, (n + 1) * row.length)]
    const dot = row.reduce((sum, v, i) => sum + v * t[i], 0)
    return 1 - dot / (Math.hypot(...row) * Math.hypot(...t))
  })
  return distances.reduce((a, b) => a + b, 0) / rows.length
}

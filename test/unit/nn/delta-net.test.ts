/** The gated delta rule in all its forms against the recurrence in double precision, and rows padded in a batch. */
import { describe, expect, it } from 'vitest'
import { lastInputs } from '../../../src-main/engine/nn/causal-conv'
import { deltaChannels, deltaNet, type DeltaNetLayout } from '../../../src-main/engine/nn/delta-net'
import { deltaRule, type DeltaLayout } from '../../../src-main/engine/nn/delta-rule'
import { gradients } from '../../../src-main/engine/nn/rules'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { Graph, type Shape } from '../../../src-main/engine/onnx/graph'
import * as op from '../../../src-main/engine/onnx/ops'
import { EngineSession, type ArrayInput } from '../../../src-main/engine/onnx/session'
import { relativeError } from '../../golden/numbers'
import { deltaReference, type ReferenceRow } from './delta-reference'

const layouts: Record<string, Omit<DeltaLayout, 'compute'>> = {
  'a value head for each key head': { keyHeads: 2, valueHeads: 2, keyDim: 8, valueDim: 6 },
  'key heads shared': { keyHeads: 2, valueHeads: 4, keyDim: 5, valueDim: 7 },
}
const names = ['q', 'k', 'v', 'decay', 'beta', 'state'] as const

function shapes(h: Omit<DeltaLayout, 'compute'>): Record<(typeof names)[number], Shape> {
  const row = (width: number): Shape => ['B', 'T', width]
  const keys = row(h.keyHeads * h.keyDim)
  const heads = row(h.valueHeads)
  return {
    q: keys,
    k: keys,
    v: row(h.valueHeads * h.valueDim),
    decay: heads,
    beta: heads,
    state: ['B', h.valueHeads, h.keyDim, h.valueDim],
  }
}

/** Keys of length 1; `hard`: all keys of a head alike, whole steps, nearly no decay, the worst case for an inverse. */
function drawRow(random: TorchGenerator, time: number, h: Omit<DeltaLayout, 'compute'>, hard: boolean): ReferenceRow {
  const draw = (n: number, low: number, high: number) => random.uniform(low, high, n)
  const k = draw(time * h.keyHeads * h.keyDim, -1, 1)
  if (hard) for (let i = h.keyHeads * h.keyDim; i < k.length; i++) k[i] = k[i % (h.keyHeads * h.keyDim)] + 0.01 * k[i]
  for (let at = 0; at < k.length; at += h.keyDim) {
    const head = k.subarray(at, at + h.keyDim)
    const length = Math.hypot(...head)
    head.forEach((x, i) => (head[i] = x / length))
  }
  return {
    q: draw(time * h.keyHeads * h.keyDim, -1, 1),
    k,
    v: draw(time * h.valueHeads * h.valueDim, -1, 1),
    decay: draw(time * h.valueHeads, hard ? -1e-3 : -1, 0),
    beta: draw(time * h.valueHeads, hard ? 0.98 : 0, 1),
    state: draw(h.valueHeads * h.keyDim * h.valueDim, -1, 1),
  }
}

const sizes = (shape: Shape, batch: number, time: number) =>
  shape.map((d) => (d === 'B' ? batch : d === 'T' ? time : (d as number)))
const join = (parts: readonly ArrayLike<number>[]) => Float32Array.from(parts.flatMap((p) => Array.from(p)))

function feeds(
  rows: readonly ReferenceRow[],
  time: number,
  h: Omit<DeltaLayout, 'compute'>,
): Record<string, ArrayInput> {
  return Object.fromEntries(
    names.map((name) => [
      name,
      { data: join(rows.map((r) => r[name])), shape: sizes(shapes(h)[name], rows.length, time) },
    ]),
  )
}

const floats = (x: { data: unknown }) => x.data as Float32Array

describe.each(Object.entries(layouts))('the gated delta rule, %s', (_, heads) => {
  const cases = [false, true].flatMap((hard) => [1, 31, 32, 200].map((time) => ({ hard, time })))

  it.each((['float32', 'float16'] as const).flatMap((compute) => cases.map((c) => ({ ...c, compute }))))(
    'as for $compute, $time places, hard $hard',
    async ({ compute, time, hard }) => {
      const g = new Graph('rule')
      const inputs = Object.fromEntries(
        names.map((n) => [
          n,
          g.input(
            n,
            'float32',
            shapes(heads)[n].map((d) => (d === 'T' && time === 1 ? 1 : d)),
          ),
        ]),
      )
      const rows = { q: inputs.q, k: inputs.k, v: inputs.v, decay: inputs.decay, beta: inputs.beta }
      const { output, state } = deltaRule(g, rows, inputs.state, { ...heads, compute })
      g.output(output, 'output')
      g.output(state, 'after')
      const cotangent = g.input('cotangent', 'float32', output.shape)
      gradients(g, [[output, cotangent]], Object.values(rows)).forEach((d, i) => g.output(d!, `d/${names[i]}`))
      const random = new TorchGenerator(time)
      const drawn = [drawRow(random, time, heads, hard), drawRow(random, time, heads, hard)]
      const width = time * heads.valueHeads * heads.valueDim
      const dy = drawn.map(() => random.uniform(-1, 1, width))
      const session = await EngineSession.open(g, { threads: 1 })
      try {
        const got = await session.run({
          ...feeds(drawn, time, heads),
          cotangent: { data: join(dy), shape: [2, time, heads.valueHeads * heads.valueDim] },
        })
        const want = drawn.map((r, i) => deltaReference(r, time, heads, dy[i]))
        expect(relativeError(floats(got.output), join(want.map((w) => w.output)))).toBeLessThan(1e-5)
        expect(relativeError(floats(got.after), join(want.map((w) => w.state)))).toBeLessThan(1e-5)
        for (const n of ['q', 'k', 'v', 'decay', 'beta'] as const) {
          expect(relativeError(floats(got[`d/${n}`]), join(want.map((w) => w.gradients[n]))), n).toBeLessThan(
            hard ? 1e-4 : 1e-5,
          )
        }
      } finally {
        await session.dispose()
      }
    },
  )
})

describe('mixing of a gated delta-net layer', () => {
  const h: DeltaNetLayout = { keyHeads: 2, valueHeads: 4, keyDim: 5, valueDim: 3, taps: 4, compute: 'float32' }
  const channels = deltaChannels(h)
  const lengths = [40, 2, 37]

  /** Rows of these lengths after a memory -> their mixtures, what they carry on, and the gradient of the input. */
  async function mix(
    inputs: readonly {
      qkv: Float32Array
      decay: Float32Array
      beta: Float32Array
      conv: Float32Array
      state: Float32Array
    }[],
    ends: readonly number[],
  ) {
    const g = new Graph('mixing')
    const row = (name: string, width: number) => g.input(name, 'float32', ['B', 'T', width])
    const x = {
      qkv: row('qkv', channels),
      decay: row('decay', 4),
      beta: row('beta', 4),
      filter: g.input('filter', 'float32', [channels, 1, 4]),
    }
    const past = {
      conv: g.input('conv', 'float32', ['B', 3, channels]),
      state: g.input('state', 'float32', ['B', 4, 5, 3]),
    }
    const lengths = g.input('lengths', 'int64', ['B'])
    const valid = op.less(g, op.unsqueeze(g, op.range(g, 'T'), [0]), op.unsqueeze(g, lengths, [1]))
    const places = {
      valid: op.unsqueeze(g, op.cast(g, valid, 'float32'), [2]),
      ends: lastInputs(g, lengths, g.dim('T'), 3),
    }
    const { output, memory } = deltaNet(g, x, past, places, h)
    g.output(output, 'output')
    g.output(memory().conv, 'after.conv')
    g.output(memory().state, 'after.state')
    g.output(gradients(g, [[output, g.input('dy', 'float32', output.shape)]], [x.qkv])[0]!, 'gradient')
    const session = await EngineSession.open(g, { threads: 1 })
    try {
      const time = Math.max(...ends)
      const padded = (name: 'qkv' | 'decay' | 'beta', width: number) => {
        const data = new Float32Array(inputs.length * time * width).fill(0.7)
        inputs.forEach((r, b) => data.set(r[name], b * time * width))
        return { data, shape: [inputs.length, time, width] }
      }
      const dy = new Float32Array(inputs.length * time * 12)
      ends.forEach((n, b) => dy.set(inputs[b].qkv.subarray(0, n * 12), b * time * 12))
      const got = await session.run({
        qkv: padded('qkv', channels),
        decay: padded('decay', 4),
        beta: padded('beta', 4),
        filter: { data: new TorchGenerator(9).uniform(-1, 1, channels * 4), shape: [channels, 1, 4] },
        conv: { data: join(inputs.map((r) => r.conv)), shape: [inputs.length, 3, channels] },
        state: { data: join(inputs.map((r) => r.state)), shape: [inputs.length, 4, 5, 3] },
        lengths: { data: BigInt64Array.from(ends.map(BigInt)), shape: [inputs.length] },
        dy: { data: dy, shape: [inputs.length, time, 12] },
      })
      return inputs.map((_, b) => {
        const cut = (name: string, width: number) =>
          floats(got[name]).slice(b * time * width, (b * time + ends[b]) * width)
        const whole = (name: string) =>
          floats(got[name]).slice(
            b * (floats(got[name]).length / inputs.length),
            (b + 1) * (floats(got[name]).length / inputs.length),
          )
        return {
          output: cut('output', 12),
          gradient: cut('gradient', channels),
          conv: whole('after.conv'),
          state: whole('after.state'),
        }
      })
    } finally {
      await session.dispose()
    }
  }

  const random = new TorchGenerator(4)
  const drawn = lengths.map((n) => ({
    qkv: random.uniform(-1, 1, n * channels),
    decay: random.uniform(-1, 0, n * 4),
    beta: random.uniform(0, 1, n * 4),
    conv: random.uniform(-1, 1, 3 * channels),
    state: random.uniform(-1, 1, 60),
  }))

  it('gives rows of different lengths what each gives alone', async () => {
    const together = await mix(drawn, lengths)
    for (const [b, n] of lengths.entries()) {
      const [alone] = await mix([drawn[b]], [n])
      for (const what of ['output', 'gradient', 'conv', 'state'] as const) {
        expect(relativeError(together[b][what], alone[what]), `${what} of row ${b}`).toBeLessThan(1e-6)
      }
    }
  })

  it('continues from what a first part carried on', async () => {
    const [whole] = await mix([drawn[0]], [40])
    const part = (name: 'qkv' | 'decay' | 'beta', from: number, to: number) => {
      const width = drawn[0][name].length / 40
      return drawn[0][name].slice(from * width, to * width)
    }
    const piece = (from: number, to: number) => ({
      qkv: part('qkv', from, to),
      decay: part('decay', from, to),
      beta: part('beta', from, to),
    })
    const [first] = await mix([{ ...drawn[0], ...piece(0, 33) }], [33])
    const [second] = await mix([{ ...first, ...piece(33, 40) }], [7])
    expect(relativeError([first.output, second.output], whole.output)).toBeLessThan(1e-6)
    expect(relativeError(second.state, whole.state)).toBeLessThan(1e-6)
    expect(relativeError(second.conv, whole.conv)).toBeLessThan(1e-6)
  })
})

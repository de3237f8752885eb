/** Every differentiation rule against finite differences, and that no rule goes without a case. */
import { describe, expect, it } from 'vitest'
import { checkpoint } from '../../../src-main/engine/autodiff/checkpoint'
import { MissingRuleError } from '../../../src-main/engine/autodiff/gradients'
import { gatedGelu, gatedSilu, gelu } from '../../../src-main/engine/nn/activations'
import { maskedAttention, MASKED, type HeadLayout } from '../../../src-main/engine/nn/attention'
import { causalConv } from '../../../src-main/engine/nn/causal-conv'
import { deltaRule, type DeltaLayout } from '../../../src-main/engine/nn/delta-rule'
import { cosineDistance, crossEntropy, headCrossEntropy } from '../../../src-main/engine/nn/losses'
import { knownLinear, linear } from '../../../src-main/engine/nn/linear'
import { layerNorm, rmsNorm } from '../../../src-main/engine/nn/norms'
import { rotary, rotaryTable } from '../../../src-main/engine/nn/rotary'
import { gradients, rules } from '../../../src-main/engine/nn/rules'
import { Graph, type Value } from '../../../src-main/engine/onnx/graph'
import * as op from '../../../src-main/engine/onnx/ops'
import { derivativeError, stepsOf, type RuleCase } from './finite-differences'

const grid = { shape: [3, 4] }
const unary = (name: string, f: (g: Graph, x: Value) => Value, positive = false): RuleCase => ({
  name,
  operands: [{ ...grid, positive }],
  build: (g, [x]) => f(g, x),
})
const binary = (name: string, f: (g: Graph, a: Value, b: Value) => Value, b: readonly number[], positive = false): RuleCase => ({
  name,
  operands: [grid, { shape: b, positive }],
  build: (g, [x, y]) => f(g, x, y),
})

const layout: HeadLayout = { heads: 4, kvHeads: 2, headDim: 4, scale: 0.5, compute: 'float32' }
/** Causal mask for 3 new places after 2 cached ones, the first of which is hidden. */
const maskRows = [0, 1, 2].flatMap((t) => [0, 1, 2, 3, 4].map((j) => (j === 0 || j - 2 > t ? MASKED : 0)))

/** 70 places of text: two whole chunks and a part of one. */
const delta = (name: string, h: DeltaLayout): RuleCase => {
  const [batch, time] = [2, 70]
  return {
    name,
    operands: [
      { shape: [batch, time, h.keyHeads * h.keyDim] },
      { shape: [batch, time, h.keyHeads * h.keyDim] },
      { shape: [batch, time, h.valueHeads * h.valueDim] },
      { shape: [batch, time, h.valueHeads] },
      { shape: [batch, time, h.valueHeads] },
      { shape: [batch, h.valueHeads, h.keyDim, h.valueDim], fixed: Array.from({ length: batch * h.valueHeads * h.keyDim * h.valueDim }, (_, i) => Math.sin(i)) },
    ],
    build: (g, [q, k, v, decay, beta, state]) => {
      const rows = { q, k: op.scale(g, k, 0.4), v, decay: op.neg(g, op.exp(g, decay)), beta: op.sigmoid(g, beta) }
      return deltaRule(g, rows, state, h).output
    },
  }
}

const cases: RuleCase[] = [
  binary('Add', op.add, [4]),
  binary('Add of one column', op.add, [3, 1]),
  binary('Sub', op.sub, [1, 4]),
  binary('Mul', op.mul, [3, 4]),
  binary('Mul broadcast', op.mul, [1]),
  binary('Div', op.div, [3, 1], true),
  unary('Neg', op.neg),
  unary('Exp', op.exp),
  unary('Log', op.log, true),
  unary('Sqrt', op.sqrt, true),
  unary('Tanh', op.tanh),
  unary('Sigmoid', op.sigmoid),
  unary('Erf', op.erf),
  unary('Cos', op.cos),
  unary('Sin', op.sin),
  unary('QuickGelu', op.silu),
  unary('Softplus', op.softplus),
  unary('Identity', (g, x) => g.node('Identity', [x], [{ dtype: 'float32', shape: x.shape }])[0]),
  unary('Cast', (g, x) => op.mul(g, x, g.node('Cast', [x], [{ dtype: 'float32', shape: x.shape }], { to: { kind: 'int', value: 1 } })[0])),
  unary('Reshape', (g, x) => op.mul(g, op.reshape(g, x, [2, 6]), op.reshape(g, x, [2, 6]))),
  unary('Transpose', (g, x) => op.matmul(g, x, op.transpose(g, x, [1, 0]))),
  unary('Unsqueeze and Squeeze', (g, x) => op.mul(g, op.squeeze(g, op.unsqueeze(g, x, [0, 2]), [0, 2]), x)),
  { name: 'Expand', operands: [{ shape: [3, 1] }], build: (g, [x]) => op.exp(g, op.expand(g, x, [2, 3, 4])) },
  binary('Concat', (g, a, b) => op.exp(g, op.concat(g, [a, b, a], 1)), [3, 2]),
  unary('Split', (g, x) => {
    const [a, b] = op.split(g, x, [1, 3], 1)
    return op.mul(g, a, op.reduceSum(g, op.mul(g, b, b), [1]))
  }),
  unary('Split with an unused part', (g, x) => op.exp(g, op.split(g, x, [1, 3], 1)[1])),
  unary('Slice', (g, x) => op.exp(g, op.slice(g, x, 1, 1, 2))),
  { name: 'Gather', operands: [grid, { shape: [2, 2], ints: [2, 0, 2, 1] }], build: (g, [x, i]) => op.exp(g, op.gather(g, x, i)) },
  {
    name: 'ScatterND replace',
    operands: [grid, { shape: [2, 1], ints: [2, 0] }, { shape: [2, 4] }],
    build: (g, [x, i, u]) => op.exp(g, op.scatterRows(g, x, i, u, 'replace')),
  },
  {
    name: 'ScatterND add',
    operands: [grid, { shape: [2, 1], ints: [1, 1] }, { shape: [2, 4] }],
    build: (g, [x, i, u]) => op.exp(g, op.scatterRows(g, x, i, u, 'add')),
  },
  {
    name: 'Where',
    operands: [grid, { shape: [4] }, { shape: [3, 1], fixed: [1, 0, 1] }],
    build: (g, [a, b, c]) => op.exp(g, op.where(g, op.greater(g, c, g.floats([0.5], [])), a, b)),
  },
  unary('ReduceSum', (g, x) => op.exp(g, op.reduceSum(g, x, [0]))),
  unary('ReduceSum dropping axes', (g, x) => op.exp(g, op.scale(g, op.reduceSum(g, x, [0, 1], false), 0.2))),
  unary('ReduceMean', (g, x) => op.exp(g, op.reduceMean(g, x, [-1]))),
  unary('Softmax', (g, x) => op.softmax(g, x)),
  unary('Softmax along axis 0', (g, x) => op.softmax(g, x, 0)),
  binary('MatMul', op.matmul, [4, 5]),
  { name: 'MatMul of stacks', operands: [{ shape: [2, 3, 4] }, { shape: [4, 2] }], build: (g, [a, b]) => op.matmul(g, a, b) },
  ...[false, true].flatMap((transA) =>
    [false, true].flatMap((transB): RuleCase[] => [
      {
        name: `FusedMatMul ${transA} ${transB}`,
        operands: [{ shape: transA ? [2, 4, 3] : [2, 3, 4] }, { shape: transB ? [2, 5, 4] : [2, 4, 5] }],
        build: (g, [a, b]) => op.fusedMatmul(g, a, b, { transA, transB, alpha: 0.7 }),
      },
      {
        name: `Gemm ${transA} ${transB}`,
        operands: [{ shape: transA ? [4, 3] : [3, 4] }, { shape: transB ? [5, 4] : [4, 5] }, { shape: [5] }],
        build: (g, [a, b, c]) => op.gemm(g, a, b, c, { transA, transB }),
      },
    ]),
  ),
  { name: 'RMSNorm', operands: [grid, { shape: [4] }], build: (g, [x, w]) => rmsNorm(g, x, w, 1e-5) },
  { name: 'LayerNorm', operands: [grid, { shape: [4] }, { shape: [4] }], build: (g, [x, w, b]) => layerNorm(g, x, w, b) },
  unary('Gelu', gelu),
  binary('GatedSilu', gatedSilu, [3, 4]),
  binary('GatedGelu', gatedGelu, [3, 4]),
  {
    name: 'KnownLinear',
    operands: [grid, { shape: [5, 4], fixed: Array.from({ length: 20 }, (_, i) => Math.sin(i)) }],
    build: (g, [x, w]) => {
      // computed where differentiation does not look
      const [y] = g.composite('Earlier', [], () => ({ outputs: [linear(g, x, w)] }))
      return op.exp(g, op.scale(g, knownLinear(g, x, w, y), 0.3))
    },
  },
  {
    name: 'Rotary',
    operands: [{ shape: [2, 3, 8] }],
    build: (g, [x]) => rotary(g, x, rotaryTable(g, op.reshape(g, g.ints([0, 1, 2, 5, 6, 7]), [2, 3]), [1, 0.3], 6), 2),
  },
  {
    name: 'Attention with a cache',
    operands: [{ shape: [2, 3, 16] }, { shape: [2, 3, 8] }, { shape: [2, 3, 8] }, { shape: [1, 1, 3, 5], fixed: maskRows }, { shape: [2, 2, 2, 4], fixed: new Array<number>(32).fill(0.3) }],
    build: (g, [q, k, v, mask, past]) => maskedAttention(g, q, k, v, { k: past, v: past }, mask, layout).output,
  },
  {
    name: 'Attention without a cache',
    operands: [{ shape: [1, 3, 16] }, { shape: [1, 3, 8] }, { shape: [1, 3, 8] }],
    build: (g, [q, k, v]) => {
      const mask = g.floats([0, MASKED, MASKED, 0, 0, MASKED, 0, 0, 0], [1, 1, 3, 3])
      return maskedAttention(g, q, k, v, null, mask, layout).output
    },
  },
  {
    name: 'CausalConv',
    operands: [{ shape: [2, 5, 3] }, { shape: [3, 1, 4] }, { shape: [2, 3, 3], fixed: Array.from({ length: 18 }, (_, i) => Math.sin(i)) }],
    build: (g, [x, w, past]) => causalConv(g, x, w, past),
  },
  delta('DeltaRule, fused', { keyHeads: 1, valueHeads: 2, keyDim: 4, valueDim: 3, compute: 'float32' }),
  delta('DeltaRule, chunked', { keyHeads: 2, valueHeads: 2, keyDim: 3, valueDim: 5, compute: 'float16' }),
  { name: 'CrossEntropy', operands: [{ shape: [3, 5] }, { shape: [3], ints: [4, 0, 2] }], build: (g, [x, i]) => crossEntropy(g, x, i) },
  {
    name: 'HeadCrossEntropy',
    operands: [{ shape: [600, 4] }, { shape: [7, 4], fixed: Array.from({ length: 28 }, (_, i) => Math.sin(i)) }, { shape: [600], ints: Array.from({ length: 600 }, (_, i) => i % 7) }],
    build: (g, [x, w, i]) => headCrossEntropy(g, x, w, i),
  },
  { name: 'CosineDistance', operands: [grid, { shape: [3, 4], fixed: Array.from({ length: 12 }, (_, i) => Math.cos(i)) }], build: (g, [x, t]) => cosineDistance(g, x, t) },
  {
    name: 'Checkpoint',
    operands: [grid, { shape: [4, 4] }, { shape: [4] }],
    build: (g, inputs) => checkpoint(g, inputs, ([x, w, n]) => [rmsNorm(g, op.add(g, x, op.tanh(g, op.matmul(g, x, w))), n, 1e-5)]),
  },
  {
    name: 'Checkpoint of two outputs within another',
    operands: [grid, { shape: [4, 4] }],
    build: (g, inputs) =>
      checkpoint(g, inputs, ([x, w]) => {
        const [a, b] = checkpoint(g, [x, w], ([y, m]) => [op.sigmoid(g, op.matmul(g, y, m)), op.exp(g, op.scale(g, y, 0.3))])
        return [op.mul(g, a, b), op.add(g, a, x)]
      }),
  },
]

describe('differentiation rules', () => {
  it.each(cases)('$name', async (c) => {
    expect(await derivativeError(c)).toBeLessThan(2e-3)
  })

  it('have a case each', () => {
    const covered = new Set(cases.flatMap(stepsOf))
    expect(Object.keys(rules).filter((name) => !covered.has(name))).toEqual([])
  })

  it('a missing one is an error that names the operator', () => {
    const g = new Graph('missing')
    const x = g.input('x', 'float32', [3])
    const y = g.node('Softsign', [x], [{ dtype: 'float32', shape: [3] }])[0]
    expect(() => gradients(g, [[y, x]], [x])).toThrow(MissingRuleError)
    expect(() => gradients(g, [[y, x]], [x])).toThrow(/Softsign/)
  })

  it('give null where nothing depends on a value', () => {
    const g = new Graph('independent')
    const x = g.input('x', 'float32', [3])
    const z = g.input('z', 'float32', [3])
    expect(gradients(g, [[op.exp(g, x), x]], [z])).toEqual([null])
  })
})

/** The table of differentiation rules: one entry per operator of onnx/ops.ts that a gradient may pass through. */
import type { Dim, Graph, Node, Shape, Value } from '../onnx/graph'
import { GraphError } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule, RuleContext, RuleTable } from './gradients'

/** Sums a gradient over the axes along which its operand was broadcast. */
export function unbroadcast(g: Graph, gradient: Value, shape: Shape): Value {
  const extra = gradient.shape.length - shape.length
  const axes: number[] = []
  gradient.shape.forEach((d, i) => {
    if (i < extra || (shape[i - extra] === 1 && d !== 1)) axes.push(i)
  })
  const summed = axes.length ? op.reduceSum(g, gradient, axes, true) : gradient
  return extra ? op.reshape(g, summed, shape) : summed
}

const first = (c: RuleContext): Value => c.cotangents[0]!
const inputs = (c: RuleContext): readonly Value[] => c.step.inputs as readonly Value[]

/** Rule of an element-wise operator from its cotangent to each operand's, before summing over broadcast axes. */
function elementwise(partials: readonly ((c: RuleContext, dy: Value) => Value)[]): Rule {
  return (c) => partials.map((p, i) => (c.needs[i] ? unbroadcast(c.g, p(c, first(c)), inputs(c)[i].shape) : null))
}

const attribute = (n: Node, name: string): number => {
  const a = n.attributes[name]
  if (!a || (a.kind !== 'int' && a.kind !== 'float')) throw new GraphError(n.op, `attribute ${name} is missing`)
  return a.value
}

const asNode = (c: RuleContext): Node => c.step as Node

/** c = op(a) op(b) with transposition flags, for matrices and stacks of matrices. */
const matrixProduct: Rule = (c) => {
  const n = asNode(c)
  const [a, b] = inputs(c)
  const flag = (name: string) => n.op === 'FusedMatMul' && attribute(n, name) === 1
  const transA = flag('transA')
  const transB = flag('transB')
  const alpha = n.op === 'FusedMatMul' ? attribute(n, 'alpha') : 1
  const dy = first(c)
  const da = () =>
    transA
      ? op.fusedMatmul(c.g, b, dy, { transA: transB, transB: true, alpha })
      : op.fusedMatmul(c.g, dy, b, { transB: !transB, alpha })
  const db = () =>
    transB
      ? op.fusedMatmul(c.g, dy, a, { transA: true, transB: transA, alpha })
      : op.fusedMatmul(c.g, a, dy, { transA: !transA, alpha })
  return [c.needs[0] ? unbroadcast(c.g, da(), a.shape) : null, c.needs[1] ? unbroadcast(c.g, db(), b.shape) : null]
}

const gemm: Rule = (c) => {
  const n = asNode(c)
  const [a, b] = inputs(c)
  const transA = attribute(n, 'transA') === 1
  const transB = attribute(n, 'transB') === 1
  const dy = first(c)
  const da = () =>
    transA ? op.gemm(c.g, b, dy, null, { transA: transB, transB: true }) : op.gemm(c.g, dy, b, null, { transB: !transB })
  const db = () =>
    transB ? op.gemm(c.g, dy, a, null, { transA: true, transB: transA }) : op.gemm(c.g, a, dy, null, { transA: !transA })
  return [
    c.needs[0] ? da() : null,
    c.needs[1] ? db() : null,
    ...(c.step.inputs.length > 2 ? [c.needs[2] ? op.reduceSum(c.g, dy, [0], false) : null] : []),
  ]
}

/** Rules of operators that only move elements: the gradient is moved back. */
const moves: RuleTable = {
  Identity: (c) => [first(c)],
  Cast: (c) => [op.cast(c.g, first(c), inputs(c)[0].dtype)],
  Reshape: (c) => [op.reshape(c.g, first(c), inputs(c)[0].shape), null],
  Unsqueeze: (c) => [op.reshape(c.g, first(c), inputs(c)[0].shape), null],
  Squeeze: (c) => [op.reshape(c.g, first(c), inputs(c)[0].shape), null],
  Expand: (c) => [unbroadcast(c.g, first(c), inputs(c)[0].shape), null],
  Transpose: (c) => {
    const perm = asNode(c).attributes.perm
    if (perm?.kind !== 'ints') throw new GraphError('Transpose', 'attribute perm is missing')
    const inverse = perm.value.map((_, i) => perm.value.indexOf(i))
    return [op.transpose(c.g, first(c), inverse)]
  },
  Concat: (c) => {
    const axis = attribute(asNode(c), 'axis')
    const parts = op.split(c.g, first(c), inputs(c).map((v) => v.shape[axis]), axis)
    return parts.map((p, i) => (c.needs[i] ? p : null))
  },
  Split: (c) => {
    const axis = attribute(asNode(c), 'axis')
    const parts = c.step.outputs.map((o, i) => c.cotangents[i] ?? op.zeros(c.g, o.dtype, o.shape))
    return [op.concat(c.g, parts, axis), null]
  },
  Slice: (c) => {
    const x = inputs(c)[0]
    const y = c.step.outputs[0]
    const axis = x.shape.findIndex((d, i) => d !== y.shape[i])
    if (axis < 0) return [first(c), null, null, null]
    const g = c.g
    // zeros in front of and behind the slice, their extents computed at run time
    const [, start, end] = inputs(c)
    const pad = (extent: Value, symbol: Dim) => {
      g.bindDim(symbol as string, extent)
      return op.zeros(g, x.dtype, x.shape.map((d, i) => (i === axis ? symbol : d)))
    }
    const before = pad(start, g.freshName('before'))
    const rest = g.node('Sub', [g.dim(x.shape[axis]), end], [{ dtype: 'int64', shape: [1] }])[0]
    const after = pad(rest, g.freshName('after'))
    const joined = op.concat(g, [before, first(c), after], axis)
    return [{ ...joined, shape: x.shape }, null, null, null]
  },
  Gather: (c) => {
    const [x, indices] = inputs(c)
    const flat = op.reshape(c.g, indices, [...flatten(indices.shape), 1])
    const dy = op.reshape(c.g, first(c), [...flatten(indices.shape), ...x.shape.slice(1)])
    return [op.scatterRows(c.g, op.zeros(c.g, x.dtype, x.shape), flat, dy, 'add'), null]
  },
  /** Rows replaced by the updates no longer depend on x. */
  ScatterND: (c) => {
    const [x, indices, updates] = inputs(c)
    const dy = first(c)
    if ('reduction' in asNode(c).attributes) {
      return [dy, null, c.needs[2] ? op.gather(c.g, dy, op.squeeze(c.g, indices, [1])) : null]
    }
    const dx = () => op.scatterRows(c.g, dy, indices, op.zeros(c.g, x.dtype, updates.shape), 'replace')
    return [c.needs[0] ? dx() : null, null, c.needs[2] ? op.gather(c.g, dy, op.squeeze(c.g, indices, [1])) : null]
  },
  Where: (c) => {
    const [condition, a, b] = inputs(c)
    const dy = first(c)
    const zero = op.cast(c.g, c.g.floats([0], []), dy.dtype)
    return [
      null,
      c.needs[1] ? unbroadcast(c.g, op.where(c.g, condition, dy, zero), a.shape) : null,
      c.needs[2] ? unbroadcast(c.g, op.where(c.g, condition, zero, dy), b.shape) : null,
    ]
  },
}

function flatten(shape: Shape): [Dim] {
  return [shape.reduce<Dim>((a, b) => (a === 1 ? b : b === 1 ? a : typeof a === 'number' && typeof b === 'number' ? a * b : `${a}*${b}`), 1)]
}

const arithmetic: RuleTable = {
  Add: elementwise([(_, dy) => dy, (_, dy) => dy]),
  Sub: elementwise([(_, dy) => dy, (c, dy) => op.neg(c.g, dy)]),
  Mul: elementwise([(c, dy) => op.mul(c.g, dy, inputs(c)[1]), (c, dy) => op.mul(c.g, dy, inputs(c)[0])]),
  Div: elementwise([
    (c, dy) => op.div(c.g, dy, inputs(c)[1]),
    (c, dy) => op.neg(c.g, op.div(c.g, op.mul(c.g, dy, c.step.outputs[0]), inputs(c)[1])),
  ]),
  Neg: elementwise([(c, dy) => op.neg(c.g, dy)]),
  Exp: elementwise([(c, dy) => op.mul(c.g, dy, c.step.outputs[0])]),
  Log: elementwise([(c, dy) => op.div(c.g, dy, inputs(c)[0])]),
  Sqrt: elementwise([(c, dy) => op.div(c.g, op.scale(c.g, dy, 0.5), c.step.outputs[0])]),
  Tanh: elementwise([
    (c, dy) => {
      const y = c.step.outputs[0]
      return op.sub(c.g, dy, op.mul(c.g, dy, op.mul(c.g, y, y)))
    },
  ]),
  Sigmoid: elementwise([
    (c, dy) => {
      const t = op.mul(c.g, dy, c.step.outputs[0])
      return op.sub(c.g, t, op.mul(c.g, t, c.step.outputs[0]))
    },
  ]),
  Softplus: elementwise([(c, dy) => op.mul(c.g, dy, op.sigmoid(c.g, inputs(c)[0]))]),
  Erf: elementwise([
    (c, dy) => {
      const x = inputs(c)[0]
      return op.mul(c.g, op.scale(c.g, dy, 2 / Math.sqrt(Math.PI)), op.exp(c.g, op.neg(c.g, op.mul(c.g, x, x))))
    },
  ]),
  /** x * sigmoid(x) (alpha is 1 throughout). */
  QuickGelu: elementwise([
    (c, dy) => {
      const s = op.sigmoid(c.g, inputs(c)[0])
      const y = c.step.outputs[0]
      return op.mul(c.g, dy, op.sub(c.g, op.add(c.g, s, y), op.mul(c.g, s, y)))
    },
  ]),
  Cos: elementwise([(c, dy) => op.neg(c.g, op.mul(c.g, dy, op.sin(c.g, inputs(c)[0])))]),
  Sin: elementwise([(c, dy) => op.mul(c.g, dy, op.cos(c.g, inputs(c)[0]))]),
}

const reductions: RuleTable = {
  ReduceSum: (c) => [op.expand(c.g, first(c), inputs(c)[0].shape), null],
  ReduceMean: (c) => {
    const g = c.g
    const x = inputs(c)[0]
    const spread = op.expand(g, first(c), x.shape)
    const count = (shape: Shape) => shape.map((d) => g.dim(d)).reduce((a, b) => g.node('Mul', [a, b], [{ dtype: 'int64', shape: [1] }])[0])
    const ratio = op.div(g, op.cast(g, count(c.step.outputs[0].shape), x.dtype), op.cast(g, count(x.shape), x.dtype))
    return [op.mul(g, spread, ratio), null]
  },
  Softmax: (c) => {
    const g = c.g
    const y = c.step.outputs[0]
    const t = op.mul(g, first(c), y)
    return [op.sub(g, t, op.mul(g, y, op.reduceSum(g, t, [attribute(asNode(c), 'axis')], true)))]
  },
}

export const operatorRules: RuleTable = {
  ...moves,
  ...arithmetic,
  ...reductions,
  MatMul: matrixProduct,
  FusedMatMul: matrixProduct,
  Gemm: gemm,
}

/** Cross-entropy and cosine distance, per row, with closed-form gradients. All float32. */
import type { Composite, Graph, Value } from '../onnx/graph'
import { int } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'

/** -log softmax(logits)[id] per row: logits [C, V], ids int64 [C] -> [C]. */
export function crossEntropy(g: Graph, logits: Value, ids: Value): Value {
  return g.composite('CrossEntropy', [logits, ids], () => {
    const logProbabilities = g.node('LogSoftmax', [logits], [{ dtype: logits.dtype, shape: logits.shape }], { axis: int(-1) })[0]
    const column = op.unsqueeze(g, ids, [1])
    const loss = op.neg(g, op.squeeze(g, op.gatherElements(g, logProbabilities, column), [1]))
    return { outputs: [loss], saved: { logProbabilities, column } }
  })[0]
}

export const crossEntropyRule: Rule = (c) => {
  const { saved } = c.step as Composite
  return [scaledSoftmaxError(c.g, saved.logProbabilities, saved.column, op.unsqueeze(c.g, c.cotangents[0]!, [1])), null]
}

/** (softmax - one-hot) * factor: log-probabilities [C, V], column int64 [C, 1], factor [C, 1]. */
function scaledSoftmaxError(g: Graph, logProbabilities: Value, column: Value, factor: Value): Value {
  const weighted = op.mul(g, op.exp(g, logProbabilities), factor)
  return g.node(
    'ScatterElements',
    [weighted, column, op.neg(g, factor)],
    [{ dtype: weighted.dtype, shape: weighted.shape }],
    { axis: int(1), reduction: { kind: 'string', value: 'add' } },
  )[0]
}

/** Rows of a chunk: logits of so many places are in memory at once. */
const CHUNK = 256

/**
 * Cross-entropy through a frozen output head: hidden [C, H], head [V, H], ids int64 [C] -> [C]. Works in chunks of rows;
 * the gradient to the hidden states is made with the loss (logits are never kept), none goes to the head; without
 * `gradient` only the loss is made.
 */
export function headCrossEntropy(g: Graph, hidden: Value, head: Value, ids: Value, gradient = true): Value {
  const [count, width] = hidden.shape
  return g.composite('HeadCrossEntropy', [hidden, ids], () => {
    const size = g.dim(count)
    const trips = op.squeeze(g, intDiv(g, intAdd(g, size, CHUNK - 1), CHUNK), [0])
    const { states } = op.loop(
      g,
      trips,
      g.bool(true),
      [
        { value: op.zeros(g, 'float32', [0]), shape: ['c'] },
        ...(gradient ? [{ value: op.zeros(g, 'float32', [0, width]), shape: ['c', width] }] : []),
      ],
      (inner, iteration, [losses, errors]) => {
        const start = op.reshape(inner, inner.node('Mul', [iteration, inner.ints([CHUNK], [])], [{ dtype: 'int64', shape: [] }])[0], [1])
        const wanted = intAdd(inner, start, CHUNK)
        const end = inner.node('Min', [wanted, size], [{ dtype: 'int64', shape: [1] }])[0]
        const part = (x: Value) =>
          inner.node('Slice', [x, start, end, inner.ints([0])], [{ dtype: x.dtype, shape: ['n', ...x.shape.slice(1)] }])[0]
        const rows = op.cast(inner, part(hidden), head.dtype)
        const column = op.unsqueeze(inner, part(ids), [1])
        const logits = op.cast(inner, op.gemm(inner, rows, head, null, { transB: true }), 'float32')
        const logProbabilities = inner.node('LogSoftmax', [logits], [{ dtype: 'float32', shape: logits.shape }], { axis: int(-1) })[0]
        const loss = op.neg(inner, op.squeeze(inner, op.gatherElements(inner, logProbabilities, column), [1]))
        const backward = () => {
          const factor = op.addScalar(inner, op.scale(inner, op.cast(inner, column, 'float32'), 0), 1)
          const error = scaledSoftmaxError(inner, logProbabilities, column, factor)
          return op.cast(inner, op.gemm(inner, op.cast(inner, error, head.dtype), head, null), 'float32')
        }
        return {
          condition: inner.bool(true),
          states: [op.concat(inner, [losses, loss], 0), ...(gradient ? [op.concat(inner, [errors, backward()], 0)] : [])],
          stacked: [],
        }
      },
      'trips',
      [[count], ...(gradient ? [[count, width]] : [])],
    )
    return gradient ? { outputs: [states[0]], saved: { error: states[1] } } : { outputs: [states[0]] }
  })[0]
}

const intAdd = (g: Graph, v: Value, n: number) => g.node('Add', [v, g.ints([n])], [{ dtype: 'int64', shape: [1] }])[0]
const intDiv = (g: Graph, v: Value, n: number) => g.node('Div', [v, g.ints([n])], [{ dtype: 'int64', shape: [1] }])[0]

export const headCrossEntropyRule: Rule = (c) => {
  const { saved } = c.step as Composite
  return [op.mul(c.g, saved.error, op.unsqueeze(c.g, c.cotangents[0]!, [1])), null]
}

/**
 * 1 - cosine similarity per row: [n, H] against [n, H] -> [n]. Norms are at least 1e-8 each, as in torch.
 * The gradient goes to the prediction only.
 */
export function cosineDistance(g: Graph, prediction: Value, target: Value): Value {
  return g.composite('CosineDistance', [prediction, target], () => {
    const floor = g.floats([1e-8], [])
    const norm = (x: Value) => {
      const root = op.sqrt(g, op.reduceSum(g, op.mul(g, x, x), [-1]))
      return g.node('Max', [root, floor], [{ dtype: 'float32', shape: root.shape }])[0]
    }
    const length = norm(prediction)
    const unit = op.div(g, prediction, length)
    const unitTarget = op.div(g, target, norm(target))
    const cosine = op.reduceSum(g, op.mul(g, unit, unitTarget), [-1])
    const distance = op.sub(g, g.floats([1], []), op.squeeze(g, cosine, [cosine.shape.length - 1]))
    return { outputs: [distance], saved: { unit, unitTarget, cosine, norm: length } }
  })[0]
}

/** d(1 - cos)/dp = (cos u - t) / |p|, u and t the unit vectors. */
export const cosineDistanceRule: Rule = (c) => {
  const g = c.g
  const { saved, inputs } = c.step as Composite
  const dy = op.unsqueeze(g, c.cotangents[0]!, [inputs[0]!.shape.length - 1])
  const direction = op.sub(g, op.mul(g, saved.unit, saved.cosine), saved.unitTarget)
  return [op.mul(g, direction, op.div(g, dy, saved.norm)), null]
}


/**
 * RMSNorm and LayerNorm over the last axis, with closed-form gradients. Statistics are float32.
 * Shapes: x [.., H], weight and bias [H].
 */
import type { Composite, Graph, Value } from '../onnx/graph'
import { float, int } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'

/** weight * x / sqrt(mean(x^2) + epsilon). */
export function rmsNorm(g: Graph, x: Value, weight: Value, epsilon: number): Value {
  return g.composite('RMSNorm', [x, weight], () => {
    const [y, inverse] = g.node(
      'SimplifiedLayerNormalization',
      [x, weight],
      [
        { dtype: x.dtype, shape: x.shape },
        { dtype: 'float32', shape: [...x.shape.slice(0, -1), 1] },
      ],
      { axis: int(-1), epsilon: float(epsilon), stash_type: int(1) },
    )
    return { outputs: [y], saved: { inverse } }
  })[0]
}

export const rmsNormRule: Rule = (c) => {
  const g = c.g
  const { inputs, saved } = c.step as Composite
  const [x, weight] = inputs as readonly Value[]
  const dy = c.cotangents[0]!
  const normalised = op.mul(g, x, saved.inverse)
  return [c.needs[0] ? toInput() : null, c.needs[1] ? sumRows(g, op.mul(g, dy, normalised)) : null]

  // dx = (w dy - n mean(w dy n)) / rms, n the normalised input
  function toInput(): Value {
    const t = op.mul(g, dy, weight)
    const mean = op.reduceMean(g, op.mul(g, t, normalised), [-1])
    return op.mul(g, op.sub(g, t, op.mul(g, normalised, mean)), saved.inverse)
  }
}

/** weight * (x - mean) / sqrt(variance + epsilon) + bias; biased variance, as torch. */
export function layerNorm(g: Graph, x: Value, weight: Value, bias: Value, epsilon = 1e-5): Value {
  return g.composite('LayerNorm', [x, weight, bias], () => {
    const statistics = { dtype: 'float32' as const, shape: [...x.shape.slice(0, -1), 1] }
    const [y, mean, inverse] = g.node(
      'LayerNormalization',
      [x, weight, bias],
      [{ dtype: x.dtype, shape: x.shape }, statistics, statistics],
      { axis: int(-1), epsilon: float(epsilon), stash_type: int(1) },
    )
    return { outputs: [y], saved: { mean, inverse } }
  })[0]
}

export const layerNormRule: Rule = (c) => {
  const g = c.g
  const { inputs, saved } = c.step as Composite
  const [x, weight] = inputs as readonly Value[]
  const dy = c.cotangents[0]!
  const normalised = op.mul(g, op.sub(g, x, saved.mean), saved.inverse)
  return [
    c.needs[0] ? toInput() : null,
    c.needs[1] ? sumRows(g, op.mul(g, dy, normalised)) : null,
    c.needs[2] ? sumRows(g, dy) : null,
  ]

  // dx = (w dy - mean(w dy) - n mean(w dy n)) / deviation
  function toInput(): Value {
    const t = op.mul(g, dy, weight)
    const centred = op.sub(g, t, op.reduceMean(g, t, [-1]))
    const mean = op.reduceMean(g, op.mul(g, t, normalised), [-1])
    return op.mul(g, op.sub(g, centred, op.mul(g, normalised, mean)), saved.inverse)
  }
}

/** Sum over all axes but the last. */
function sumRows(g: Graph, x: Value): Value {
  return op.reduceSum(g, x, x.shape.slice(0, -1).map((_, i) => i), false)
}

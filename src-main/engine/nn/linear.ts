/** Linear layers with weights as they lie in checkpoint files, [out, in]; matrix products in the compute type. */
import type { Composite, Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'

/** x [N, in] -> [N, out]. The weight's dtype is the compute type; input and result keep x's dtype. */
export function linear(g: Graph, x: Value, weight: Value, bias: Value | null = null): Value {
  const y = op.gemm(g, op.cast(g, x, weight.dtype), weight, bias && op.cast(g, bias, weight.dtype), { transB: true })
  return op.cast(g, y, x.dtype)
}

/** A linear layer whose result is there already: nothing is multiplied, and gradients reach x. */
export function knownLinear(g: Graph, x: Value, weight: Value, result: Value): Value {
  return g.composite('KnownLinear', [x], () => ({ outputs: [result] }), { weight })[0]
}

export const knownLinearRule: Rule = (c) => {
  const weight = (c.step as Composite).settings.weight as Value
  const dy = c.cotangents[0]!
  return [op.cast(c.g, op.gemm(c.g, op.cast(c.g, dy, weight.dtype), weight, null, {}), dy.dtype)]
}

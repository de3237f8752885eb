/** Linear layers with weights as they lie in checkpoint files, [out, in]; matrix products in the compute type. */
import type { Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'

/** x [N, in] -> [N, out]. The weight's dtype is the compute type; input and result keep x's dtype. */
export function linear(g: Graph, x: Value, weight: Value, bias: Value | null = null): Value {
  const y = op.gemm(g, op.cast(g, x, weight.dtype), weight, bias && op.cast(g, bias, weight.dtype), { transB: true })
  return op.cast(g, y, x.dtype)
}

/** Choosing the next token inside the graph: greedy, or temperature, top-k, top-p, min-p and one uniform draw per row. */
import type { Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'

export interface SamplerInputs {
  /** bool scalar: false = greedy. */
  readonly sample: Value
  /** float32 scalars. */
  readonly temperature: Value
  readonly topP: Value
  readonly minP: Value
  /** int64 [1]; the vocabulary size where it is off. */
  readonly topK: Value
}

/** logits [B, V], uniforms in [0, 1) [B, 1] -> token ids int64 [B]. */
export function chooseToken(g: Graph, logits: Value, inputs: SamplerInputs, uniforms: Value): Value {
  const [batch] = logits.shape
  return op.ifElse(
    g,
    inputs.sample,
    (b) => {
      const cooled = op.div(b, logits, inputs.temperature)
      const [values, indices] = op.topK(b, cooled, inputs.topK, 'k')
      const probabilities = op.softmax(b, values)
      const before = op.sub(b, op.cumSum(b, probabilities), probabilities)
      // the smallest set that reaches top-p: a token stays while the ones before it have not; the first always does
      const first = op.slice(b, probabilities, 1, 0, 1)
      const inTopP = op.less(b, before, inputs.topP)
      const inMinP = op.greaterOrEqual(b, probabilities, op.mul(b, first, inputs.minP))
      const kept = op.where(b, op.and(b, inTopP, inMinP), probabilities, b.floats([0], []))
      const cumulative = op.cumSum(b, kept)
      const total = op.reduceMax(b, cumulative, [1])
      // first place whose cumulative probability exceeds the draw
      const passed = op.lessOrEqual(b, cumulative, op.mul(b, uniforms, total))
      const count = op.reduceSum(b, op.cast(b, passed, 'int64'), [1])
      const last = op.addScalarInt(b, op.reduceSum(b, op.cast(b, op.greater(b, kept, b.floats([0], [])), 'int64'), [1]), -1)
      const place = b.node('Min', [count, last], [{ dtype: 'int64', shape: [batch, 1] }])[0]
      return [op.squeeze(b, op.gatherElements(b, indices, place), [1])]
    },
    (b) => [op.argMax(b, logits)],
    [[batch]],
  )[0]
}

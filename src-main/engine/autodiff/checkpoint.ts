/**
 * Block checkpointing: only the block's inputs are kept; the backward pass computes the block again and differentiates
 * the copy. The copy's inputs depend on the incoming cotangent, or the runtime would compute it early and save nothing.
 */
import type { Composite, Graph, Value } from '../onnx/graph'
import type { Rule } from './gradients'

type Build = (inputs: readonly Value[]) => readonly Value[]

/** Runs `build` on the inputs as one step whose inside is recomputed in the backward pass. */
export function checkpoint(g: Graph, inputs: readonly Value[], build: Build): readonly Value[] {
  return g.composite('Checkpoint', inputs, () => ({ outputs: build(inputs) }), { build })
}

export const checkpointRule: Rule = (c) => {
  const step = c.step as Composite
  const g = c.g
  const gate = c.cotangents.find((x) => x !== null)!
  const inputs = step.inputs as readonly Value[]
  const from = g.steps.length
  const gated = inputs.map((v, i) => (c.needs[i] ? after(g, v, gate) : v))
  const outputs = (step.settings.build as Build)(gated)
  const seeds = outputs.flatMap((o, i) => (c.cotangents[i] ? [[o, c.cotangents[i]] as const] : []))
  const wanted = gated.filter((_, i) => c.needs[i])
  const results = c.gradients(seeds, wanted, from)
  let k = 0
  return inputs.map((_, i) => (c.needs[i] ? results[k++] : null))
}

/** The same value, but not available before `gate` is. Costs nothing: a reshape to its own shape, read off both. */
function after(g: Graph, x: Value, gate: Value): Value {
  const own = g.shapeVector(x.shape)
  const shapeOf = (v: Value) => g.node('Shape', [v], [{ dtype: 'int64', shape: [v.shape.length] }])[0]
  const nothing = g.node('Sub', [shapeOf(gate), shapeOf(gate)], [{ dtype: 'int64', shape: [gate.shape.length] }])[0]
  const zero = g.node('ReduceSum', [nothing, g.ints([0])], [{ dtype: 'int64', shape: [1] }], { keepdims: { kind: 'int', value: 1 } })[0]
  const target = g.node('Add', [own, zero], [{ dtype: 'int64', shape: own.shape }])[0]
  return g.node('Reshape', [x, target], [{ dtype: x.dtype, shape: x.shape }])[0]
}

/** Activations of MLPs and links, each one kernel forward, with closed-form gradients. */
import type { Composite, Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'

/** silu(gate) * up, both [N, I]. */
export function gatedSilu(g: Graph, gate: Value, up: Value): Value {
  return g.composite('GatedSilu', [gate, up], () => {
    const activated = op.silu(g, gate)
    return { outputs: [op.mul(g, activated, up)], saved: { activated } }
  })[0]
}

export const gatedSiluRule: Rule = (c) => {
  const g = c.g
  const { inputs, saved } = c.step as Composite
  const [gate, up] = inputs as readonly Value[]
  const dy = c.cotangents[0]!
  const toGate = () => {
    const s = op.sigmoid(g, gate)
    const slope = op.sub(g, op.add(g, s, saved.activated), op.mul(g, s, saved.activated))
    return op.mul(g, op.mul(g, dy, up), slope)
  }
  return [c.needs[0] ? toGate() : null, c.needs[1] ? op.mul(g, dy, saved.activated) : null]
}

/** gelu(gate) * up with the tanh form of gelu, both [N, I]. */
export function gatedGelu(g: Graph, gate: Value, up: Value): Value {
  return g.composite('GatedGelu', [gate, up], () => {
    const activated = g.node('FastGelu', [gate], [{ dtype: gate.dtype, shape: gate.shape }], {}, op.MICROSOFT)[0]
    return { outputs: [op.mul(g, activated, up)], saved: { activated } }
  })[0]
}

/**
 * y = x (1 + tanh u) / 2 = x s with s = sigmoid(2u), u = c (x + 0.044715 x^3), c = sqrt(2 / pi);
 * dy/dx = s + 2u' (y - y s), 2u' = 2c + 6c 0.044715 x^2.
 */
export const gatedGeluRule: Rule = (c) => {
  const g = c.g
  const { inputs, saved } = c.step as Composite
  const [gate, up] = inputs as readonly Value[]
  const dy = c.cotangents[0]!
  const linear = 2 * Math.sqrt(2 / Math.PI)
  const cubic = linear * 0.044715
  const toGate = () => {
    const squared = op.mul(g, gate, gate)
    const s = op.sigmoid(g, op.mul(g, gate, op.addScalar(g, op.scale(g, squared, cubic), linear)))
    const steepness = op.addScalar(g, op.scale(g, squared, 3 * cubic), linear)
    const rest = op.sub(g, saved.activated, op.mul(g, saved.activated, s))
    return op.mul(g, op.mul(g, dy, up), op.add(g, s, op.mul(g, steepness, rest)))
  }
  return [c.needs[0] ? toGate() : null, c.needs[1] ? op.mul(g, dy, saved.activated) : null]
}

/** x * Phi(x), the exact (erf) form. */
export function gelu(g: Graph, x: Value): Value {
  return g.composite('Gelu', [x], () => ({
    outputs: g.node('Gelu', [x], [{ dtype: x.dtype, shape: x.shape }], {}, op.MICROSOFT),
  }))[0]
}

export const geluRule: Rule = (c) => {
  const g = c.g
  const x = c.step.inputs[0]!
  // Phi(x) + x phi(x)
  const cumulative = op.scale(g, op.addScalar(g, op.erf(g, op.scale(g, x, Math.SQRT1_2)), 1), 0.5)
  const density = op.scale(g, op.exp(g, op.scale(g, op.mul(g, x, x), -0.5)), 1 / Math.sqrt(2 * Math.PI))
  return [op.mul(g, c.cotangents[0]!, op.add(g, cumulative, op.mul(g, x, density)))]
}

/**
 * The gated delta rule: each head keeps a state S [dk, dv] in which a place overwrites what its key finds there:
 *
 *   S <- exp(g) S;  S <- S + b k (v - S^T k)^T;  o = scale S^T q      (g: log decay, b: step size)
 *
 * Three forms that give the same numbers up to rounding: the fused kernel (CPU, float32), whole chunks as matrix products
 * (`delta-chunks.ts`: other devices, and every gradient), and one place spelled out. All float32.
 */
import { float, GraphError, int, string, type Composite, type Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'
import { chunkedDelta, chunkedDeltaGradients, type DeltaHeads, type DeltaRows } from './delta-chunks'

export interface DeltaLayout extends DeltaHeads {
  /** float32: the fused kernel, which runs on the CPU alone. */
  readonly compute: 'float32' | 'float16' | 'bfloat16'
}

/**
 * Output [B, T, heads*dv] and the state after the rows; state [B, heads, dk, dv]. A place with log decay and step size 0
 * leaves the state as it is. Gradients of the output reach the rows, not the state.
 */
export function deltaRule(g: Graph, rows: DeltaRows, state: Value, h: DeltaLayout): { output: Value; state: Value } {
  const scale = 1 / Math.sqrt(h.keyDim)
  const form = h.compute === 'float32' ? fusedDelta : rows.v.shape[1] === 1 ? onePlace : chunkedDelta
  const { q, k, v, decay, beta } = rows
  const [output, after] = g.composite(
    'DeltaRule',
    [q, k, v, decay, beta],
    () => {
      const made = form(g, rows, state, h, scale)
      return { outputs: [made.output, made.state] }
    },
    { rows, state, h, scale },
  )
  return { output, state: after }
}

type Form = (g: Graph, rows: DeltaRows, state: Value, h: DeltaHeads, scale: number) => { output: Value; state: Value }

const fusedDelta: Form = (g, { q, k, v, decay, beta }, state, h, scale) => {
  const [output, after] = g.node(
    'LinearAttention',
    [q, k, v, state, decay, beta],
    [
      { dtype: 'float32', shape: v.shape },
      { dtype: 'float32', shape: state.shape },
    ],
    {
      q_num_heads: int(h.keyHeads),
      kv_num_heads: int(h.valueHeads),
      update_rule: string('gated_delta'),
      scale: float(scale),
    },
    op.MICROSOFT,
  )
  return { output, state: after }
}

const onePlace: Form = (g, { q, k, v, decay, beta }, state, h, scale) => {
  const [batch] = v.shape
  const group = h.valueHeads / h.keyHeads
  const byKey = (x: Value) => op.reshape(g, x, [batch, h.keyHeads, 1, 1, h.keyDim])
  const byValue = (x: Value, width: number) => op.reshape(g, x, [batch, h.keyHeads, group, 1, width])
  const key = byKey(k)
  const decayed = op.mul(
    g,
    op.reshape(g, state, [batch, h.keyHeads, group, h.keyDim, h.valueDim]),
    op.exp(g, byValue(decay, 1)),
  )
  const found = op.matmul(g, key, decayed)
  const write = op.mul(g, op.sub(g, byValue(v, h.valueDim), found), byValue(beta, 1))
  const after = op.add(g, decayed, op.mul(g, op.reshape(g, k, [batch, h.keyHeads, 1, h.keyDim, 1]), write))
  const output = op.fusedMatmul(g, byKey(q), after, { alpha: scale })
  return { output: op.reshape(g, output, v.shape), state: op.reshape(g, after, state.shape) }
}

export const deltaRuleRule: Rule = (c) => {
  const { rows, state, h, scale } = (c.step as Composite).settings as {
    rows: DeltaRows
    state: Value
    h: DeltaLayout
    scale: number
  }
  const [dOutput, dState] = c.cotangents
  if (!dOutput || dState) throw new GraphError('DeltaRule', 'only its output has a gradient')
  const d = chunkedDeltaGradients(c.g, rows, state, dOutput, h, scale)
  return [d.q, d.k, d.v, d.decay, d.beta]
}

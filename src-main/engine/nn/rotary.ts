/**
 * Rotary position embedding, half-split layout (pairs i and i + d/2), with its gradient: the rotation by minus the angle.
 * The angles are computed once per pass and shared by all layers.
 */
import { int, type Composite, type Dim, type Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'

export interface RotaryTable {
  /** [B*T, d/2], d what is rotated of a head. */
  readonly cos: Value
  readonly sin: Value
  readonly minusSin: Value
  /** int64 [B, T]: row of the table for each place, 0 .. B*T-1. */
  readonly rows: Value
}

/**
 * Angles for positions int64 [B, T]: position * inverse frequency, in float32.
 * `attentionScale` multiplies cosine and sine (rope types that scale attention).
 */
export function rotaryTable(g: Graph, positions: Value, inverseFrequencies: readonly number[], flat: Dim, attentionScale = 1): RotaryTable {
  const column = op.reshape(g, op.cast(g, positions, 'float32'), [flat, 1])
  const angles = op.mul(g, column, g.floats(inverseFrequencies, [1, inverseFrequencies.length]))
  const factor = (v: Value) => (attentionScale === 1 ? v : op.scale(g, v, attentionScale))
  const cos = factor(op.cos(g, angles))
  const sin = factor(op.sin(g, angles))
  return { cos, sin, minusSin: op.neg(g, sin), rows: op.reshape(g, op.range(g, flat), positions.shape) }
}

/** x [B, T, heads * d], rotated by the angle of its place; a table narrower than d/2 leaves the rest of each head as it is. */
export function rotary(g: Graph, x: Value, table: RotaryTable, heads: number): Value {
  return g.composite('Rotary', [x], () => ({ outputs: [rotate(g, x, table, table.sin, heads)] }), { table, heads })[0]
}

function rotate(g: Graph, x: Value, table: RotaryTable, sin: Value, heads: number): Value {
  const width = 2 * (sin.shape[1] as number)
  const partial = width < (x.shape[2] as number) / heads
  return g.node(
    'RotaryEmbedding',
    [x, table.rows, table.cos, sin],
    [{ dtype: x.dtype, shape: x.shape }],
    { interleaved: int(0), num_heads: int(heads), ...(partial ? { rotary_embedding_dim: int(width) } : {}) },
    op.MICROSOFT,
  )[0]
}

export const rotaryRule: Rule = (c) => {
  const { table, heads } = (c.step as Composite).settings as { table: RotaryTable; heads: number }
  return [rotate(c.g, c.cotangents[0]!, table, table.minusSin, heads)]
}

/**
 * The mixing of a gated delta-net layer: causal convolution of the projected queries, keys and values, keys and queries
 * brought to length 1, and the gated delta rule. What a row carries on is a short past of the convolution and a state per
 * head; padding at the end of a row touches neither.
 */
import type { Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { causalConv, convPast } from './causal-conv'
import { deltaRule, type DeltaLayout } from './delta-rule'
import { rmsNorm } from './norms'

export interface DeltaNetLayout extends DeltaLayout {
  /** Places that the convolution looks at, itself included. */
  readonly taps: number
}

/** Queries, keys and values side by side, as convolved. */
export function deltaChannels(h: Omit<DeltaNetLayout, 'compute'>): number {
  return 2 * h.keyHeads * h.keyDim + h.valueHeads * h.valueDim
}

export interface DeltaInputs {
  /** [B, T, channels] */
  readonly qkv: Value
  /** Log decay (at most 0) and step size (0 to 1), [B, T, valueHeads]. */
  readonly decay: Value
  readonly beta: Value
  /** [channels, 1, taps] */
  readonly filter: Value
}

/** What rows carry on from their last place. */
export interface DeltaMemory {
  /** [B, taps-1, channels] */
  readonly conv: Value
  /** [B, valueHeads, dk, dv] */
  readonly state: Value
}

/** Which places of the rows are text: float32 [B, T, 1], 0 for padding; and where each row's last inputs lie (`lastInputs`). */
export interface DeltaPlaces {
  readonly valid: Value
  readonly ends: Value
}

export function emptyMemory(g: Graph, batch: Value['shape'][number], h: DeltaNetLayout): DeltaMemory {
  return {
    conv: op.zeros(g, 'float32', [batch, h.taps - 1, deltaChannels(h)]),
    state: op.zeros(g, 'float32', [batch, h.valueHeads, h.keyDim, h.valueDim]),
  }
}

/** Mixture [B, T, valueHeads*dv] and what the rows carry on. `places` is null where no row is padded. */
export function deltaNet(
  g: Graph,
  x: DeltaInputs,
  past: DeltaMemory,
  places: DeltaPlaces | null,
  h: DeltaNetLayout,
): { output: Value; memory: () => DeltaMemory } {
  const keyWidth = h.keyHeads * h.keyDim
  const convolved = causalConv(g, x.qkv, x.filter, past.conv)
  const [q, k, v] = op.split(g, convolved, [keyWidth, keyWidth, h.valueHeads * h.valueDim], 2)
  const counted = (value: Value) => (places ? op.mul(g, value, places.valid) : value)
  const rows = { q: unitHeads(g, q, h), k: unitHeads(g, k, h), v, decay: counted(x.decay), beta: counted(x.beta) }
  const { output, state } = deltaRule(g, rows, past.state, h)
  return { output, memory: () => ({ conv: convPast(g, x.qkv, past.conv, places && places.ends), state }) }
}

/** Each head of [B, T, heads*d] divided by its length: x / sqrt(sum(x^2) + 1e-6). */
function unitHeads(g: Graph, x: Value, h: DeltaLayout): Value {
  const [batch, time] = x.shape
  const split = op.reshape(g, x, [batch, time, h.keyHeads, h.keyDim])
  const weight = g.floats(new Array<number>(h.keyDim).fill(1 / Math.sqrt(h.keyDim)))
  return op.reshape(g, rmsNorm(g, split, weight, 1e-6 / h.keyDim), x.shape)
}

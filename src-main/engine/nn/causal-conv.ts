/**
 * Depthwise causal convolution along the places of a row, then SiLU: y_t = silu(sum_j w_j x_(t-K+1+j)), with what came
 * before the row as a short past. Layouts: rows [B, T, C], past [B, K-1, C], filter [C, 1, K] as checkpoints hold it.
 */
import { dimProduct, dimSum, int, ints, type Composite, type Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'

/** x [B, T, C] -> [B, T, C]. Gradients reach x and the filter, not the past. */
export function causalConv(g: Graph, x: Value, filter: Value, past: Value): Value {
  return g.composite(
    'CausalConv',
    [x, filter],
    () => ({ outputs: [x.shape[1] === 1 ? onePlace(g, x, filter, past) : allPlaces(g, x, filter, past)] }),
    { past },
  )[0]
}

function allPlaces(g: Graph, x: Value, filter: Value, past: Value): Value {
  return op.silu(g, swap(g, convolve(g, swap(g, op.concat(g, [past, x], 1)), filter, x)))
}

/** As `allPlaces` for a single place: a weighted sum of K rows. */
function onePlace(g: Graph, x: Value, filter: Value, past: Value): Value {
  const [channels, , taps] = filter.shape
  const rows = op.transpose(g, op.reshape(g, filter, [channels, taps]), [1, 0])
  return op.silu(g, op.reduceSum(g, op.mul(g, op.concat(g, [past, x], 1), rows), [1]))
}

/**
 * Past of the place after each row: its last K-1 inputs, [B, K-1, C]. `ends`: int64 [B*(K-1)], where they lie among the
 * past's and the row's rows (`lastInputs`); null where rows are not padded.
 */
export function convPast(g: Graph, x: Value, past: Value, ends: Value | null): Value {
  const [batch, kept, channels] = past.shape
  const joined = op.concat(g, [past, x], 1)
  if (!ends) return op.slice(g, { ...joined, shape: [batch, dimSum(x.shape[1], kept), channels] }, 1, x.shape[1], kept)
  const rows = op.reshape(g, { ...joined, shape: [batch, 'joined', channels] }, [dimProduct(batch, 'joined'), channels])
  return op.reshape(g, op.gather(g, rows, ends), [batch, kept, channels])
}

/** Where each row's last `count` inputs lie in [B, count + T, C] taken as rows: lengths int64 [B] -> int64 [B*count]. */
export function lastInputs(g: Graph, lengths: Value, time: Value, count: number): Value {
  const [batch] = lengths.shape
  const row = op.mul(g, op.range(g, batch), op.addScalarInt(g, time, count))
  const first = op.unsqueeze(g, op.add(g, row, lengths), [1])
  return op.reshape(g, op.add(g, first, g.ints(Array.from({ length: count }, (_, i) => i))), [dimProduct(batch, count)])
}

const swap = (g: Graph, x: Value) => op.transpose(g, x, [0, 2, 1])

/** Each channel with its own filter: [B, C, T + K - 1] -> [B, C, T], or [B, C, T] with `after` zeros behind it. */
function convolve(g: Graph, x: Value, filter: Value, like: Value, after = 0): Value {
  const [batch, time, channels] = like.shape
  return g.node('Conv', [x, filter], [{ dtype: x.dtype, shape: [batch, channels, time] }], {
    group: int(channels as number),
    pads: ints([0, after]),
  })[0]
}

/** The convolution is made again: keeping it would hold two more arrays of the projection's size per layer. */
export const causalConvRule: Rule = (c) => {
  const g = c.g
  const { inputs, settings } = c.step as Composite
  const [x, filter] = inputs as readonly Value[]
  const taps = filter.shape[2] as number
  const before = swap(g, op.concat(g, [settings.past as Value, x], 1))
  const sums = convolve(g, before, filter, x)
  const s = op.sigmoid(g, sums)
  const slope = op.mul(g, s, op.addScalar(g, op.sub(g, sums, op.mul(g, sums, s)), 1))
  const error = op.mul(g, swap(g, c.cotangents[0]!), slope)
  return [c.needs[0] ? toRows() : null, c.needs[1] ? toFilter() : null]

  // dx_t = sum_j w_j e_(t+K-1-j): the filter from its end
  function toRows(): Value {
    const order = g.ints(Array.from({ length: taps }, (_, j) => taps - 1 - j))
    const turned = op.transpose(g, op.gather(g, op.transpose(g, filter, [2, 1, 0]), order), [2, 1, 0])
    return swap(g, convolve(g, error, turned, x, taps - 1))
  }

  function toFilter(): Value {
    const shifted = { ...before, shape: [x.shape[0], x.shape[2], dimSum(x.shape[1], taps - 1)] }
    const perTap = Array.from({ length: taps }, (_, j) =>
      op.reduceSum(g, op.mul(g, error, op.slice(g, shifted, 2, j, x.shape[1])), [0, 2]),
    )
    return op.reshape(g, op.concat(g, perTap, 2), filter.shape)
  }
}

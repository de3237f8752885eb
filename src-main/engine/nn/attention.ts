/**
 * Causal attention with grouped heads, in three forms that give the same numbers up to rounding:
 * `promptAttention` (nothing cached, one fused kernel), `maskedAttention` (any cache, any mask, differentiable) and
 * `stepAttention` (one new place per row inside a loop, with a constant and a growing cache).
 *
 * Layouts: queries [B, T, heads*d], keys and values [B, T, kvHeads*d], caches [B, kvHeads, S, d]. `scale` multiplies the
 * scores. Masks are added to the scores: 0 where a key is seen, MASKED where not.
 */
import { float, int, type Composite, type Dim, type Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { Rule } from '../autodiff/gradients'

/** Large enough to vanish in a softmax, finite so that a fully masked row stays a number. */
export const MASKED = -1e9

export interface HeadLayout {
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly scale: number
  /** Type in which the fused kernel computes; its inputs and results are cast where they differ. */
  readonly compute: 'float32' | 'float16' | 'bfloat16'
}

/** [B, T, kvHeads*d] -> [B, kvHeads, T, d]. */
export function splitHeads(g: Graph, x: Value, h: HeadLayout): Value {
  const [batch, time] = x.shape
  return op.transpose(g, op.reshape(g, x, [batch, time, h.kvHeads, h.headDim]), [0, 2, 1, 3])
}

/**
 * Attention over [past, new]: past keys [B, kvHeads, P, d] (may be absent), mask [B, 1, T, P+T] or [B, 1, 1, ..].
 * Gradients reach q, k and v, not the past. Result [B, T, heads*d], and the joined caches.
 */
export function maskedAttention(
  g: Graph,
  q: Value,
  k: Value,
  v: Value,
  past: { readonly k: Value; readonly v: Value } | null,
  mask: Value,
  h: HeadLayout,
): { output: Value; keys: Value; values: Value } {
  const [output, keys, values] = g.composite(
    'Attention',
    [q, k, v],
    () => {
      const newKeys = splitHeads(g, k, h)
      const newValues = splitHeads(g, v, h)
      const keys = past ? op.concat(g, [past.k, newKeys], 2) : newKeys
      const values = past ? op.concat(g, [past.v, newValues], 2) : newValues
      const queries = groupQueries(g, q, h)
      const probabilities = softmaxScores(g, queries, keys, mask, q.shape[1], h)
      const mixed = op.matmul(g, probabilities, values)
      return { outputs: [ungroupQueries(g, mixed, q.shape, h), keys, values], saved: { queries, keys, values, probabilities, mixed } }
    },
    { layout: h, pastLength: past ? past.k.shape[2] : 0 },
  )
  return { output, keys, values }
}

/** Queries of one kv head together: [B, T, heads*d] -> [B, kvHeads, group*T, d]. */
function groupQueries(g: Graph, q: Value, h: HeadLayout): Value {
  const [batch, time] = q.shape
  const group = h.heads / h.kvHeads
  if (time === 1) return op.reshape(g, q, [batch, h.kvHeads, group, h.headDim])
  const split = op.reshape(g, q, [batch, time, h.heads, h.headDim])
  const moved = op.transpose(g, split, [0, 2, 1, 3])
  return op.reshape(g, moved, [batch, h.kvHeads, grouped(group, time), h.headDim])
}

function ungroupQueries(g: Graph, x: Value, shape: readonly Dim[], h: HeadLayout): Value {
  const [batch, time, width] = shape
  if (time === 1) return op.reshape(g, x, [batch, 1, width])
  const split = op.reshape(g, x, [batch, h.heads, time, h.headDim])
  return op.reshape(g, op.transpose(g, split, [0, 2, 1, 3]), [batch, time, width])
}

const grouped = (group: number, time: Dim): Dim => (group === 1 ? time : typeof time === 'number' ? group * time : `${time}*${group}`)

/** softmax(scale q k^T + mask) -> [B, kvHeads, group*T, S]. */
function softmaxScores(g: Graph, queries: Value, keys: Value, mask: Value, time: Dim, h: HeadLayout): Value {
  const [batch, , rows] = queries.shape
  const scores = op.fusedMatmul(g, queries, keys, { transB: true, alpha: h.scale })
  const length = keys.shape[2]
  // the mask is the same for the heads of a group
  const spread = op.reshape(g, scores, [batch, h.heads, time, length])
  const probabilities = op.softmax(g, op.add(g, spread, mask))
  return op.reshape(g, probabilities, [batch, h.kvHeads, rows, length])
}

export const attentionRule: Rule = (c) => {
  const g = c.g
  const { inputs, saved, settings } = c.step as Composite
  const h = settings.layout as HeadLayout
  const pastLength = settings.pastLength as Dim
  const [q, k] = inputs as readonly Value[]
  const { queries, keys, values, probabilities, mixed } = saved
  const dy = c.cotangents[0]
  if (!dy) return [null, null, null]
  const dMixed = groupQueries(g, dy, h)
  // dS = P * (dO V^T - rowsum(dO * O))
  const inner = op.reduceSum(g, op.mul(g, dMixed, mixed), [-1])
  const dScores = op.mul(g, probabilities, op.sub(g, op.fusedMatmul(g, dMixed, values, { transB: true }), inner))
  const newColumns = (x: Value) => (pastLength === 0 ? x : op.slice(g, x, 3, pastLength, k.shape[1]))
  const toTokens = (x: Value) => op.reshape(g, op.transpose(g, x, [0, 2, 1, 3]), k.shape)
  const dq = () => {
    const d = op.matmul(g, dScores, keys)
    return ungroupQueries(g, op.scale(g, d, h.scale), q.shape, h)
  }
  const dk = () => toTokens(op.fusedMatmul(g, newColumns(dScores), queries, { transA: true, alpha: h.scale }))
  const dv = () => toTokens(op.fusedMatmul(g, newColumns(probabilities), dMixed, { transA: true }))
  return [c.needs[0] ? dq() : null, c.needs[1] ? dk() : null, c.needs[2] ? dv() : null]
}

/**
 * Causal attention within the rows themselves (nothing cached), `window` > 0 limiting how far back a place sees.
 * Rows are padded on the right, so causality alone keeps padding out. lengthsMinusOne: int32 [B]; total: int32 scalar.
 */
export function promptAttention(
  g: Graph,
  q: Value,
  k: Value,
  v: Value,
  lengthsMinusOne: Value,
  total: Value,
  window: number,
  h: HeadLayout,
): { output: Value; keys: Value; values: Value } {
  const [batch, time] = q.shape
  const cache = { dtype: h.compute, shape: [batch, h.kvHeads, time, h.headDim] }
  const [output, keys, values] = g.node(
    'GroupQueryAttention',
    [op.cast(g, q, h.compute), op.cast(g, k, h.compute), op.cast(g, v, h.compute), null, null, lengthsMinusOne, total],
    [{ dtype: h.compute, shape: q.shape }, cache, cache],
    {
      num_heads: int(h.heads),
      kv_num_heads: int(h.kvHeads),
      scale: float(h.scale),
      ...(window > 0 ? { local_window_size: int(window) } : {}),
    },
    op.MICROSOFT,
  )
  return { output: op.cast(g, output, q.dtype), keys: op.cast(g, keys, q.dtype), values: op.cast(g, values, q.dtype) }
}

/** A cache as `stepAttention` takes it: [B, kvHeads, 1, S, d], so that one product serves one query row. */
export function stepCache(g: Graph, cache: Value): Value {
  return op.unsqueeze(g, cache, [2])
}

/**
 * One new place per row inside a loop: `fixed` caches [B, kvHeads, 1, S, d] stay where they are, `grown` ones of the same
 * layout take the new key and value at their end. mask [B, 1, 1, 1, S] covers the fixed part; grownMask [B, 1, 1, 1, t+1]
 * the grown one where a window needs it. Result [B, 1, heads*d] and the grown caches.
 */
export function stepAttention(
  g: Graph,
  q: Value,
  k: Value,
  v: Value,
  fixed: { readonly k: Value; readonly v: Value },
  grown: { readonly k: Value; readonly v: Value },
  mask: Value,
  grownMask: Value | null,
  h: HeadLayout,
): { output: Value; keys: Value; values: Value } {
  const [batch] = q.shape
  const group = h.heads / h.kvHeads
  const place = (x: Value) => op.reshape(g, x, [batch, h.kvHeads, 1, 1, h.headDim])
  const keys = op.concat(g, [grown.k, place(k)], 3)
  const values = op.concat(g, [grown.v, place(v)], 3)
  // one row per product: the runtime's one-row kernel reads the cache in place
  // (which takes no factor: the queries carry the scale)
  const queries = op.reshape(g, op.scale(g, q, h.scale), [batch, h.kvHeads, group, 1, h.headDim])
  const before = op.add(g, op.fusedMatmul(g, queries, fixed.k, { transB: true }), mask)
  const own = op.fusedMatmul(g, queries, keys, { transB: true })
  const scores = op.concat(g, [before, grownMask ? op.add(g, own, grownMask) : own], 4)
  const [p, r] = op.split(g, op.softmax(g, scores), [fixed.k.shape[3], keys.shape[3]], 4)
  const mixed = op.add(g, op.matmul(g, p, fixed.v), op.matmul(g, r, values))
  return { output: op.reshape(g, mixed, [batch, 1, h.heads * h.headDim]), keys, values }
}

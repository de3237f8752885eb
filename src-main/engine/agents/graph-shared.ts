/** What all passes of an agent's graph share: embedded rows, positions, masks, and the caches in their parts. */
import { type DecoderConfig, attentionLayers } from '../models/config'
import { type LayerRope, type Pass, embedTokens, embeddingMatrix, headLayout, layerRope } from '../models/decoder'
import type { WeightSource } from '../models/weights'
import { type HeadLayout, MASKED } from '../nn/attention'
import { lastInputs } from '../nn/causal-conv'
import type { DeltaPlaces } from '../nn/delta-net'
import { Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import type { AgentGraphOptions, Inputs, Task } from './graph-io'

/** What all tasks share, computed in the outermost graph. */
export interface Shared {
  readonly root: Graph
  readonly config: DecoderConfig
  readonly weights: WeightSource
  readonly options: AgentGraphOptions
  readonly inputs: Inputs
  readonly layout: HeadLayout
  /** Embeddings with the latents laid over them, [N, H]. */
  readonly x: Value
  readonly rope: LayerRope
  /** int64 [B, S]: position of each key, far away where there is none. */
  readonly keyPositions: Value
  /** Mask [B, 1, T, S] by window size (0 = all). */
  readonly masks: ReadonlyMap<number, Value>
  /** For recurrent layers: what is text, and where it ends. */
  readonly deltaPlaces: DeltaPlaces | null
  readonly isTask: (which: Task) => Value
}

export function prepare(
  root: Graph,
  config: DecoderConfig,
  weights: WeightSource,
  options: AgentGraphOptions,
  inputs: Inputs,
): Shared {
  const g = root
  // every weight becomes known to the outermost graph before the branches that use it
  embeddingMatrix(config, weights)
  const flatIds = op.reshape(g, inputs.ids, ['B*T'])
  const tokens = embedTokens(g, config, weights, flatIds)
  const x = op.scatterRows(g, tokens, op.unsqueeze(g, inputs.latentPlaces, [1]), inputs.latents, 'replace')

  const column = (v: Value) => op.unsqueeze(g, v, [1])
  const time = op.unsqueeze(g, op.range(g, 'T'), [0])
  const positions = op.add(g, column(inputs.pastLengths), time)
  const far = g.ints([1 << 30], [])
  const pastPlaces = op.unsqueeze(g, op.range(g, 'P'), [0])
  const pastKeys = op.where(g, op.less(g, pastPlaces, column(inputs.pastLengths)), pastPlaces, far)
  const newKeys = op.where(g, op.less(g, time, column(inputs.lengths)), positions, far)
  const keyPositions = op.concat(g, [pastKeys, newKeys], 1)

  const queryColumn = op.unsqueeze(g, positions, [1, 3])
  const keyRow = op.unsqueeze(g, keyPositions, [1, 2])
  const masks = new Map<number, Value>()
  for (const window of new Set(config.windows)) masks.set(window, additiveMask(g, queryColumn, keyRow, window))

  return {
    root,
    config,
    weights,
    options,
    inputs,
    layout: headLayout(config, options.compute),
    x,
    rope: layerRope(g, config, positions, 'B*T'),
    keyPositions,
    masks,
    deltaPlaces: config.delta && {
      valid: op.cast(g, op.unsqueeze(g, op.less(g, time, column(inputs.lengths)), [2]), 'float32'),
      ends: lastInputs(g, inputs.lengths, g.dim('T'), config.delta.taps - 1),
    },
    isTask: (which) => op.equal(g, inputs.task, g.ints([which], [])),
  }
}

/** 0 where a query sees a key (not after it, within the window), MASKED elsewhere. */
export function additiveMask(g: Graph, queries: Value, keys: Value, window: number): Value {
  const notAfter = op.lessOrEqual(g, keys, queries)
  const near = window > 0 ? op.and(g, notAfter, op.less(g, queries, op.addScalarInt(g, keys, window))) : notAfter
  return op.where(g, near, g.floats([0], []), g.floats([MASKED], []))
}

export function passOver(g: Graph, s: Shared): Omit<Pass, 'attend' | 'recur'> {
  return { g, batch: 'B', time: 'T', rope: s.rope }
}

interface Cache {
  readonly k: Value
  readonly v: Value
}

/** [2*layers that attend, B, kvHeads, P, d] -> keys and values by layer. */
export function splitPast(g: Graph, s: Shared): ReadonlyMap<number, Cache> {
  const layers = attentionLayers(s.config)
  if (!layers.length) return new Map()
  const parts = op
    .split(g, s.inputs.past, new Array<number>(2 * layers.length).fill(1), 0)
    .map((v) => op.squeeze(g, v, [0]))
  return byLayer(layers, parts)
}

/** Keys and values in turn, of these layers in order. */
export function byLayer(layers: readonly number[], values: readonly Value[]): ReadonlyMap<number, Cache> {
  return new Map(layers.map((layer, i) => [layer, { k: values[2 * i], v: values[2 * i + 1] }]))
}

/** Keys and values in turn -> [2*layers that attend, B, kvHeads, S, d]. */
export function joinCaches(g: Graph, c: DecoderConfig, caches: readonly Value[]): Value {
  if (!caches.length) return op.zeros(g, 'float32', [0, 'B', c.kvHeads, 'P+T', c.headDim])
  return op.concat(
    g,
    caches.map((v) => op.unsqueeze(g, v, [0])),
    0,
  )
}

export function logitsOf(g: Graph, hidden: Value, head: Value): Value {
  return op.cast(g, op.gemm(g, op.cast(g, hidden, head.dtype), head, null, { transB: true }), 'float32')
}

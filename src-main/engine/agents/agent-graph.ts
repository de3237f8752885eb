/**
 * One graph for everything an agent does, so that one session holds its weights once. Inputs are the same for every
 * task; `If` runs only what the task needs:
 *
 *   rows (ids with latents laid over them, cached past)
 *   ├─ tasks VJP, RECORD: forward and reverse with kept activations -> states, losses, gradient; where passes are kept,
 *   │  in two parts, the results of the linear layers (which RECORD gives out and a later VJP takes in) and the rest
 *   └─ else: forward (fused kernel without a past, masked attention with one)
 *        ├─ STATES / LOGITS / LOSS at chosen places
 *        ├─ PREFIX: the caches and memories
 *        └─ ROLLOUT / GENERATE: the state at each row's end, from which a loop goes on
 *
 * The loop stands in the outermost graph (with no steps for the other tasks): the runtime rearranges weights only of a graph
 * directly below the one that holds them.
 *
 * B rows, T places each (padded on the right), P places of cached past, S = P + T, K places asked for (the targets' for a
 * loss, each row's last for rollout and text), C targets, M latent vectors, H hidden size, V vocabulary. Layers that attend
 * have keys and values in the cache, recurrent ones a memory of fixed size per row.
 */
import {
  decoderBlocks,
  deltaLayout,
  embedTokens,
  embeddingMatrix,
  finalNorm,
  headLayout,
  headMatrix,
  layerRope,
  type LayerRope,
  type Pass,
} from '../models/decoder'
import { attentionLayers, type DecoderConfig } from '../models/config'
import type { ComputeType, WeightSource } from '../models/weights'
import { MASKED, maskedAttention, promptAttention, stepAttention, stepCache, type HeadLayout } from '../nn/attention'
import { lastInputs } from '../nn/causal-conv'
import { deltaNet, emptyMemory, type DeltaMemory, type DeltaPlaces } from '../nn/delta-net'
import { anyInnerLink, type InnerLinkParts } from '../nn/link-layers'
import { innerParameterShapes } from '../nn/link-types'
import { knownLinear } from '../nn/linear'
import { headCrossEntropy } from '../nn/losses'
import { gradients } from '../nn/rules'
import { Graph, type Dim, type Shape, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { joinMemory, memoryByLayer, memoryShapes, memorySize, recurrentLayers, splitMemory } from './delta-memory'
import { joinProducts, splitProducts } from './kept-products'
import { chooseToken, type SamplerInputs } from './sampler'

export const task = { states: 0, logits: 1, loss: 2, vjp: 3, prefix: 4, rollout: 5, generate: 6, record: 7 } as const
export type Task = (typeof task)[keyof typeof task]

export interface AgentGraphOptions {
  readonly compute: ComputeType
  /** Recompute blocks in the backward pass. */
  readonly checkpointBlocks?: boolean
  /** Let a pass keep the results of its linear layers for a later gradient. */
  readonly keepsPasses?: boolean
  /** The weights as the steps of rollouts and generation read them, for the graph around their loop; default: as everything else does. */
  readonly stepWeights?: (around: Graph) => WeightSource
}

/** Parameters of the fullest inner link, which every link fills as far as it has them. */
export const linkInputs = (width: number) => innerParameterShapes('ln_res_adapter', width)

/** What one pass makes; a task makes some of it. */
const passOutputs = ['states', 'losses', 'gradient', 'logits', 'cache', 'memory', 'ends'] as const
type PassOutput = (typeof passOutputs)[number]

export const outputNames = [
  ...passOutputs,
  'rollout_states',
  'rollout_fed',
  'tokens',
  'grown_cache',
  'grown_memory',
] as const

interface Inputs {
  readonly task: Value
  readonly ids: Value
  readonly latents: Value
  readonly latentPlaces: Value
  readonly lengths: Value
  readonly pastLengths: Value
  readonly past: Value
  /** One row for each of the batch, or one for all. */
  readonly memory: Value
  readonly places: Value
  readonly cotangents: Value
  /** Flat results of the linear layers, in parts; none where passes are not kept. */
  readonly kept: readonly Value[]
  readonly targetPlaces: Value
  readonly targetIds: Value
  readonly targetWeights: Value
  readonly steps: Value
  readonly uniforms: Value
  readonly stopIds: Value
  readonly sampler: SamplerInputs
  readonly link: Readonly<Record<string, Value>>
  readonly linkParts: InnerLinkParts
}

/** What all tasks share, computed in the outermost graph. */
interface Shared {
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

/** Weight gathers have to come from `root`: the weights are its initializers. */
export function buildAgentGraph(root: Graph, config: DecoderConfig, weights: WeightSource, options: AgentGraphOptions): void {
  const inputs = declareInputs(root, config, options)
  const shared = prepare(root, config, weights, options, inputs)
  const empty = (g: Graph, shapes: readonly Shape[]) => shapes.map((shape) => op.zeros(g, 'float32', shape))
  const parts: Shape[] = inputs.kept.map(() => [0])
  const results = op.ifElse(
    root,
    options.keepsPasses ? op.or(root, shared.isTask(task.vjp), shared.isTask(task.record)) : shared.isTask(task.vjp),
    (g) => [
      ...(options.keepsPasses ? recordOrDifferentiate(g, shared) : differentiate(g, shared)),
      ...empty(g, carriedShapes(config, 0, 0)),
    ],
    (g) => {
      const [made, carried] = forward(g, shared)
      return [...made, ...empty(g, parts), ...carried]
    },
    [...passShapes(config), ...parts.map(() => ['y']), ...carriedShapes(config, 'b', 's')],
  )
  const made = results.slice(0, passOutputs.length)
  const kept = results.slice(made.length, made.length + parts.length)
  const rest = results.slice(made.length + parts.length)
  const ends = { ...made[passOutputs.indexOf('ends')], shape: ['B', config.hiddenSize] }
  const carried = carriedShapes(config, 'B', 'P+T').map((shape, i) => ({ ...rest[i], shape }))
  const stepped = autoregress(root, shared, ends, carried.slice(0, cacheSlabs(config)), carried.slice(cacheSlabs(config)))
  for (const [i, v] of [...made, ...stepped].entries()) root.output(v, outputNames[i])
  for (const [i, v] of kept.entries()) root.output(v, keptOutput(i))
}

/** Names of the parts of a kept pass. */
export const keptOutput = (part: number): string => `kept_${part}`
export const keptInput = (part: number): string => `given_${part}`

/** Keys and values of the layers that attend. */
export const cacheSlabs = (c: DecoderConfig): number => 2 * attentionLayers(c).length

/** What rows carry on from a pass: keys and values by layer, then the memories' parts by layer. */
function carriedShapes(c: DecoderConfig, rows: Dim, places: Dim): Shape[] {
  const cache: Shape = [rows, c.kvHeads, places, c.headDim]
  return [...new Array<Shape>(cacheSlabs(c)).fill(cache), ...memoryShapes(c).map(([, ...rest]) => [rows, ...rest])]
}

function passShapes(c: DecoderConfig): Shape[] {
  return [
    ['k', c.hiddenSize],
    ['c'],
    ['m', c.hiddenSize],
    ['k', c.vocabSize],
    [cacheSlabs(c), 'b', c.kvHeads, 's', c.headDim],
    ['b', memorySize(c)],
    ['b', c.hiddenSize],
  ]
}

type Made = Partial<Record<PassOutput, Value>>

/** The outputs of a pass in order, empty where the task does not make them. */
function outputsWith(g: Graph, c: DecoderConfig, made: Made): Value[] {
  const none = (shape: readonly number[]) => op.zeros(g, 'float32', shape)
  const all: Record<PassOutput, Value> = {
    states: none([0, c.hiddenSize]),
    losses: none([0]),
    gradient: none([0, c.hiddenSize]),
    logits: none([0, c.vocabSize]),
    cache: none([cacheSlabs(c), 0, c.kvHeads, 0, c.headDim]),
    memory: none([0, memorySize(c)]),
    ends: none([0, c.hiddenSize]),
    ...made,
  }
  return passOutputs.map((n) => all[n])
}

function declareInputs(root: Graph, c: DecoderConfig, options: AgentGraphOptions): Inputs {
  const h = c.hiddenSize
  const ids = root.input('ids', 'int64', ['B', 'T'])
  return {
    ids,
    lengths: root.input('lengths', 'int64', ['B']),
    latents: root.input('latents', 'float32', ['M', h]),
    latentPlaces: root.input('latent_places', 'int64', ['M']),
    past: root.input('past', 'float32', [cacheSlabs(c), 'B', c.kvHeads, 'P', c.headDim]),
    memory: root.input('past_memory', 'float32', ['R', memorySize(c)]),
    pastLengths: root.input('past_lengths', 'int64', ['B']),
    task: root.input('task', 'int64', []),
    places: root.input('places', 'int64', ['K']),
    cotangents: root.input('cotangents', 'float32', ['K', h]),
    kept: options.keepsPasses ? Array.from({ length: c.layers }, (_, i) => root.input(keptInput(i), 'float32', [`Y${i}`])) : [],
    targetPlaces: root.input('target_places', 'int64', ['C']),
    targetIds: root.input('target_ids', 'int64', ['C']),
    targetWeights: root.input('target_weights', 'float32', ['C']),
    steps: root.input('steps', 'int64', []),
    uniforms: root.input('uniforms', 'float32', ['U', 'B', 1]),
    stopIds: root.input('stop_ids', 'int64', ['X']),
    sampler: {
      sample: root.input('sample', 'bool', []),
      temperature: root.input('temperature', 'float32', []),
      topP: root.input('top_p', 'float32', []),
      minP: root.input('min_p', 'float32', []),
      topK: root.input('top_k', 'int64', [1]),
    },
    link: Object.fromEntries(linkInputs(h).map((p) => [p.name, root.input(`link.${p.name}`, 'float32', p.shape)])),
    linkParts: {
      twoLayers: root.input('link_two_layers', 'bool', []),
      residual: root.input('link_residual', 'bool', []),
      norms: root.input('link_norms', 'bool', []),
    },
  }
}

function prepare(
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
function additiveMask(g: Graph, queries: Value, keys: Value, window: number): Value {
  const notAfter = op.lessOrEqual(g, keys, queries)
  const near = window > 0 ? op.and(g, notAfter, op.less(g, queries, op.addScalarInt(g, keys, window))) : notAfter
  return op.where(g, near, g.floats([0], []), g.floats([MASKED], []))
}

// ---------------------------------------------------------------- forward and reverse

function differentiate(g: Graph, s: Shared): Value[] {
  return reverse(g, s, gradientBlocks(g, s))
}

/** The blocks in a form that can be differentiated, at the places asked for and the targets': [K+C, H]. */
function gradientBlocks(g: Graph, s: Shared, product?: Pass['product']): Value {
  const { config: c, inputs } = s
  const pasts = splitPast(g, s)
  const memories = memoryByLayer(c, splitMemory(g, c, inputs.memory))
  return decoderBlocks(
    {
      ...passOver(g, s),
      product,
      checkpointBlocks: s.options.checkpointBlocks && !product,
      attend: (i, q, k, v) => maskedAttention(g, q, k, v, pasts.get(i)!, s.masks.get(c.windows[i])!, s.layout).output,
      recur: (i, x) => deltaNet(g, x, memories.get(i)!, s.deltaPlaces, deltaLayout(c, s.options.compute)).output,
    },
    c,
    s.weights,
    s.x,
    op.concat(g, [inputs.places, inputs.targetPlaces], 0),
  )
}

/** States, losses and the gradient to the latents from what the blocks, built in this graph, gave. */
function reverse(g: Graph, s: Shared, x: Value): Value[] {
  const { config: c, inputs } = s
  const [states, hidden] = op.split(g, finalNorm(g, c, s.weights, x), ['K', 'C'], 0)
  const losses = headCrossEntropy(g, hidden, headMatrix(c, s.weights), inputs.targetIds)
  const [dx] = gradients(
    g,
    [
      [states, inputs.cotangents],
      [losses, inputs.targetWeights],
    ],
    [s.x],
  )
  const gradient = op.gather(g, dx!, inputs.latentPlaces)
  return outputsWith(g, c, { states, losses, gradient })
}

/** As `differentiate`, but the linear layers' results are computed apart from the rest, or taken from an earlier run. */
function recordOrDifferentiate(g: Graph, s: Shared): Value[] {
  const { config: c, inputs } = s
  const isNew = op.equal(g, g.dim('Y0'), g.ints([0]))
  const shapes: Shape[] = []
  const [x, ...products] = op.ifElse(
    g,
    op.squeeze(g, isNew, [0]),
    (b) => {
      const made: Value[] = []
      const x = gradientBlocks(b, s, (_x, _weight, multiply) => {
        const y = multiply()
        made.push(y)
        shapes.push(y.shape)
        return y
      })
      return [x, ...made]
    },
    (b) => [op.zeros(b, 'float32', [0, c.hiddenSize]), ...splitProducts(b, inputs.kept, shapes)],
  )
  return op.ifElse(
    g,
    s.isTask(task.record),
    (b) => [...outputsWith(b, c, { states: finalNorm(b, c, s.weights, x) }), ...joinProducts(b, products, inputs.kept.length)],
    (b) => {
      let next = 0
      const x = gradientBlocks(b, s, (x, weight) => knownLinear(b, x, weight, products[next++]))
      return [...reverse(b, s, x), ...inputs.kept.map(() => op.zeros(b, 'float32', [0]))]
    },
    [...passShapes(c), ...inputs.kept.map(() => ['y'])],
  )
}

function passOver(g: Graph, s: Shared): Omit<Pass, 'attend' | 'recur'> {
  return { g, batch: 'B', time: 'T', rope: s.rope }
}

interface Cache {
  readonly k: Value
  readonly v: Value
}

/** [2*layers that attend, B, kvHeads, P, d] -> keys and values by layer. */
function splitPast(g: Graph, s: Shared): ReadonlyMap<number, Cache> {
  const layers = attentionLayers(s.config)
  if (!layers.length) return new Map()
  const parts = op.split(g, s.inputs.past, new Array<number>(2 * layers.length).fill(1), 0).map((v) => op.squeeze(g, v, [0]))
  return byLayer(layers, parts)
}

/** Keys and values in turn, of these layers in order. */
function byLayer(layers: readonly number[], values: readonly Value[]): ReadonlyMap<number, Cache> {
  return new Map(layers.map((layer, i) => [layer, { k: values[2 * i], v: values[2 * i + 1] }]))
}

// ---------------------------------------------------------------- forward

/** The outputs of the pass, and what rows carry on from it. */
function forward(g: Graph, s: Shared): [Value[], Value[]] {
  const { config: c, inputs } = s
  const hasPast = op.greater(g, g.dim('P'), g.ints([0]))
  // the fused kernel takes head widths that are multiples of 8
  const [x, ...flat] =
    c.headDim % 8 === 0
      ? op.ifElse(
          g,
          op.squeeze(g, hasPast, [0]),
          (b) => runWithPast(b, s),
          (b) => runPrompt(b, s),
          [['K', c.hiddenSize], ...carriedShapes(c, 'B', 'P+T')],
        )
      : runWithPast(g, s)
  const caches = flat.slice(0, cacheSlabs(c))
  const memories = flat.slice(cacheSlabs(c))
  const normed = (b: Graph) => finalNorm(b, c, s.weights, x)
  const head = () => headMatrix(c, s.weights)

  const made = choose(g, s, [
    [task.states, (b) => ({ states: normed(b) })],
    [task.logits, (b) => ({ logits: logitsOf(b, normed(b), head()) })],
    [task.loss, (b) => ({ losses: headCrossEntropy(b, { ...normed(b), shape: ['C', c.hiddenSize] }, head(), inputs.targetIds, false) })],
    [task.prefix, (b) => ({ cache: joinCaches(b, c, caches), memory: joinMemory(b, memories) })],
    [task.rollout, (b) => ({ ends: normed(b) })],
  ])
  return [made, flat]
}

/** A chain of `If`s; the last entry also takes what is left (generation goes on from there as rollouts do). */
function choose(g: Graph, s: Shared, entries: readonly (readonly [Task, (b: Graph) => Made])[]): Value[] {
  const [[which, make], ...rest] = entries
  if (!rest.length) return outputsWith(g, s.config, make(g))
  return op.ifElse(
    g,
    op.equal(g, s.inputs.task, g.ints([which], [])),
    (b) => outputsWith(b, s.config, make(b)),
    (b) => choose(b, s, rest),
    passShapes(s.config),
  )
}

function logitsOf(g: Graph, hidden: Value, head: Value): Value {
  return op.cast(g, op.gemm(g, op.cast(g, hidden, head.dtype), head, null, { transB: true }), 'float32')
}

/** Attention of a forward pass over the rows: result and the caches it leaves. */
type Attend = (layer: number, q: Value, k: Value, v: Value) => { output: Value; keys: Value; values: Value }

/** All blocks, and what rows carry on: [K, H], then keys and values by layer, then the memories' parts by layer. */
function runBlocks(g: Graph, s: Shared, attend: Attend, before: (layer: number) => DeltaMemory): Value[] {
  const caches: Value[] = []
  const memories: Value[] = []
  const keeping: Pass['attend'] = (i, q, k, v) => {
    const a = attend(i, q, k, v)
    caches.push(a.keys, a.values)
    return a.output
  }
  const recur: Pass['recur'] = (i, x) => {
    const { output, memory } = deltaNet(g, x, before(i), s.deltaPlaces, deltaLayout(s.config, s.options.compute))
    const { conv, state } = memory()
    memories.push(conv, state)
    return output
  }
  const x = decoderBlocks({ ...passOver(g, s), attend: keeping, recur }, s.config, s.weights, s.x, s.inputs.places)
  return [x, ...caches, ...memories]
}

/** The first pass over rows with nothing cached: the fused causal kernel. */
function runPrompt(g: Graph, s: Shared): Value[] {
  const total = op.cast(g, op.squeeze(g, g.dim('T'), [0]), 'int32')
  const lengthsMinusOne = op.expand(g, op.cast(g, op.addScalarInt(g, g.dim('T'), -1), 'int32'), ['B'])
  const nothing = recurrentLayers(s.config).length ? emptyMemory(g, 'B', deltaLayout(s.config, s.options.compute)) : null
  return runBlocks(
    g,
    s,
    (i, q, k, v) => promptAttention(g, q, k, v, lengthsMinusOne, total, s.config.windows[i], s.layout),
    () => nothing!,
  )
}

function runWithPast(g: Graph, s: Shared): Value[] {
  const pasts = splitPast(g, s)
  const memories = memoryByLayer(s.config, splitMemory(g, s.config, s.inputs.memory))
  return runBlocks(
    g,
    s,
    (i, q, k, v) => maskedAttention(g, q, k, v, pasts.get(i)!, s.masks.get(s.config.windows[i])!, s.layout),
    (i) => memories.get(i)!,
  )
}

/** Keys and values in turn -> [2*layers that attend, B, kvHeads, S, d]. */
function joinCaches(g: Graph, c: DecoderConfig, caches: readonly Value[]): Value {
  if (!caches.length) return op.zeros(g, 'float32', [0, 'B', c.kvHeads, 'P+T', c.headDim])
  return op.concat(g, caches.map((v) => op.unsqueeze(g, v, [0])), 0)
}

// ---------------------------------------------------------------- rollout and generation

/**
 * From the state at each row's last place: choose what to feed (the inner link of the state, or the embedding of the
 * next token), run one place, repeat. The cache of the rows stays outside the loop; only what it adds is carried, and the
 * memories. `caches`: keys and values in turn, `memories`: their parts in turn. Gives the outputs after those of a pass.
 */
function autoregress(g: Graph, s: Shared, state: Value, caches: readonly Value[], memories: readonly Value[]): Value[] {
  const { config: c, inputs } = s
  const layers = attentionLayers(c)
  const h = c.hiddenSize
  const weights = s.options.stepWeights?.(g) ?? s.weights
  const rolling = s.isTask(task.rollout)
  const generating = s.isTask(task.generate)
  const nextPosition = op.add(g, inputs.pastLengths, inputs.lengths)
  const keyRow = op.unsqueeze(g, s.keyPositions, [1, 2, 3])
  const seen = op.where(g, op.less(g, keyRow, g.ints([1 << 30], [])), g.floats([0], []), g.floats([MASKED], []))

  const none = (b: Graph) => op.cast(b, op.zeros(b, 'float32', ['B']), 'bool')
  const [fed, tokens, finished] = op.ifElse(
    g,
    op.or(g, rolling, generating),
    (b) => {
      const first = advance(b, s, rolling, state, b.ints([0], []), none(b))
      return [first.fed, first.tokens, first.finished]
    },
    (b) => [op.zeros(b, 'float32', ['B', h]), op.cast(b, op.zeros(b, 'float32', ['B']), 'int64'), none(b)],
  )
  const grownShape: Shape = ['B', c.kvHeads, 1, 't', c.headDim]
  const empty = op.zeros(g, 'float32', ['B', c.kvHeads, 1, 0, c.headDim])
  const fixed = byLayer(layers, caches.map((v) => stepCache(g, v)))
  const { states, stacked } = op.loop(
    g,
    op.addScalarInt(g, inputs.steps, -1),
    anyLeft(g, finished),
    [
      { value: fed, shape: ['B', h] },
      { value: finished, shape: ['B'] },
      ...caches.map(() => ({ value: empty, shape: grownShape })),
      ...memories.map((value) => ({ value })),
    ],
    (b, iteration, [before, ended, ...carried]) => {
      const position = op.add(b, nextPosition, iteration)
      const grown = byLayer(layers, carried.slice(0, caches.length))
      const remembered = memoryByLayer(c, carried.slice(caches.length))
      const newCaches: Value[] = []
      const newMemories: Value[] = []
      const [fixedMasks, grownMasks] = stepMasks(b, s, seen, keyRow, position, nextPosition, iteration)
      const y = decoderBlocks(
        {
          g: b,
          batch: 'B',
          time: 1,
          rope: layerRope(b, c, op.unsqueeze(b, position, [1]), 'B'),
          attend: (i, q, k, v) => {
            const a = stepAttention(
              b,
              q,
              k,
              v,
              fixed.get(i)!,
              grown.get(i)!,
              fixedMasks.get(c.windows[i])!,
              grownMasks.get(c.windows[i]) ?? null,
              s.layout,
            )
            newCaches.push(a.keys, a.values)
            return a.output
          },
          recur: (i, x) => {
            const { output, memory } = deltaNet(b, x, remembered.get(i)!, null, deltaLayout(c, s.options.compute))
            const { conv, state } = memory()
            newMemories.push(conv, state)
            return output
          },
        },
        c,
        weights,
        before,
      )
      const next = finalNorm(b, c, weights, y)
      const step = advance(b, s, rolling, next, op.addScalarInt(b, iteration, 1), ended)
      return {
        condition: anyLeft(b, step.finished),
        states: [step.fed, step.finished, ...newCaches, ...newMemories],
        stacked: [next, step.fed, step.tokens],
      }
    },
    'l',
    [undefined, undefined, ...caches.map(() => grownShape), ...memories.map(() => undefined)],
  )
  const join = (start: Value, rest: Value) => {
    const head = op.unsqueeze(g, start, [0])
    return g.node('Concat', [head, rest], [{ dtype: head.dtype, shape: ['l', ...start.shape] }], { axis: { kind: 'int', value: 0 } })[0]
  }
  const grown = states.slice(2, 2 + caches.length)
  const [cache, memory] = op.ifElse(
    g,
    generating,
    (b) => {
      const joined = caches.map(
        (before, i) =>
          b.node('Concat', [before, op.squeeze(b, grown[i], [2])], [{ dtype: 'float32', shape: ['B', c.kvHeads, 's', c.headDim] }], {
            axis: { kind: 'int', value: 2 },
          })[0],
      )
      return [joinCaches(b, c, joined), joinMemory(b, states.slice(2 + caches.length))]
    },
    (b) => [op.zeros(b, 'float32', [cacheSlabs(c), 0, c.kvHeads, 0, c.headDim]), op.zeros(b, 'float32', [0, memorySize(c)])],
    [
      [cacheSlabs(c), 'b', c.kvHeads, 's', c.headDim],
      ['b', memorySize(c)],
    ],
  )
  return [join(state, stacked[0]), join(fed, stacked[1]), join(tokens, stacked[2]), cache, memory]
}

/** Masks of the fixed cache [B, 1, 1, 1, S] and, with a window, of the grown one [B, 1, 1, 1, t+1], by window size. */
function stepMasks(
  g: Graph,
  s: Shared,
  seen: Value,
  keyRow: Value,
  position: Value,
  nextPosition: Value,
  iteration: Value,
): [ReadonlyMap<number, Value>, ReadonlyMap<number, Value>] {
  const fixed = new Map<number, Value>()
  const grown = new Map<number, Value>()
  for (const window of s.masks.keys()) {
    if (window === 0) {
      fixed.set(0, seen)
      continue
    }
    fixed.set(window, additiveMask(g, op.unsqueeze(g, position, [1, 2, 3, 4]), keyRow, window))
    const count = op.reshape(g, op.addScalarInt(g, iteration, 1), [1])
    g.bindDim('t+1', count)
    const own = op.add(g, op.unsqueeze(g, nextPosition, [1]), op.unsqueeze(g, op.range(g, 't+1'), [0]))
    grown.set(window, additiveMask(g, op.unsqueeze(g, position, [1, 2, 3, 4]), op.unsqueeze(g, own, [1, 2, 3]), window))
  }
  return [fixed, grown]
}

/** State [B, H] -> what is fed next [B, H], the token it stands for, and which rows have ended. */
function advance(g: Graph, s: Shared, rolling: Value, state: Value, index: Value, finished: Value): { fed: Value; tokens: Value; finished: Value } {
  const { config: c, inputs } = s
  const [fed, tokens, ended] = op.ifElse(
    g,
    rolling,
    (b) => {
      const fed = anyInnerLink(b, inputs.linkParts, inputs.link, state)
      return [fed, op.cast(b, op.zeros(b, 'float32', ['B']), 'int64'), op.or(b, finished, finished)]
    },
    (b) => {
      const draw = op.reshape(b, op.gather(b, inputs.uniforms, index), ['B', 1])
      const token = chooseToken(b, logitsOf(b, state, headMatrix(c, s.weights)), inputs.sampler, draw)
      const isStop = op.equal(b, op.unsqueeze(b, token, [1]), op.unsqueeze(b, inputs.stopIds, [0]))
      const hits = op.reduceSum(b, op.cast(b, isStop, 'int64'), [1], false)
      const stopped = op.or(b, finished, op.greater(b, hits, b.ints([0], [])))
      return [embedTokens(b, c, s.weights, token), token, stopped]
    },
    [['B', c.hiddenSize], ['B'], ['B']],
  )
  return { fed, tokens, finished: ended }
}

function anyLeft(g: Graph, finished: Value): Value {
  const left = op.reduceSum(g, op.cast(g, op.not(g, finished), 'int64'), [0], false)
  return op.greater(g, left, g.ints([0], []))
}

/** The forward pass of an agent's graph: the blocks over the rows, and what each task takes from it. */
import { type Pass, decoderBlocks, deltaLayout, finalNorm, headMatrix } from '../models/decoder'
import { maskedAttention, promptAttention } from '../nn/attention'
import { type DeltaMemory, deltaNet, emptyMemory } from '../nn/delta-net'
import { headCrossEntropy } from '../nn/losses'
import { Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { joinMemory, memoryByLayer, recurrentLayers, splitMemory } from './delta-memory'
import { type Made, type Task, cacheSlabs, carriedShapes, outputsWith, passShapes, task } from './graph-io'
import { type Shared, joinCaches, logitsOf, passOver, splitPast } from './graph-shared'

/** The outputs of the pass, and what rows carry on from it. */
export function forward(g: Graph, s: Shared): [Value[], Value[]] {
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
    [
      task.loss,
      (b) => ({
        losses: headCrossEntropy(b, { ...normed(b), shape: ['C', c.hiddenSize] }, head(), inputs.targetIds, false),
      }),
    ],
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
    s.isTask(which),
    (b) => outputsWith(b, s.config, make(b)),
    (b) => choose(b, s, rest),
    passShapes(s.config),
  )
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
  const nothing = recurrentLayers(s.config).length
    ? emptyMemory(g, 'B', deltaLayout(s.config, s.options.compute))
    : null
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

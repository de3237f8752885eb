/** Rollout and generation in an agent's graph: a loop of single places from the end of the rows. */
import { attentionLayers } from '../models/config'
import { decoderBlocks, deltaLayout, embedTokens, finalNorm, headMatrix, layerRope } from '../models/decoder'
import { MASKED, stepAttention, stepCache } from '../nn/attention'
import { deltaNet } from '../nn/delta-net'
import { anyInnerLink } from '../nn/link-layers'
import { Graph, type Shape, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { joinMemory, memoryByLayer, memorySize } from './delta-memory'
import { cacheSlabs, task } from './graph-io'
import { type Shared, additiveMask, byLayer, joinCaches, logitsOf } from './graph-shared'
import { chooseToken } from './sampler'

/**
 * From the state at each row's last place: choose what to feed (the inner link of the state, or the embedding of the
 * next token), run one place, repeat. The cache of the rows stays outside the loop; only what it adds is carried, and the
 * memories. `caches`: keys and values in turn, `memories`: their parts in turn. Gives the outputs after those of a pass.
 */
export function autoregress(
  g: Graph,
  s: Shared,
  state: Value,
  caches: readonly Value[],
  memories: readonly Value[],
): Value[] {
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
  const fixed = byLayer(
    layers,
    caches.map((v) => stepCache(g, v)),
  )
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
    return g.node('Concat', [head, rest], [{ dtype: head.dtype, shape: ['l', ...start.shape] }], {
      axis: { kind: 'int', value: 0 },
    })[0]
  }
  const grown = states.slice(2, 2 + caches.length)
  const [cache, memory] = op.ifElse(
    g,
    generating,
    (b) => {
      const joined = caches.map(
        (before, i) =>
          b.node(
            'Concat',
            [before, op.squeeze(b, grown[i], [2])],
            [{ dtype: 'float32', shape: ['B', c.kvHeads, 's', c.headDim] }],
            {
              axis: { kind: 'int', value: 2 },
            },
          )[0],
      )
      return [joinCaches(b, c, joined), joinMemory(b, states.slice(2 + caches.length))]
    },
    (b) => [
      op.zeros(b, 'float32', [cacheSlabs(c), 0, c.kvHeads, 0, c.headDim]),
      op.zeros(b, 'float32', [0, memorySize(c)]),
    ],
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
function advance(
  g: Graph,
  s: Shared,
  rolling: Value,
  state: Value,
  index: Value,
  finished: Value,
): { fed: Value; tokens: Value; finished: Value } {
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

/** The passes of an agent's graph that can be differentiated: in one, or with the results of the linear layers kept in between. */
import { type Pass, decoderBlocks, deltaLayout, finalNorm, headMatrix } from '../models/decoder'
import { maskedAttention } from '../nn/attention'
import { deltaNet } from '../nn/delta-net'
import { knownLinear } from '../nn/linear'
import { headCrossEntropy } from '../nn/losses'
import { gradients } from '../nn/rules'
import { Graph, type Shape, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { memoryByLayer, splitMemory } from './delta-memory'
import { outputsWith, passShapes, task } from './graph-io'
import { type Shared, passOver, splitPast } from './graph-shared'
import { joinProducts, splitProducts } from './kept-products'

export function differentiate(g: Graph, s: Shared): Value[] {
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
export function recordOrDifferentiate(g: Graph, s: Shared): Value[] {
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
    (b) => [
      ...outputsWith(b, c, { states: finalNorm(b, c, s.weights, x) }),
      ...joinProducts(b, products, inputs.kept.length),
    ],
    (b) => {
      let next = 0
      const x = gradientBlocks(b, s, (x, weight) => knownLinear(b, x, weight, products[next++]))
      return [...reverse(b, s, x), ...inputs.kept.map(() => op.zeros(b, 'float32', [0]))]
    },
    [...passShapes(c), ...inputs.kept.map(() => ['y'])],
  )
}

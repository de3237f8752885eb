/**
 * Full-weight training of a small model: one graph that reads tokens and all weights, and gives the mean cross-entropy
 * of chosen places and its gradient with respect to every weight.
 */
import { embedTokens, decoderBlocks, finalNorm, headLayout, headMatrix, layerRope, recurFromStart } from '../engine/models/decoder'
import type { DecoderConfig } from '../engine/models/config'
import { InputWeights } from '../engine/models/weights'
import { MASKED, maskedAttention } from '../engine/nn/attention'
import { crossEntropy } from '../engine/nn/losses'
import { gradients } from '../engine/nn/rules'
import { Graph, type Value } from '../engine/onnx/graph'
import * as op from '../engine/onnx/ops'
import { EngineSession } from '../engine/onnx/session'

/** Rows of equal length, B of T tokens; each place of `predictions` predicts a token. */
export interface TrainingBatch {
  readonly ids: readonly (readonly number[])[]
  /** The last so many tokens of each row are predicted, each from the place before it. */
  readonly targetLength: number
}

export interface WeightGradients {
  /** Mean cross-entropy over all predicted tokens, in nats. */
  readonly loss: number
  /** By weight name, shaped as the weight. */
  readonly gradients: ReadonlyMap<string, Float32Array>
}

export class FullWeightGraph {
  private constructor(
    private readonly session: EngineSession,
    private readonly shapes: ReadonlyMap<string, readonly number[]>,
  ) {}

  /** Opens a session; whoever opens it disposes it. */
  static async open(config: DecoderConfig, threads: number): Promise<FullWeightGraph> {
    const { graph, weights } = fullWeightGraph(config)
    const shapes = new Map([...weights.inputs].map(([name, v]) => [name, v.shape as number[]]))
    return new FullWeightGraph(await EngineSession.open(graph, { threads }), shapes)
  }

  /** Names of the weights that `run` needs, with their shapes. */
  get weightShapes(): ReadonlyMap<string, readonly number[]> {
    return this.shapes
  }

  async run(weights: ReadonlyMap<string, Float32Array>, batch: TrainingBatch): Promise<WeightGradients> {
    const [rows, length] = [batch.ids.length, batch.ids[0].length]
    const first = length - batch.targetLength
    const places = batch.ids.flatMap((_, b) =>
      Array.from({ length: batch.targetLength }, (_, i) => b * length + first + i - 1),
    )
    const labels = batch.ids.flatMap((ids) => ids.slice(first))
    const feeds: Parameters<EngineSession['run']>[0] = {
      ids: { data: toInt64(batch.ids.flat()), shape: [rows, length] },
      places: { data: toInt64(places), shape: [places.length] },
      labels: { data: toInt64(labels), shape: [labels.length] },
      ...Object.fromEntries([...this.shapes].map(([name, shape]) => [name, { data: weightOf(weights, name), shape }])),
    }
    const results = await this.session.run(feeds)
    return {
      loss: Number(results.loss.data[0]),
      gradients: new Map(
        [...this.shapes.keys()].map((name) => [name, results[gradientName(name)].data as Float32Array]),
      ),
    }
  }

  async dispose(): Promise<void> {
    await this.session.dispose()
  }
}

const gradientName = (weight: string) => `gradient/${weight}`

/** The graph that `FullWeightGraph` runs. */
export function fullWeightGraph(config: DecoderConfig): { graph: Graph; weights: InputWeights } {
  const g = new Graph(`full-weight training of ${config.family}`)
  const weights = new InputWeights(g)
  const ids = g.input('ids', 'int64', ['B', 'T'])
  const places = g.input('places', 'int64', ['M'])
  const labels = g.input('labels', 'int64', ['M'])
  const positions = op.expand(g, op.unsqueeze(g, op.range(g, 'T'), [0]), ['B', 'T'])
  const layout = headLayout(config, 'float32')
  const mask = causalMask(g)
  const pass = {
    g,
    batch: 'B',
    time: 'T',
    rope: layerRope(g, config, positions, 'B*T'),
    attend: (_: number, q: Value, k: Value, v: Value) => maskedAttention(g, q, k, v, null, mask, layout).output,
    recur: recurFromStart(g, config, 'B', 'float32'),
  }
  const embedded = op.reshape(g, embedTokens(g, config, weights, ids), ['B*T', config.hiddenSize])
  const states = op.gather(g, decoderBlocks(pass, config, weights, embedded), places)
  const hidden = finalNorm(g, config, weights, states)
  const logits = op.gemm(g, hidden, headMatrix(config, weights), null, { transB: true })
  const loss = op.reduceMean(g, crossEntropy(g, logits, labels), [0])

  const all = [...weights.inputs]
  const found = gradients(
    g,
    [[loss, g.floats([1], [1])]],
    all.map(([, value]) => value),
  )
  g.output(loss, 'loss')
  all.forEach(([name], i) => {
    const gradient = found[i]
    if (!gradient) throw new Error(`the loss does not depend on ${name}`)
    g.output(gradient, gradientName(name))
  })
  return { graph: g, weights }
}

/** [1, 1, T, T]: 0 where a place sees another, MASKED where that one comes later. */
function causalMask(g: Graph): Value {
  const steps = op.range(g, 'T')
  const later = op.greater(g, op.unsqueeze(g, steps, [0]), op.unsqueeze(g, steps, [1]))
  return op.unsqueeze(g, op.where(g, later, g.floats([MASKED], []), g.floats([0], [])), [0, 1])
}

function weightOf(weights: ReadonlyMap<string, Float32Array>, name: string): Float32Array {
  const values = weights.get(name)
  if (!values) throw new Error(`no weight "${name}" was given`)
  return values
}

function toInt64(values: readonly number[]): BigInt64Array {
  return BigInt64Array.from(values.map(BigInt))
}

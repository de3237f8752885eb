/** What a model folder holds, from its config.json and the headers of its weights; nothing is loaded. */
import { buildAgentGraph } from '../engine/agents/agent-graph'
import { memorySize, recurrentLayers } from '../engine/agents/delta-memory'
import type { WeightIndex } from '../engine/formats/model-weights'
import { attentionLayers, type DecoderConfig } from '../engine/models/config'
import { readConfig } from '../engine/models/families'
import { FileWeights, openTextWeights } from '../engine/models/weights'
import { Graph } from '../engine/onnx/graph'

/** Bytes of a float32. */
const single = 4

/** Throws UserError where the folder is not a model that can be run: every tensor's name, shape and type is checked. */
export async function describeModel(folder: string) {
  const config = await readConfig(folder)
  const weights = await openTextWeights(folder)
  const used = usedTensors(config, weights)
  const parameters = used.reduce((n, { shape }) => n + shape.reduce((a, b) => a * b, 1), 0)
  return {
    family: config.family,
    widths: {
      hidden: config.hiddenSize,
      mlp: config.intermediateSize,
      head: config.headDim,
      vocabulary: config.vocabSize,
    },
    layers: config.layers,
    heads: { query: config.heads, keyValue: config.kvHeads },
    rope: config.rope.type,
    recurrentLayers: recurrentLayers(config).length,
    slidingWindows: config.windows.filter((window) => window > 0).length,
    tiedEmbeddings: config.tiedEmbeddings,
    maxPositions: config.maxPositions,
    parameters,
    dtypes: [...new Set(used.map(({ dtype }) => dtype))].sort(),
    /** Bytes: on disk; held while it runs on the CPU (float32); key-value cache of one token of one row; what recurrent layers keep of a row. */
    memory: {
      files: used.reduce((n, { length }) => n + length, 0),
      weights: parameters * single,
      cachePerToken: 2 * attentionLayers(config).length * config.kvHeads * config.headDim * single,
      statePerRow: memorySize(config) * single,
    },
  }
}

/** The tensors that the model's graph reads, each once; files may hold more. */
function usedTensors(config: DecoderConfig, weights: WeightIndex) {
  const graph = new Graph('describe')
  const source = new FileWeights(graph, weights, 'float32')
  const names = new Set<string>()
  buildAgentGraph(
    graph,
    config,
    {
      matrix: (name, rows, columns) => {
        names.add(name)
        return source.matrix(name, rows, columns)
      },
      vector: (name, size, offset) => {
        names.add(name)
        return source.vector(name, size, offset)
      },
      tensor: (name, shape) => {
        names.add(name)
        return source.tensor(name, shape)
      },
    },
    { compute: 'float32' },
  )
  return [...names].map((name) => weights.tensors.get(name)!)
}

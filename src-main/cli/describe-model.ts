/** What a model folder holds, from its config.json and the headers of its weights; nothing is loaded. */
import { memorySize, recurrentLayers } from '../engine/agents/delta-memory'
import { elements, modelMemoryOf, placeNumbers, single, storedAs, tensorsOf } from '../engine/memory/model-memory'
import { readConfig } from '../engine/models/families'
import { findTensor, openTextWeights } from '../engine/models/weights'

/** Throws UserError where the folder is not a model that can be run: every tensor's name, shape and type is checked. */
export async function describeModel(folder: string) {
  const config = await readConfig(folder)
  const weights = await openTextWeights(folder)
  // files may hold more
  const used = tensorsOf(config).tensors.map(({ name, shape }) => findTensor(weights, name, shape))
  const parameters = used.reduce((n, { shape }) => n + elements(shape), 0)
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
    /**
     * Bytes: on disk; held while it runs on the CPU (float32); key-value cache of one token of one row; what recurrent layers keep of a
     * row; and what a process takes that reads and writes one usual text, in parts.
     */
    memory: {
      files: used.reduce((n, { length }) => n + length, 0),
      weights: parameters * single,
      cachePerToken: placeNumbers(config) * single,
      statePerRow: memorySize(config) * single,
      ...modelMemoryOf(config, (name) => storedAs(weights.tensors.get(name)?.dtype)),
    },
  }
}

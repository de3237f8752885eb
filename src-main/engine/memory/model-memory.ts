/**
 * What a model takes while it computes on the processor, from config.json and the headers of its weights: nothing is loaded, and no
 * runtime either, so that the app's main process can ask, also about a model that is not here yet.
 */
import { buildAgentGraph } from '../agents/agent-graph'
import { packsSteps } from '../agents/batching'
import { memorySize } from '../agents/delta-memory'
import { cacheSlabs } from '../agents/graph-io'
import type { Dtype } from '../formats/dtypes'
import type { DecoderConfig } from '../models/config'
import { readConfig } from '../models/families'
import { openTextWeights, type WeightSource } from '../models/weights'
import { Graph } from '../onnx/graph'
import { estimateOf, type MemoryEstimate } from './estimate'
import { machineMemory } from './machine'
import { runtimeBytes } from './runtime-share'
import { sessionBytes, workingBytes } from './working-memory'

/** Of a float32, in which every number is held that computes. */
export const single = 4

/** What a tensor of the model's text part is for. */
export interface ModelTensor {
  readonly name: string
  readonly shape: readonly number[]
  /** A matrix of a block, which the steps of rollouts and generation may have once more. */
  readonly packs: boolean
}

/** Type in which tensors are stored; null: all in one type that is not known. */
export type StoredAs = 'F32' | 'F16' | 'BF16'

/** The text tensors that config.json asks for, and how large the graph over them is. */
export function tensorsOf(config: DecoderConfig): { tensors: readonly ModelTensor[]; nodes: number } {
  const graph = new Graph('tensors')
  const tensors = new Map<string, ModelTensor>()
  const seen = (name: string, shape: readonly number[], packs: boolean) => {
    const known = tensors.get(name)
    if (!known || (packs && !known.packs)) tensors.set(name, { name, shape, packs })
    return { name, dtype: 'float32', shape } as const
  }
  const source = (packs: boolean): WeightSource => ({
    matrix: (name, rows, columns) => seen(name, [rows, columns], packs),
    vector: (name, size) => seen(name, [size], false),
    tensor: (name, shape) => seen(name, shape, false),
  })
  buildAgentGraph(graph, config, source(false), { compute: 'float32', stepWeights: () => source(true) })
  return { tensors: [...tensors.values()], nodes: [...graph.allNodes()].length }
}

export const elements = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1)

export interface WeightBytes {
  /** Held in float32: the file's own bytes where it is float32 (mapped, not copied), else a widened copy. */
  readonly held: number
  /** The copy in which steps read them fastest; only float32 files have one. */
  readonly packed: number
  readonly widened: boolean
}

/** `stored`: by tensor name. */
export function weightBytes(tensors: readonly ModelTensor[], stored: (name: string) => StoredAs): WeightBytes {
  let held = 0
  let packed = 0
  let widened = false
  for (const { name, shape, packs } of tensors) {
    held += single * elements(shape)
    if (stored(name) !== 'F32') widened = true
    else if (packs) packed += single * elements(shape)
  }
  return { held, packed, widened }
}

/** Names of parts that are not every model's own, or may be left out. */
export const runtimePart = 'runtime'
export const stepCopies = 'weights once more, arranged for steps'

/** What a first look goes by: one text of so many tokens. */
const usualLength = 1024

/**
 * A model reading and writing one text of `places` tokens (by default 1024, or as many as it was made for). What a job takes beyond that
 * depends on its batches and links.
 */
export function modelMemoryOf(
  config: DecoderConfig,
  stored: (name: string) => StoredAs,
  options: { readonly places?: number; readonly packs?: boolean } = {},
): MemoryEstimate {
  const { tensors, nodes } = tensorsOf(config)
  const weights = weightBytes(tensors, stored)
  const places = options.places ?? Math.min(usualLength, config.maxPositions)
  const packs = options.packs ?? packsSteps(weights.held, machineMemory())
  return estimateOf([
    { name: weights.widened ? 'weights, widened to float32' : 'weights', bytes: weights.held },
    { name: stepCopies, bytes: packs ? weights.packed : 0 },
    {
      name: `keys and values of ${places} tokens`,
      bytes: single * (placeNumbers(config) * places + memorySize(config)),
    },
    { name: `working memory for ${places} tokens`, bytes: workingBytes(config, places) },
    { name: 'compiled graph', bytes: sessionBytes(nodes) },
    { name: runtimePart, bytes: runtimeBytes },
  ])
}

/** Numbers in the key-value cache for one place of one row. */
export const placeNumbers = (config: DecoderConfig): number => cacheSlabs(config) * config.kvHeads * config.headDim

/** As `modelMemoryOf`, of a model on this disk. UserErrors name what is wrong with the folder. */
export async function modelMemory(folder: string, options: { readonly places?: number } = {}): Promise<MemoryEstimate> {
  const config = await readConfig(folder)
  const { tensors } = await openTextWeights(folder)
  return modelMemoryOf(config, (name) => storedAs(tensors.get(name)?.dtype), options)
}

/** Types that cannot be run count as float32; opening the model refuses them. */
export const storedAs = (dtype: Dtype | undefined): StoredAs => (dtype === 'F16' || dtype === 'BF16' ? dtype : 'F32')

/**
 * The type of weights that are still on a hub: what config.json says (`dtype`, `torch_dtype`, of the text part too), else what their
 * bytes come to, of which other parts than the text may have some.
 */
export function typeOnHub(
  raw: Readonly<Record<string, unknown>>,
  config: DecoderConfig,
  weightFileBytes: number,
): StoredAs {
  const text = typeof raw.text_config === 'object' ? (raw.text_config as Record<string, unknown> | null) : null
  for (const name of [raw.dtype, raw.torch_dtype, text?.dtype, text?.torch_dtype]) {
    if (name === 'bfloat16') return 'BF16'
    if (name === 'float16') return 'F16'
    if (name === 'float32') return 'F32'
  }
  const parameters = tensorsOf(config).tensors.reduce((n, { shape }) => n + elements(shape), 0)
  return weightFileBytes < 3 * parameters ? 'BF16' : 'F32'
}

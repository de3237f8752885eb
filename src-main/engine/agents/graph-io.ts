/** What goes into an agent's graph and comes out of it, by name; every task has all of it, empty where it is not used. */
import { type DecoderConfig, attentionLayers } from '../models/config'
import type { ComputeType, WeightSource } from '../models/weights'
import type { InnerLinkParts } from '../nn/link-layers'
import { innerParameterShapes } from '../nn/link-types'
import { type Dim, Graph, type Shape, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { memoryShapes, memorySize } from './delta-memory'
import type { SamplerInputs } from './sampler'

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
export const passOutputs = ['states', 'losses', 'gradient', 'logits', 'cache', 'memory', 'ends'] as const

type PassOutput = (typeof passOutputs)[number]

export type Made = Partial<Record<PassOutput, Value>>

export const outputNames = [
  ...passOutputs,
  'rollout_states',
  'rollout_fed',
  'tokens',
  'grown_cache',
  'grown_memory',
] as const

/** Names of the parts of a kept pass. */
export const keptOutput = (part: number): string => `kept_${part}`

export const keptInput = (part: number): string => `given_${part}`

/** Keys and values of the layers that attend. */
export const cacheSlabs = (c: DecoderConfig): number => 2 * attentionLayers(c).length

/** What rows carry on from a pass: keys and values by layer, then the memories' parts by layer. */
export function carriedShapes(c: DecoderConfig, rows: Dim, places: Dim): Shape[] {
  const cache: Shape = [rows, c.kvHeads, places, c.headDim]
  return [...new Array<Shape>(cacheSlabs(c)).fill(cache), ...memoryShapes(c).map(([, ...rest]) => [rows, ...rest])]
}

export function passShapes(c: DecoderConfig): Shape[] {
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

/** The outputs of a pass in order, empty where the task does not make them. */
export function outputsWith(g: Graph, c: DecoderConfig, made: Made): Value[] {
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

export interface Inputs {
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

export function declareInputs(root: Graph, c: DecoderConfig, options: AgentGraphOptions): Inputs {
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
    kept: options.keepsPasses
      ? Array.from({ length: c.layers }, (_, i) => root.input(keptInput(i), 'float32', [`Y${i}`]))
      : [],
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

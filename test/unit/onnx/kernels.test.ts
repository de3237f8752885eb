/** Every graph the engine generates has its kernels: all on the CPU, and on CUDA all but the ones listed here. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fullWeightGraph } from '../../../src-main/demo/full-weights'
import { modelConfig, roles } from '../../../src-main/demo/tiny-models'
import { buildAgentGraph } from '../../../src-main/engine/agents/agent-graph'
import { computeType } from '../../../src-main/engine/agents/onnx-agent'
import { readConfig, resolveConfig } from '../../../src-main/engine/models/families'
import { FileWeights, openTextWeights, type ComputeType } from '../../../src-main/engine/models/weights'
import { linkGraph } from '../../../src-main/engine/nn/link-graphs'
import { innerLinkTypes, outerLinkTypes, type InnerLinkType, type OuterLinkType } from '../../../src-main/engine/nn/link-types'
import { Graph } from '../../../src-main/engine/onnx/graph'
import { productsGraph } from '../../../src-main/engine/training/least-squares'
import { missingKernels } from './kernels'

const models = join(import.meta.dirname, '../../golden/models')

async function agentGraph(name: string, compute: ComputeType, checkpointBlocks: boolean, keepsPasses = false): Promise<Graph> {
  const folder = join(models, name)
  const root = new Graph(name)
  const weights = new FileWeights(root, await openTextWeights(folder), compute)
  buildAgentGraph(root, await readConfig(folder), weights, { compute, checkpointBlocks, keepsPasses })
  return root
}

async function typeOnCuda(name: string): Promise<ComputeType> {
  return computeType(await readConfig(join(models, name)), 'cuda')
}

// float16 overflows with the activations of gemma3 and qwen3_5
it.each([
  ['llama', 'float16'],
  ['llama3-rope-bf16', 'float16'],
  ['mistral-window', 'float16'],
  ['qwen2-sharded', 'float16'],
  ['qwen3', 'float16'],
  ['gemma3-text', 'bfloat16'],
  ['gemma3-multimodal-bf16', 'bfloat16'],
  ['qwen3_5-text', 'bfloat16'],
  ['qwen3_5-multimodal-bf16', 'bfloat16'],
])('on CUDA %s computes in %s', async (name, compute) => {
  expect(await typeOnCuda(name)).toBe(compute)
})

describe.each([
  'llama',
  'llama3-rope-bf16',
  'mistral-window',
  'qwen2-sharded',
  'qwen3',
  'gemma3-text',
  'gemma3-multimodal-bf16',
  'qwen3_5-text',
  'qwen3_5-multimodal-bf16',
])('kernels for %s', (name) => {
  it.each([false, true])('on the CPU, checkpointed blocks %s', async (checkpointBlocks) => {
    expect(missingKernels(await agentGraph(name, 'float32', checkpointBlocks), 'cpu')).toEqual([])
  })

  it.each([false, true])('on CUDA in the type of the family, checkpointed blocks %s', async (checkpointBlocks) => {
    expect(missingKernels(await agentGraph(name, await typeOnCuda(name), checkpointBlocks), 'cuda')).toEqual(onCpu)
  })

  it('where passes are kept', async () => {
    expect(missingKernels(await agentGraph(name, 'float32', false, true), 'cpu')).toEqual([])
    expect(missingKernels(await agentGraph(name, await typeOnCuda(name), false, true), 'cuda')).toEqual(onCpu)
  })
})

/** Nodes that fall back to the CPU, by operator and type. None is left. */
const onCpu: string[] = []

describe.each(['forward', 'vjp', 'input', 'loss'] as const)('kernels of links: %s', (part) => {
  it.each(Object.keys(innerLinkTypes) as InnerLinkType[])('%s', (type) => {
    const g = linkGraph({ kind: 'inner', type, width: 16 }, part)
    expect([missingKernels(g, 'cpu'), missingKernels(g, 'cuda')]).toEqual([[], []])
  })
  it.each(Object.keys(outerLinkTypes) as OuterLinkType[])('%s', (type) => {
    const g = linkGraph({ kind: 'outer', type, inWidth: 16, outWidth: 8 }, part)
    expect([missingKernels(g, 'cpu'), missingKernels(g, 'cuda')]).toEqual([[], []])
  })
})

it.each(roles)('kernels of full-weight training: %s of the demo', (role) => {
  const { graph } = fullWeightGraph(resolveConfig(modelConfig(role)))
  expect([missingKernels(graph, 'cpu'), missingKernels(graph, 'cuda')]).toEqual([[], []])
})

it('kernels of a least-squares start', () => {
  expect(missingKernels(productsGraph(), 'cpu')).toEqual([])
})

it('every type of a node counts, not the first alone', () => {
  const g = new Graph('odd types')
  const x = g.input('x', 'float32', ['B', 4])
  const rows = g.node('Gather', [x, g.input('rows', 'float32', ['M'])], [{ dtype: 'float32', shape: ['M', 4] }])[0]
  const kept = g.node('CumSum', [rows, g.input('axis', 'bool', [])], [{ dtype: 'float32', shape: ['M', 4] }])[0]
  g.output(g.node('Cast', [kept], [{ dtype: 'float16', shape: ['M', 4] }])[0], 'y')
  expect(missingKernels(g, 'cpu')).toEqual(['CumSum T2 bool', 'Gather Tind f32'])
})

it('a node without a kernel is reported', async () => {
  const g = await agentGraph('qwen3', 'float32', false)
  expect(missingKernels(g, 'cuda')).toEqual(['GroupQueryAttention T f32', 'GroupQueryAttention T_CACHE f32'])
})

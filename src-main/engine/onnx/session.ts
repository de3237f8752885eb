/**
 * ONNX Runtime sessions over our graphs: plain typed arrays in and out, explicit disposal.
 * Whoever opens a session disposes it.
 */
import { dirname, isAbsolute, relative } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { Graph, type Shape } from './graph'
import { serialize } from './serialize'

export type Device = 'cpu' | 'cuda'

export interface SessionOptions {
  readonly device?: Device
  /** Compute threads; default: what ONNX Runtime chooses (one per physical core). */
  readonly threads?: number
  /** The graph has weights for the runtime to rearrange. */
  readonly packs?: boolean
}

/** What goes in: data and its shape. */
export interface ArrayInput {
  readonly data: Float32Array | BigInt64Array | Int32Array | Uint8Array
  readonly shape: readonly number[]
}

export interface ArrayOutput {
  readonly data: Float32Array | BigInt64Array | Int32Array | Uint8Array
  readonly shape: readonly number[]
}

/** A graph as the runtime reads it, from which sessions can be opened again and again. */
export interface WrittenGraph {
  readonly label: string
  readonly bytes: Uint8Array
  /** Where its weights lie. */
  readonly folder: string | null
  readonly packs: boolean
}

export function writtenGraph(graph: Graph): WrittenGraph {
  const folder = weightsFolder(graph)
  return { label: graph.label, bytes: serialize(graph, folder), folder, packs: graph.isPacked }
}

export class EngineSession {
  private constructor(
    private session: InferenceSession | null,
    private readonly label: string,
    /** Seconds that session creation took. */
    readonly creationSeconds: number,
  ) {}

  static async open(graph: Graph | WrittenGraph, options: SessionOptions = {}): Promise<EngineSession> {
    const started = performance.now()
    const { label, bytes, folder, packs } = graph instanceof Graph ? writtenGraph(graph) : graph
    const session = await InferenceSession.create(bytes, runtimeOptions(folder, { ...options, packs }))
    return new EngineSession(session, label, (performance.now() - started) / 1000)
  }

  /** Runs once. Outputs are in host memory and belong to the caller. */
  async run(
    inputs: Readonly<Record<string, ArrayInput>>,
    outputs?: readonly string[],
  ): Promise<Record<string, ArrayOutput>> {
    if (!this.session) throw new Error(`session "${this.label}" was used after it was disposed`)
    const feeds: Record<string, Tensor> = {}
    for (const [name, { data, shape }] of Object.entries(inputs)) feeds[name] = toTensor(data, shape)
    const results = outputs ? await this.session.run(feeds, outputs) : await this.session.run(feeds)
    const out: Record<string, ArrayOutput> = {}
    for (const [name, t] of Object.entries(results)) out[name] = { data: t.data as ArrayOutput['data'], shape: t.dims }
    return out
  }

  async dispose(): Promise<void> {
    const session = this.session
    this.session = null
    await session?.release()
  }
}

/** How every session runs; `folder`: where external weights lie. */
export function runtimeOptions(folder: string | null, options: SessionOptions = {}): InferenceSession.SessionOptions {
  return {
    executionProviders: options.device === 'cuda' ? ['cuda', 'cpu'] : ['cpu'],
    // the runtime refuses a field that is there without a value
    ...(options.threads === undefined ? {} : { intraOpNumThreads: options.threads }),
    // our graphs are emitted in the form that runs; 'basic' folds the widening casts of half-precision weights
    graphOptimizationLevel: 'basic',
    enableMemPattern: false,
    logSeverityLevel: 3,
    extra: {
      session: {
        // without it every weight would be held once more for each operator that uses it
        ...(options.packs ? {} : { disable_prepacking: '1' }),
        ...(folder ? { model_external_initializers_file_folder_path: folder } : {}),
      },
      // common subexpressions include what checkpointing recomputes on purpose
      optimization: { disable_specified_optimizers: 'CommonSubexpressionElimination' },
    },
  }
}

function toTensor(data: ArrayInput['data'], shape: Shape): Tensor {
  const dims = shape as number[]
  if (data instanceof Float32Array) return new Tensor('float32', data, dims)
  if (data instanceof BigInt64Array) return new Tensor('int64', data, dims)
  if (data instanceof Int32Array) return new Tensor('int32', data, dims)
  return new Tensor('bool', data, dims)
}

/** Deepest folder that contains every external file of the graph. */
function weightsFolder(graph: Graph): string | null {
  let folder: string | null = null
  for (const i of graph.initializers) {
    if (i.data.kind !== 'external') continue
    folder ??= dirname(i.data.data.file)
    while (!contains(folder, i.data.data.file)) {
      const up = dirname(folder)
      if (up === folder) throw new Error(`weights lie on different volumes: ${i.data.data.file} is not below ${folder}`)
      folder = up
    }
  }
  return folder
}

function contains(folder: string, file: string): boolean {
  const path = relative(folder, file)
  return path !== '' && !path.startsWith('..') && !isAbsolute(path)
}

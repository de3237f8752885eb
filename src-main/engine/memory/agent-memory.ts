/** What one model takes in a job: its weights, its session, and the largest of the passes that it is asked for. */
import { buildAgentGraph } from '../agents/agent-graph'
import { placesPerRun } from '../agents/batching'
import { memorySize } from '../agents/delta-memory'
import { keptInput, task } from '../agents/graph-io'
import type { DecoderConfig } from '../models/config'
import type { WeightSource } from '../models/weights'
import { Graph } from '../onnx/graph'
import { graphPeak } from './graph-peak'
import { elements, placeNumbers, single, type StoredAs, tensorsOf, type WeightBytes, weightBytes } from './model-memory'
import { sessionBytes } from './working-memory'

/** Rows that a model is given together, each as long as the longest. Counts are of one row. */
export interface PassShape {
  readonly task: keyof typeof task
  readonly rows: number
  /** Read now. */
  readonly places: number
  /** Encoded before. */
  readonly past?: number
  /** Of the places, vectors instead of tokens. */
  readonly latents?: number
  /** Places whose states are asked for. */
  readonly asked?: number
  /** Places with a token to predict. */
  readonly targets?: number
  /** Latents or tokens to make. */
  readonly steps?: number
}

export interface AgentChoice {
  readonly keepsPasses: boolean
  readonly checkpointBlocks: boolean
  /** Bytes that batches go by. */
  readonly limit: number
}

/**
 * The runtime takes memory in stretches that it keeps for later runs and cannot fill without gaps, and arrays that were given out wait
 * for the collector. What was held after runs of different sizes, over what the walk through the graph says: 1.05 to 1.25 for passes
 * with a gradient, 1.2 to 1.4 for others (onnxruntime 1.30 on the CPU, models of 30 layers that attend and of 16 with gated delta nets).
 */
const gapsOfGradients = 1.2
const gapsOfReading = 1.35
const waiting = 1.1

interface Walked {
  readonly peak: number
  readonly outputs: number
  /** Of the arrays that are fed. */
  readonly fed: number
}

export class AgentMemory {
  readonly weights: WeightBytes
  private readonly nodes: number
  private readonly graphs = new Map<string, Graph>()
  private readonly walked = new Map<string, Walked>()

  constructor(
    readonly config: DecoderConfig,
    stored: (name: string) => StoredAs,
  ) {
    const { tensors, nodes } = tensorsOf(config)
    this.weights = weightBytes(tensors, stored)
    this.nodes = nodes
  }

  /** The compiled graph; with gradients in two parts where passes are kept. */
  session(choice: AgentChoice): number {
    return sessionBytes(this.nodes * (choice.keepsPasses ? 1.3 : 1))
  }

  /** Of the largest of these passes, batches being as large as the limit lets them. */
  working(passes: readonly PassShape[], choice: AgentChoice): number {
    return Math.max(0, ...passes.map((pass) => this.pass(pass, choice)))
  }

  /** What `record` keeps of rows for a later gradient. */
  kept(pass: PassShape, choice: AgentChoice): number {
    const { outputs } = this.walk({ ...pass, task: 'record' }, choice)
    return (waiting * outputs * pass.rows) / this.rowsAtOnce(pass, choice)
  }

  /** Keys and values of so many places of one row, and the memory of recurrent layers. */
  cache(places: number): number {
    return single * (placeNumbers(this.config) * places + memorySize(this.config))
  }

  private pass(pass: PassShape, choice: AgentChoice): number {
    const gradient = pass.task === 'vjp' || pass.task === 'record'
    const { peak, fed } = this.walk(pass, choice)
    return peak * (gradient ? gapsOfGradients : gapsOfReading) + fed
  }

  private rowsAtOnce(pass: PassShape, { limit }: AgentChoice): number {
    const length = pass.places + (pass.past ?? 0)
    const gradient = pass.task === 'vjp' || pass.task === 'record'
    return Math.max(1, Math.min(pass.rows, Math.floor(placesPerRun(this.config, gradient, length, limit) / length)))
  }

  private walk(pass: PassShape, choice: AgentChoice): Walked {
    const key = JSON.stringify([pass, choice])
    const walked = this.walked.get(key) ?? this.walkThrough(pass, choice)
    this.walked.set(key, walked)
    return walked
  }

  private walkThrough(pass: PassShape, choice: AgentChoice): Walked {
    const rows = this.rowsAtOnce(pass, choice)
    const { places, past = 0, latents = 0, asked = 1, targets = 0, steps = 1 } = pass
    const graph = this.graph(choice)
    const sizes: Record<string, number> = {
      ...{ B: rows, T: places, P: past, R: past > 0 ? rows : 1, X: 1, U: pass.task === 'generate' ? steps : 1 },
      ...{ M: rows * latents, K: rows * (pass.task === 'loss' ? targets : asked), C: rows * targets },
    }
    const values: Record<string, number[]> = { task: [task[pass.task]], steps: [steps], sample: [0] }
    const fed = Object.fromEntries(
      graph.inputs.map(({ name, shape }) => [
        name,
        { shape: shape.map((d) => (typeof d === 'number' ? d : (sizes[d] ?? 0))), values: values[name] },
      ]),
    )
    const own = graph.inputs.filter(
      ({ name }) => !name.startsWith('link.') && !name.startsWith(keptInput(0).slice(0, -1)),
    )
    return {
      ...graphPeak(graph, fed, steps),
      fed: single * own.reduce((n, { name }) => n + elements(fed[name].shape), 0),
    }
  }

  private graph({ keepsPasses, checkpointBlocks }: AgentChoice): Graph {
    const key = `${keepsPasses} ${checkpointBlocks}`
    const known = this.graphs.get(key)
    if (known) return known
    const graph = new Graph('memory')
    buildAgentGraph(graph, this.config, namedWeights(graph), { compute: 'float32', keepsPasses, checkpointBlocks })
    this.graphs.set(key, graph)
    return graph
  }
}

/** Weights of which there are names and shapes alone. */
function namedWeights(graph: Graph): WeightSource {
  const made = new Map<string, ReturnType<Graph['initializer']>>()
  const get = (name: string, shape: readonly number[]) => {
    const data = { kind: 'external', data: { file: '', offset: 0, length: 0 } } as const
    const value = made.get(name) ?? graph.initializer(name, 'float32', shape, data)
    made.set(name, value)
    return value
  }
  return {
    matrix: (name, rows, columns) => get(name, [rows, columns]),
    vector: (name, size) => get(name, [size]),
    tensor: get,
  }
}

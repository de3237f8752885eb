/**
 * Links as graphs, with their parameters as graph inputs: one session serves any parameters of that type and width.
 * They run on the CPU beside their float32 parameters and optimiser state; rows are [n, width].
 */
import { Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { type ArrayInput, EngineSession } from '../onnx/session'
import { innerLink, outerLink } from './link-layers'
import {
  type InnerLinkType,
  innerParameterShapes,
  type LinkParameters,
  type OuterLinkType,
  outerParameterShapes,
  type ParameterShape,
} from './link-types'
import { cosineDistance } from './losses'
import { gradients } from './rules'

/** Which link: its type, and its widths. */
export type LinkShape =
  | { readonly kind: 'inner'; readonly type: InnerLinkType; readonly width: number }
  | { readonly kind: 'outer'; readonly type: OuterLinkType; readonly inWidth: number; readonly outWidth: number }

export interface LinkVjp {
  /** Gradient to the input, [n, in]. */
  readonly inputGradient: Float32Array
  /** By parameter name. */
  readonly gradients: Record<string, Float32Array>
}

export interface LinkLoss {
  /** cosineWeight * cosine + mseWeight * mse. */
  readonly loss: number
  /** Mean over the pairs of 1 - cos. */
  readonly cosine: number
  /** Mean over the pairs and the width of the squared difference. */
  readonly mse: number
  readonly gradients: Record<string, Float32Array>
}

/** A link's computations; `parameters` are read at the call and never kept. */
export interface LinkGraph {
  readonly inWidth: number
  readonly outWidth: number
  /** In state-dict order. */
  readonly shapes: readonly ParameterShape[]
  /** x [n, in] -> [n, out]. */
  forward(parameters: LinkParameters, x: Float32Array): Promise<Float32Array>
  /** Gradients of sum(link(x) * cotangent). */
  vjp(parameters: LinkParameters, x: Float32Array, cotangent: Float32Array): Promise<LinkVjp>
  /** The input's gradient alone, for a frozen link. */
  backInput(parameters: LinkParameters, x: Float32Array, cotangent: Float32Array): Promise<Float32Array>
  /** Loss of link(x) against targets [n, out], n >= 1, and its gradient to the parameters. */
  loss(
    parameters: LinkParameters,
    x: Float32Array,
    target: Float32Array,
    weights: { cosine: number; mse: number },
  ): Promise<LinkLoss>
}

/** The parameters of a link, in state-dict order. */
export function linkParameterShapes(shape: LinkShape): ParameterShape[] {
  return shape.kind === 'inner'
    ? innerParameterShapes(shape.type, shape.width)
    : outerParameterShapes(shape.type, shape.inWidth, shape.outWidth)
}

type Part = 'forward' | 'vjp' | 'input' | 'loss'

/** The graph of one computation of a link; exported for the check of kernels per device. */
export function linkGraph(shape: LinkShape, part: Part): Graph {
  const [inWidth, outWidth] = widths(shape)
  const g = new Graph(`${shape.type} ${part}`)
  const x = g.input('x', 'float32', ['N', inWidth])
  const shapes = linkParameterShapes(shape)
  const parameters = Object.fromEntries(shapes.map((s) => [s.name, g.input(s.name, 'float32', s.shape)]))
  const y = shape.kind === 'inner' ? innerLink(g, shape.type, parameters, x) : outerLink(g, shape.type, parameters, x)
  const all = shapes.map((s) => parameters[s.name])
  const emit = (seeds: readonly (readonly [Value, Value])[], wrt: readonly Value[], names: readonly string[]) =>
    gradients(g, seeds, wrt).forEach((gradient, i) => {
      if (!gradient) throw new Error(`no gradient reaches ${names[i]}`)
      g.output(gradient, names[i])
    })
  const gradientNames = shapes.map((s) => gradientName(s.name))
  switch (part) {
    case 'forward':
      g.output(y, 'y')
      break
    case 'vjp':
      emit([[y, g.input('cotangent', 'float32', ['N', outWidth])]], [x, ...all], ['dx', ...gradientNames])
      break
    case 'input':
      emit([[y, g.input('cotangent', 'float32', ['N', outWidth])]], [x], ['dx'])
      break
    case 'loss': {
      const target = g.input('target', 'float32', ['N', outWidth])
      const cosine = op.reduceMean(g, cosineDistance(g, y, target), [0], false)
      const difference = op.sub(g, y, target)
      const mse = op.reduceMean(g, op.mul(g, difference, difference), [0, 1], false)
      g.output(cosine, 'cosine')
      g.output(mse, 'mse')
      emit(
        [
          [cosine, g.input('cosineWeight', 'float32', [])],
          [mse, g.input('mseWeight', 'float32', [])],
        ],
        all,
        gradientNames,
      )
      break
    }
    default:
      throw new Error(`part ${String(part satisfies never)}`)
  }
  return g
}

const gradientName = (parameter: string) => `d.${parameter}`

function widths(shape: LinkShape): [number, number] {
  return shape.kind === 'inner' ? [shape.width, shape.width] : [shape.inWidth, shape.outWidth]
}

/** Opens the sessions of links as they are needed, one per type, widths and computation. Dispose it when the job ends. */
export class LinkSessions {
  private readonly sessions = new Map<string, Promise<EngineSession>>()
  private readonly graphs = new Map<string, LinkGraph>()

  constructor(private readonly options: { readonly threads?: number } = {}) {}

  /** Nothing is opened before the first computation. */
  link(shape: LinkShape): LinkGraph {
    const [inWidth, outWidth] = widths(shape)
    const key = `${shape.type} ${inWidth} ${outWidth}`
    const known = this.graphs.get(key)
    if (known) return known
    const session = (part: Part) => this.session(`${key} ${part}`, () => linkGraph(shape, part))
    const made = new SessionLink(linkParameterShapes(shape), inWidth, outWidth, session)
    this.graphs.set(key, made)
    return made
  }

  async dispose(): Promise<void> {
    const open = [...this.sessions.values()]
    this.sessions.clear()
    // one that could not be opened told its user so
    for (const s of open) await (await s.catch(() => null))?.dispose()
  }

  private session(key: string, graph: () => Graph): Promise<EngineSession> {
    let session = this.sessions.get(key)
    if (!session)
      this.sessions.set(key, (session = EngineSession.open(graph(), { device: 'cpu', threads: this.options.threads })))
    return session
  }
}

class SessionLink implements LinkGraph {
  constructor(
    readonly shapes: readonly ParameterShape[],
    readonly inWidth: number,
    readonly outWidth: number,
    private readonly session: (part: Part) => Promise<EngineSession>,
  ) {}

  async forward(parameters: LinkParameters, x: Float32Array): Promise<Float32Array> {
    if (x.length === 0) return new Float32Array(0)
    const out = await (await this.session('forward')).run(this.feeds(parameters, x))
    return out.y.data as Float32Array
  }

  async vjp(parameters: LinkParameters, x: Float32Array, cotangent: Float32Array): Promise<LinkVjp> {
    const out = await (
      await this.session('vjp')
    ).run({ ...this.feeds(parameters, x), cotangent: rows(cotangent, this.outWidth) })
    return { inputGradient: out.dx.data as Float32Array, gradients: this.collect(out) }
  }

  async backInput(parameters: LinkParameters, x: Float32Array, cotangent: Float32Array): Promise<Float32Array> {
    const out = await (
      await this.session('input')
    ).run({ ...this.feeds(parameters, x), cotangent: rows(cotangent, this.outWidth) })
    return out.dx.data as Float32Array
  }

  async loss(
    parameters: LinkParameters,
    x: Float32Array,
    target: Float32Array,
    weights: { cosine: number; mse: number },
  ): Promise<LinkLoss> {
    const out = await (
      await this.session('loss')
    ).run({
      ...this.feeds(parameters, x),
      target: rows(target, this.outWidth),
      cosineWeight: scalar(weights.cosine),
      mseWeight: scalar(weights.mse),
    })
    const [cosine, mse] = [Number(out.cosine.data[0]), Number(out.mse.data[0])]
    return { loss: weights.cosine * cosine + weights.mse * mse, cosine, mse, gradients: this.collect(out) }
  }

  private feeds(parameters: LinkParameters, x: Float32Array): Record<string, ArrayInput> {
    const feeds: Record<string, ArrayInput> = { x: rows(x, this.inWidth) }
    for (const { name, shape } of this.shapes) feeds[name] = { data: parameters[name], shape }
    return feeds
  }

  private collect(out: Record<string, { data: unknown }>): Record<string, Float32Array> {
    return Object.fromEntries(this.shapes.map((s) => [s.name, out[gradientName(s.name)].data as Float32Array]))
  }
}

function rows(data: Float32Array, width: number): ArrayInput {
  return { data, shape: [data.length / width, width] }
}

function scalar(value: number): ArrayInput {
  return { data: Float32Array.of(value), shape: [] }
}

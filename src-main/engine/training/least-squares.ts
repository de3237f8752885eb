/**
 * Least-squares start of an outer link: ridge regression of its linear path (the residual one; of a one-layer link without residual
 * the layer itself) from the sender's latents to the receiver's embeddings; every other path starts at zero output.
 * A link of two layers without a residual path has nothing linear to solve for and is refused.
 */
import { UserError } from '../errors'
import type { JobContext } from '../job-context'
import { outerLinkTypes, type OuterLinkType } from '../nn/link-types'
import { Graph } from '../onnx/graph'
import * as op from '../onnx/ops'
import { EngineSession } from '../onnx/session'
import type { StyleGraph } from '../styles/style'
import type { OuterLink } from '../styles/team'
import type { LinkPairs } from './align'
import { Ridge } from './ridge'

/** The linear layer that is solved for, and the one whose output starts at zero; null: there is none. */
function pathsOf(type: OuterLinkType): { readonly linear: string | null; readonly silent: string | null } {
  const { residual, layers } = outerLinkTypes[type]
  const last = layers === 1 ? 'proj1' : 'proj2'
  if (residual) return { linear: 'residual_proj', silent: last }
  return { linear: layers === 1 ? 'proj1' : null, silent: null }
}

/** UserError where a link of the style has a type that cannot start this way. To be asked before any model is opened. */
export function checkLeastSquares(style: Pick<StyleGraph, 'links'>, typeOf: (key: string) => OuterLinkType): void {
  const bad = style.links.filter((l) => pathsOf(typeOf(l.key)).linear === null)
  if (bad.length === 0) return
  const able = (Object.keys(outerLinkTypes) as OuterLinkType[]).filter((t) => pathsOf(t).linear !== null)
  throw new UserError({
    what: 'The links cannot start by least squares.',
    why: `${bad.map((l) => `${l.key} (${typeOf(l.key)})`).join(', ')}: two layers without a residual path have no linear path to solve for.`,
    next: `Choose one of ${able.join(', ')}, or the aligned start.`,
  })
}

/** Fits links in place; links of one sender share its factorisation. Dispose it when done. */
export class LeastSquares {
  private session: Promise<EngineSession> | null = null
  private known: { readonly images: Float32Array; readonly ridge: Promise<Ridge> } | null = null

  constructor(
    private readonly ctx: Pick<JobContext, 'checkpoint'>,
    /** Relative to the mean variance of the latents. */
    private readonly ridge: number,
    private readonly threads?: number,
  ) {}

  async fit(link: OuterLink, { images, targets }: Pick<LinkPairs, 'images' | 'targets'>): Promise<void> {
    const { linear, silent } = pathsOf(link.type)
    if (linear === null) throw new Error(`${link.type} has no linear path`)
    const factor = await this.factorOf(images, link.graph.inWidth)
    const { weight, bias } = await factor.to(targets.width, (from, to) =>
      targets.at(Array.from({ length: to - from }, (_, k) => from + k)),
    )
    link.parameters[`${linear}.weight`].set(weight)
    link.parameters[`${linear}.bias`].set(bias)
    if (silent === null) return
    link.parameters[`${silent}.weight`].fill(0)
    link.parameters[`${silent}.bias`].fill(0)
  }

  async dispose(): Promise<void> {
    await (await this.session)?.dispose()
    this.session = null
  }

  private factorOf(images: Float32Array, width: number): Promise<Ridge> {
    if (this.known?.images !== images)
      this.known = {
        images,
        ridge: Ridge.of(images, {
          width,
          ridge: this.ridge,
          products: (a, aWidth, b, bWidth) => this.products(a, aWidth, b, bWidth),
          between: () => this.ctx.checkpoint(),
        }),
      }
    return this.known.ridge
  }

  private async products(a: Float32Array, aWidth: number, b: Float32Array, bWidth: number): Promise<Float32Array> {
    this.session ??= EngineSession.open(productsGraph(), { device: 'cpu', threads: this.threads })
    const input = (data: Float32Array, width: number) => ({ data, shape: [data.length / width, width] })
    const out = await (await this.session).run({ a: input(a, aWidth), b: input(b, bWidth) })
    return out.products.data as Float32Array
  }
}

/** a^T b for a [N, A] and b [N, B]. */
export function productsGraph(): Graph {
  const g = new Graph('products of columns')
  const a = g.input('a', 'float32', ['N', 'A'])
  const b = g.input('b', 'float32', ['N', 'B'])
  g.output(op.gemm(g, a, b, null, { transA: true }), 'products')
  return g
}

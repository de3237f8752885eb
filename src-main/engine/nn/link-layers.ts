/** The links' forward maps as graph pieces; parameters are values of the graph, named as in the state dict. */
import type { Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'
import { gelu } from './activations'
import { linear } from './linear'
import { innerLinkTypes, outerLinkTypes, type InnerLinkType, type OuterLinkType } from './link-types'
import { layerNorm } from './norms'

export type LinkValues = Readonly<Record<string, Value>>

/** x [n, H] -> [n, H]. The residual takes x itself, not its normalised form. */
export function innerLink(g: Graph, type: InnerLinkType, p: LinkValues, x: Value): Value {
  const { layers, residual, norms } = innerLinkTypes[type]
  const inside = norms ? layerNorm(g, x, p['pre_ln.weight'], p['pre_ln.bias']) : x
  const mapped = layersOf(g, layers, p, inside)
  const joined = residual ? op.add(g, x, mapped) : mapped
  return norms ? layerNorm(g, joined, p['post_ln.weight'], p['post_ln.bias']) : joined
}

/** Which parts an inner link has, as bool scalars of the graph. */
export interface InnerLinkParts {
  readonly twoLayers: Value
  readonly residual: Value
  readonly norms: Value
}

/**
 * An inner link of any type, its parts chosen at run time: one graph serves them all. `p` holds the parameters of the
 * fullest type; what a type lacks is fed but not read.
 */
export function anyInnerLink(g: Graph, parts: InnerLinkParts, p: LinkValues, x: Value): Value {
  const either = (condition: Value, yes: (b: Graph) => Value, no: (b: Graph) => Value) =>
    op.ifElse(g, condition, (b) => [yes(b)], (b) => [no(b)], [x.shape])[0]
  const inside = either(parts.norms, (b) => layerNorm(b, x, p['pre_ln.weight'], p['pre_ln.bias']), () => x)
  const once = linear(g, inside, p['proj1.weight'], p['proj1.bias'])
  const mapped = either(parts.twoLayers, (b) => linear(b, gelu(b, once), p['proj2.weight'], p['proj2.bias']), () => once)
  const joined = either(parts.residual, (b) => op.add(b, x, mapped), () => mapped)
  return either(parts.norms, (b) => layerNorm(b, joined, p['post_ln.weight'], p['post_ln.bias']), () => joined)
}

/** x [n, I] -> [n, O]. */
export function outerLink(g: Graph, type: OuterLinkType, p: LinkValues, x: Value): Value {
  const { layers, residual, norms } = outerLinkTypes[type]
  const inside = norms ? layerNorm(g, x, p['ln_source.weight'], p['ln_source.bias']) : x
  const mapped = layersOf(g, layers, p, inside)
  const joined = residual ? op.add(g, mapped, linear(g, x, p['residual_proj.weight'], p['residual_proj.bias'])) : mapped
  return norms ? layerNorm(g, joined, p['ln_target.weight'], p['ln_target.bias']) : joined
}

function layersOf(g: Graph, layers: 1 | 2, p: LinkValues, x: Value): Value {
  const once = linear(g, x, p['proj1.weight'], p['proj1.bias'])
  return layers === 1 ? once : linear(g, gelu(g, once), p['proj2.weight'], p['proj2.bias'])
}

/**
 * What the linear layers of a pass made, as flat arrays: with it a later run over the same rows computes a gradient
 * without multiplying forward again. All else of the pass (norms, attention, activations) is computed from it anew.
 *
 * In parts of a few megabytes rather than one large array: memory for those is used again from pass to pass, while a large
 * array's would be asked of the system, and cleared by it, each time.
 */
import { int, type Graph, type Shape, type Value } from '../onnx/graph'

/** Results [rows, width] in order -> flat, in so many parts. */
export function joinProducts(g: Graph, products: readonly Value[], parts: number): Value[] {
  return divide(products, parts).map((some) => {
    const flat = some.map((v) => asShape(g, v, g.ints([-1]), ['kept']))
    return g.node('Concat', flat, [{ dtype: 'float32', shape: ['kept'] }], { axis: int(0) })[0]
  })
}

/** The reverse, given the shapes. */
export function splitProducts(g: Graph, kept: readonly Value[], shapes: readonly Shape[]): Value[] {
  const sizes = new Map<string, Value>()
  const size = ([rows, width]: Shape) => {
    const key = `${rows}x${width}`
    const known = sizes.get(key) ?? g.node('Mul', [g.dim(rows), g.dim(width)], [{ dtype: 'int64', shape: [1] }])[0]
    sizes.set(key, known)
    return known
  }
  return divide(shapes, kept.length).flatMap((some, part) => {
    const all = g.node('Concat', some.map(size), [{ dtype: 'int64', shape: [some.length] }], { axis: int(0) })[0]
    const pieces = g.node('Split', [kept[part], all], some.map(() => ({ dtype: 'float32' as const, shape: ['part'] })), { axis: int(0) })
    return pieces.map((piece, i) => asShape(g, piece, g.shapeVector(some[i]), some[i]))
  })
}

/** In order, into so many parts of nearly the same length. */
function divide<T>(all: readonly T[], parts: number): T[][] {
  const at = (part: number) => Math.round((part * all.length) / parts)
  return Array.from({ length: parts }, (_, part) => all.slice(at(part), at(part + 1)))
}

/** Rows may be a sum of dimensions, whose product with a width has no name of its own. */
function asShape(g: Graph, x: Value, extents: Value, shape: Shape): Value {
  return g.node('Reshape', [x, extents], [{ dtype: x.dtype, shape }])[0]
}

/**
 * What the linear layers of a pass made, as one flat array: with it a later run over the same rows computes a gradient
 * without multiplying forward again. All else of the pass (norms, attention, activations) is computed from it anew.
 */
import { int, type Graph, type Shape, type Value } from '../onnx/graph'

/** Results [rows, width] in order -> one after the other, flat. */
export function joinProducts(g: Graph, products: readonly Value[]): Value {
  const flat = products.map((v) => asShape(g, v, g.ints([-1]), ['kept']))
  return g.node('Concat', flat, [{ dtype: 'float32', shape: ['kept'] }], { axis: int(0) })[0]
}

/** The reverse, given the shapes. */
export function splitProducts(g: Graph, kept: Value, shapes: readonly Shape[]): Value[] {
  const known = new Map<string, Value>()
  const sizes = shapes.map(([rows, width]) => {
    const key = `${rows}x${width}`
    const size = known.get(key) ?? g.node('Mul', [g.dim(rows), g.dim(width)], [{ dtype: 'int64', shape: [1] }])[0]
    known.set(key, size)
    return size
  })
  const all = g.node('Concat', sizes, [{ dtype: 'int64', shape: [sizes.length] }], { axis: int(0) })[0]
  const parts = g.node('Split', [kept, all], shapes.map(() => ({ dtype: kept.dtype, shape: ['part'] })), { axis: int(0) })
  return parts.map((part, i) => asShape(g, part, g.shapeVector(shapes[i]), shapes[i]))
}

/** Rows may be a sum of dimensions, whose product with a width has no name of its own. */
function asShape(g: Graph, x: Value, extents: Value, shape: Shape): Value {
  return g.node('Reshape', [x, extents], [{ dtype: x.dtype, shape }])[0]
}

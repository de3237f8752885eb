/**
 * What the gated delta-net layers of a row carry on, as one vector: layer after layer, the past of the convolution and then
 * the states of the heads. Families without such layers have vectors of length 0.
 */
import type { DecoderConfig } from '../models/config'
import { deltaChannels, type DeltaMemory } from '../nn/delta-net'
import { dimProduct, type Graph, type Shape, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'

export const recurrentLayers = (c: DecoderConfig): number[] => c.delta?.layers.flatMap((is, i) => (is ? [i] : [])) ?? []

/** Shapes of a layer's parts for one row. */
function parts(c: DecoderConfig): number[][] {
  const h = c.delta!
  return [
    [h.taps - 1, deltaChannels(h)],
    [h.valueHeads, h.keyDim, h.valueDim],
  ]
}

const size = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1)

/** Numbers of one row. */
export function memorySize(c: DecoderConfig): number {
  return (
    recurrentLayers(c).length *
    (c.delta
      ? parts(c)
          .map(size)
          .reduce((a, b) => a + b)
      : 0)
  )
}

/** Shapes of the parts of all layers, for B rows. */
export function memoryShapes(c: DecoderConfig): Shape[] {
  return recurrentLayers(c).flatMap(() => parts(c).map((shape) => ['B', ...shape]))
}

/** Parts in the order of `memoryShapes` -> by layer. */
export function memoryByLayer(c: DecoderConfig, values: readonly Value[]): ReadonlyMap<number, DeltaMemory> {
  return new Map(recurrentLayers(c).map((layer, i) => [layer, { conv: values[2 * i], state: values[2 * i + 1] }]))
}

/** [B, numbers] -> the parts of all layers; one row of it serves all. */
export function splitMemory(g: Graph, c: DecoderConfig, rows: Value): Value[] {
  const shapes = memoryShapes(c)
  if (!shapes.length) return []
  const all = op.expand(g, { ...rows, shape: [1, memorySize(c)] }, ['B', memorySize(c)])
  const sizes = recurrentLayers(c).flatMap(() => parts(c).map(size))
  return op.split(g, all, sizes, 1).map((v, i) => op.reshape(g, v, shapes[i]))
}

/** The parts of all layers -> [B, numbers]. */
export function joinMemory(g: Graph, values: readonly Value[]): Value {
  if (!values.length) return op.zeros(g, 'float32', ['B', 0])
  return op.concat(
    g,
    values.map((v) => op.reshape(g, v, [v.shape[0], dimProduct(...v.shape.slice(1))])),
    1,
  )
}

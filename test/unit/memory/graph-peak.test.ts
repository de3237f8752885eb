/** What is held at the most while a graph runs, against sums by hand. */
import { expect, test } from 'vitest'
import { graphPeak } from '../../../src-main/engine/memory/graph-peak'
import { Graph } from '../../../src-main/engine/onnx/graph'
import * as op from '../../../src-main/engine/onnx/ops'

/** Bytes of so many rows of 8 float32. */
const rows = (n: number) => 4 * 8 * n

function graph(build: (g: Graph) => ReturnType<typeof op.add>): Graph {
  const g = new Graph('test')
  const x = g.input('x', 'float32', ['N', 8])
  g.input('flag', 'int64', [])
  void x
  g.output(build(g), 'y')
  return g
}

const x = (g: Graph) => g.inputs[0]
const peak = (g: Graph, n: number, flag = 0) =>
  graphPeak(g, { x: { shape: [n, 8] }, flag: { shape: [], values: [flag] } }, 1)
const product = (g: Graph, v: ReturnType<typeof x>) => {
  const w = g.initializer(g.freshName('w'), 'float32', [8, 8], {
    kind: 'external',
    data: { file: '', offset: 0, length: 0 },
  })
  return op.gemm(g, v, w, null, { transB: true })
}

test('a chain holds two results at a time: the one that is read and the one that is made', () => {
  const g = graph((g) => product(g, product(g, product(g, x(g)))))
  expect(peak(g, 10)).toEqual({ peak: rows(20), outputs: rows(10) })
})

test('a result that nobody reads any more is written over where the kernel can', () => {
  const g = graph((g) => op.sigmoid(g, op.sigmoid(g, product(g, x(g)))))
  expect(peak(g, 10)).toEqual({ peak: rows(10), outputs: rows(10) })
})

test('a result that is read later stays', () => {
  const g = graph((g) => {
    const a = product(g, x(g))
    return op.add(g, product(g, product(g, a)), a)
  })
  expect(peak(g, 10)).toEqual({ peak: rows(30), outputs: rows(10) })
})

test('only the branch that is taken counts', () => {
  const g = graph(
    (g) =>
      op.ifElse(
        g,
        op.equal(g, g.inputs[1], g.ints([1], [])),
        (b) => {
          const parts = [0, 1, 2].map(() => product(b, x(g)))
          return [op.add(b, op.add(b, parts[0], parts[1]), parts[2])]
        },
        (b) => [product(b, x(g))],
      )[0],
  )
  const [one, other] = [peak(g, 10, 1), peak(g, 10, 0)]
  // the branch's result is given a name of the whole graph's without a copy
  expect(other.peak).toBeLessThan(one.peak)
  expect(one.peak - other.peak).toBeGreaterThanOrEqual(rows(10))
  expect(one.outputs).toBe(other.outputs)
})

test('memory grows with the rows', () => {
  const g = graph((g) => product(g, product(g, x(g))))
  expect(peak(g, 30).peak).toBe(3 * peak(g, 10).peak)
})

/** Sessions: what the runtime's optimiser must leave alone, symbolic shapes, and misuse that is named. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onnx } from 'onnx-proto'
import { InferenceSession } from 'onnxruntime-node'
import { describe, expect, it } from 'vitest'
import { checkpoint } from '../../../src-main/engine/autodiff/checkpoint'
import { gradients } from '../../../src-main/engine/nn/rules'
import { Graph, GraphError, type Value } from '../../../src-main/engine/onnx/graph'
import * as op from '../../../src-main/engine/onnx/ops'
import { serialize } from '../../../src-main/engine/onnx/serialize'
import { EngineSession, runtimeOptions } from '../../../src-main/engine/onnx/session'

/** Operators of the graph as the runtime will run it. */
async function optimised(g: Graph): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'optimised-'))
  try {
    const path = join(folder, 'model.onnx')
    const session = await InferenceSession.create(serialize(g, null), { ...runtimeOptions(null, { threads: 1 }), optimizedModelFilePath: path })
    await session.release()
    return (onnx.ModelProto.decode(readFileSync(path)).graph!.node ?? []).map((n) => n.opType!)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const count = (ops: readonly string[], name: string) => ops.filter((o) => o === name).length

describe('the runtime', () => {
  it('keeps equal computations apart', async () => {
    const g = new Graph('equal')
    const x = g.input('x', 'float32', ['N', 4])
    const parts = [0, 1, 2].map(() => op.matmul(g, x, g.floats(Array.from({ length: 16 }, (_, i) => i), [4, 4])))
    g.output(op.concat(g, parts, 0), 'y')
    expect(count(await optimised(g), 'MatMul')).toBe(3)
  })

  it('recomputes a checkpointed block, after its cotangent', async () => {
    const build = (wrap: (g: Graph, inputs: Value[], f: (v: readonly Value[]) => Value[]) => readonly Value[]) => {
      const g = new Graph('block')
      const x = g.input('x', 'float32', ['N', 4])
      const w = g.input('w', 'float32', [4, 4])
      const block = ([v, m]: readonly Value[]) => [op.tanh(g, op.matmul(g, v, m))]
      const [y] = wrap(g, [x, w], block)
      const [dx] = gradients(g, [[y, g.input('dy', 'float32', ['N', 4])]], [x])
      g.output(dx!, 'dx')
      return g
    }
    const plain = await optimised(build((_, inputs, f) => f(inputs)))
    const recomputed = await optimised(build((g, inputs, f) => checkpoint(g, inputs, f)))
    expect(count(plain, 'Tanh')).toBe(1)
    expect(count(recomputed, 'Tanh')).toBe(2)
    // the copy's input takes its shape from the cotangent, so it cannot run before it
    const g = build((b, inputs, f) => checkpoint(b, inputs, f))
    const second = g.nodes.filter((n) => n.op === 'MatMul')[1]
    const reaches = (v: Value, name: string): boolean =>
      v.name === name || (g.nodes.find((n) => n.outputs.includes(v))?.inputs ?? []).some((i) => i !== null && reaches(i, name))
    expect(reaches(second.inputs[0]!, 'dy')).toBe(true)
  })

  it('takes any extents that the symbols allow, none included', async () => {
    const g = new Graph('extents')
    const x = g.input('x', 'float32', ['B', 'T', 4])
    const past = g.input('past', 'float32', ['B', 'P', 4])
    const joined = op.concat(g, [past, x], 1)
    g.output(op.reshape(g, joined, ['B', 'P+T', 2, 2]), 'y')
    g.output(op.reshape(g, op.slice(g, joined, 1, 'P', 'T'), ['B*T', 4]), 'z')
    const session = await EngineSession.open(g, { threads: 1 })
    try {
      for (const [b, t, p] of [[2, 3, 1], [1, 1, 0], [3, 2, 0]]) {
        const values = (n: number) => Float32Array.from({ length: n * 4 }, (_, i) => i)
        const r = await session.run({ x: { data: values(b * t), shape: [b, t, 4] }, past: { data: values(b * p), shape: [b, p, 4] } })
        expect(r.y.shape).toEqual([b, p + t, 2, 2])
        expect(r.z.shape).toEqual([b * t, 4])
        expect(r.z.data).toEqual(values(b * t))
      }
    } finally {
      await session.dispose()
    }
  })

  it('says when a session is used after it was disposed', async () => {
    const g = new Graph('gone')
    g.output(op.exp(g, g.input('x', 'float32', [1])), 'y')
    const session = await EngineSession.open(g, { threads: 1 })
    await session.dispose()
    await session.dispose()
    await expect(session.run({ x: { data: Float32Array.of(1), shape: [1] } })).rejects.toThrow(/"gone" was used after/)
  })
})

describe('builder functions name the operator and the shapes', () => {
  const g = new Graph('wrong')
  const a = g.input('a', 'float32', ['N', 4])
  const b = g.input('b', 'float32', ['N', 5])
  const i = g.input('i', 'int64', ['N', 4])
  it.each<[string, () => unknown, RegExp]>([
    ['Add', () => op.add(g, a, b), /Add: dimension 1 does not broadcast \(4 against 5\) \(inputs: float32\[N, 4\], float32\[N, 5\]\)/],
    ['Mul', () => op.mul(g, a, i), /Mul: the operands have different dtypes/],
    ['MatMul', () => op.matmul(g, a, b), /MatMul: inner dimensions differ \(4 against N\)/],
    ['Gemm', () => op.gemm(g, a, b, null, { transB: true }), /Gemm: inner dimensions differ \(4 against 5\)/],
    ['Reshape', () => op.reshape(g, a, ['N', 3]), /Reshape: cannot become \[N, 3\]/],
    ['Concat', () => op.concat(g, [a, b], 0), /Concat: the parts do not fit along axis 0/],
    ['Split', () => op.split(g, a, [1, 2], 1), /Split: sizes 1, 2 do not add up/],
    ['Squeeze', () => op.squeeze(g, a, [1]), /Squeeze: axis 1 is not 1/],
    ['Where', () => op.where(g, a, a, a), /Where: needs a boolean condition/],
    ['dim', () => g.dim('Q'), /dim: no input introduces the dimension "Q"/],
  ])('%s', (_, f, message) => {
    expect(f).toThrow(GraphError)
    expect(f).toThrow(message)
  })
})

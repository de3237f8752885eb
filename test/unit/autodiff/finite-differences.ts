/** Directional derivatives by central differences, against the gradients that the engine writes into a graph. */
import { Graph, type Shape, type Value } from '../../../src-main/engine/onnx/graph'
import { EngineSession, type ArrayInput } from '../../../src-main/engine/onnx/session'
import { gradients } from '../../../src-main/engine/nn/rules'

export interface Operand {
  readonly shape: readonly number[]
  /** Default: normal-like values in about [-2, 2]; `positive` keeps away from 0. */
  readonly positive?: boolean
  /** Integer contents (indices): not differentiated. */
  readonly ints?: readonly number[]
  /** Fixed contents that are not differentiated (masks, conditions). */
  readonly fixed?: readonly number[]
}

export interface RuleCase {
  readonly name: string
  readonly operands: readonly Operand[]
  readonly build: (g: Graph, operands: readonly Value[]) => Value | readonly Value[]
}

/** Operators that differentiation saw in the forward graph of a case. */
export function stepsOf(c: RuleCase): string[] {
  const { g } = forwardGraph(c)
  return g.steps.map((s) => s.op)
}

function forwardGraph(c: RuleCase) {
  const g = new Graph(c.name)
  // every dimension is symbolic where it can be: the rules must not depend on known extents
  const inputs = c.operands.map((o, i) => g.input(`x${i}`, o.ints ? 'int64' : 'float32', o.shape as Shape))
  const built = c.build(g, inputs)
  const outputs = (Array.isArray(built) ? built : [built]) as Value[]
  return { g, inputs, outputs }
}

/** Largest relative error over operands and three directions each. */
export async function derivativeError(c: RuleCase): Promise<number> {
  const { g, inputs, outputs } = forwardGraph(c)
  const named = outputs.map((v, i) => g.output(v, `y${i}`))
  const seeds = outputs.map((v, i) => [v, g.input(`dy${i}`, 'float32', v.shape)] as const)
  const wanted = inputs.filter((_, i) => !c.operands[i].ints && !c.operands[i].fixed)
  const results = gradients(g, seeds, wanted)
  results.forEach((v, i) => {
    if (!v) throw new Error(`${c.name}: no gradient reaches operand ${i}`)
    g.output(v, `dx${i}`)
  })
  const session = await EngineSession.open(g, { threads: 1 })
  try {
    const random = generator(c.name)
    const values = c.operands.map((o): ArrayInput => {
      if (o.ints) return { data: BigInt64Array.from(o.ints.map(BigInt)), shape: o.shape }
      const n = o.shape.reduce((a, b) => a * b, 1)
      return { data: Float32Array.from({ length: n }, (_, k) => o.fixed?.[k] ?? (o.positive ? 0.5 + 1.5 * random() : 3 * (random() - 0.5))), shape: o.shape }
    })
    const feed = (x: readonly ArrayInput[], dy: readonly ArrayInput[]) =>
      Object.fromEntries([...x.map((v, i) => [`x${i}`, v] as const), ...dy.map((v, i) => [`dy${i}`, v] as const)])
    const blank = named.map((v): ArrayInput => ({ data: new Float32Array(count(v.shape)), shape: v.shape as number[] }))
    const cotangents = named.map((v): ArrayInput => ({
      data: Float32Array.from({ length: count(v.shape) }, () => random() - 0.5),
      shape: v.shape as number[],
    }))
    const exact = await session.run(feed(values, cotangents))
    let worst = 0
    let k = 0
    for (let i = 0; i < values.length; i++) {
      if (c.operands[i].ints || c.operands[i].fixed) continue
      const gradient = exact[`dx${k++}`].data as Float32Array
      if (String(exact[`dx${k - 1}`].shape) !== String(values[i].shape)) throw new Error(`${c.name}: gradient ${i} has shape ${exact[`dx${k - 1}`].shape}`)
      for (let trial = 0; trial < 3; trial++) {
        const direction = Float32Array.from(values[i].data as Float32Array, () => random() - 0.5)
        const loss = async (step: number) => {
          const moved = { ...values[i], data: (values[i].data as Float32Array).map((v, j) => v + step * direction[j]) }
          const out = await session.run(feed(values.map((v, j) => (j === i ? moved : v)), blank))
          return named.reduce((sum, v, j) => sum + dot(out[v.name].data as Float32Array, cotangents[j].data as Float32Array), 0)
        }
        // fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h
        const h = 0.02
        const numeric = (8 * ((await loss(h)) - (await loss(-h))) - ((await loss(2 * h)) - (await loss(-2 * h)))) / (12 * h)
        const analytic = dot(gradient, direction)
        const scale = Math.max(Math.abs(analytic), Math.abs(numeric), 0.05)
        worst = Math.max(worst, Math.abs(analytic - numeric) / scale)
      }
    }
    return worst
  } finally {
    await session.dispose()
  }
}

const count = (shape: Shape) => (shape as number[]).reduce((a, b) => a * b, 1)

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i]
  return sum
}

/** A small seeded generator: the same numbers on every run. */
function generator(seed: string): () => number {
  let state = [...seed].reduce((a, ch) => (Math.imul(a, 31) + ch.charCodeAt(0)) >>> 0, 7)
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Token choice inside the graph against a plain implementation of the same rules. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chooseToken } from '../../../src-main/engine/agents/sampler'
import { Graph } from '../../../src-main/engine/onnx/graph'
import { EngineSession } from '../../../src-main/engine/onnx/session'

interface Settings {
  temperature: number
  topK: number
  topP: number
  minP: number
}

const V = 50

/** Temperature, then top-k, then top-p, then min-p (specification of inference, 3.1), then the inverse of the distribution. */
function reference(logits: readonly number[], s: Settings, u: number): number {
  const sorted = logits.map((x, i) => ({ i, x: x / s.temperature })).sort((a, b) => b.x - a.x)
  const top = s.topK > 0 ? sorted.slice(0, s.topK) : sorted
  const weights = top.map(({ i, x }) => ({ i, w: Math.exp(x - top[0].x) }))
  const sum = weights.reduce((n, { w }) => n + w, 0)
  const kept: typeof weights = []
  let before = 0
  for (const { i, w } of weights) {
    if (before / sum < s.topP || kept.length === 0) kept.push({ i, w })
    before += w
  }
  const chosen = kept.filter(({ w }) => w >= s.minP * kept[0].w)
  const total = chosen.reduce((n, { w }) => n + w, 0)
  let reached = 0
  for (const { i, w } of chosen) {
    reached += w
    if (reached > u * total) return i
  }
  return chosen.at(-1)!.i
}

describe('choosing a token', () => {
  let session: EngineSession
  beforeAll(async () => {
    const g = new Graph('sampler')
    const logits = g.input('logits', 'float32', ['B', V])
    const inputs = {
      sample: g.input('sample', 'bool', []),
      temperature: g.input('temperature', 'float32', []),
      topP: g.input('top_p', 'float32', []),
      minP: g.input('min_p', 'float32', []),
      topK: g.input('top_k', 'int64', [1]),
    }
    g.output(chooseToken(g, logits, inputs, g.input('u', 'float32', ['B', 1])), 'token')
    session = await EngineSession.open(g, { threads: 1 })
  })
  afterAll(() => session.dispose())

  async function choose(rows: readonly (readonly number[])[], s: Settings | null, u: readonly number[]): Promise<number[]> {
    const out = await session.run({
      logits: { data: Float32Array.from(rows.flat()), shape: [rows.length, V] },
      sample: { data: Uint8Array.of(s ? 1 : 0), shape: [] },
      temperature: { data: Float32Array.of(s?.temperature ?? 1), shape: [] },
      top_p: { data: Float32Array.of(!s || s.topP >= 1 ? Infinity : s.topP), shape: [] },
      min_p: { data: Float32Array.of(s?.minP ?? 0), shape: [] },
      top_k: { data: BigInt64Array.of(BigInt(s?.topK || V)), shape: [1] },
      u: { data: Float32Array.from(u), shape: [rows.length, 1] },
    })
    return [...(out.token.data as BigInt64Array)].map(Number)
  }

  let state = 12345
  const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32
  const rows = Array.from({ length: 200 }, () => Array.from({ length: V }, () => Math.fround(6 * random() - 3)))
  // draws that do not lie on a boundary to within float32
  const draws = rows.map(() => Math.fround(0.001 + 0.998 * random()))

  it('greedy takes the largest, whatever the draw', async () => {
    expect(await choose(rows, null, draws)).toEqual(rows.map((r) => r.indexOf(Math.max(...r))))
  })

  it.each<Settings>([
    { temperature: 1, topK: 0, topP: 1, minP: 0 },
    { temperature: 0.6, topK: 0, topP: 0.95, minP: 0 },
    { temperature: 0.6, topK: 20, topP: 0.95, minP: 0 },
    { temperature: 1.5, topK: 5, topP: 1, minP: 0 },
    { temperature: 1, topK: 0, topP: 1, minP: 0.2 },
    { temperature: 0.8, topK: 30, topP: 0.7, minP: 0.05 },
    { temperature: 1, topK: 0, topP: 1e-6, minP: 0 },
    { temperature: 1, topK: 1, topP: 1, minP: 1 },
  ])('%j', async (s) => {
    const got = await choose(rows, s, draws)
    const wanted = rows.map((r, i) => reference(r, s, draws[i]))
    // a draw may fall within rounding of a boundary: at most one row in a hundred
    expect(got.filter((t, i) => t !== wanted[i]).length).toBeLessThanOrEqual(2)
  })

  it('the extremes of the draw stay inside the kept set', async () => {
    const s = { temperature: 1, topK: 3, topP: 0.5, minP: 0 }
    const [low, high] = await choose([rows[0], rows[0]], s, [0, Math.fround(1 - 2 ** -24)])
    expect(low).toBe(reference(rows[0], s, 0))
    expect(high).toBe(reference(rows[0], s, 1 - 2 ** -24))
  })
})

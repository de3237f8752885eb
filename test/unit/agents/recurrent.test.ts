/** What a model with recurrent layers must not depend on: batches, padding, where cached text ends, checkpointing. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Row, VjpRequest } from '../../../src-main/engine/agents/agent'
import { openAgent, type OnnxAgent } from '../../../src-main/engine/agents/onnx-agent'
import { relativeError } from '../../golden/numbers'

const folder = join(import.meta.dirname, '../../golden/models/qwen3_5-text')
const ids = (n: number, from: number) => Array.from({ length: n }, (_, i) => 4 + ((from + i * 37) % 230))

describe('an agent with recurrent layers', () => {
  let agent: OnnxAgent
  beforeAll(async () => {
    agent = await openAgent(folder)
  })
  afterAll(() => agent.dispose())

  /** `before` tokens, 20 latents, tokens up to `length` places. */
  const row = (length: number, before: number): Row => ({
    segments: [
      { kind: 'tokens', ids: ids(before, length) },
      {
        kind: 'latents',
        values: Float32Array.from({ length: 20 * agent.hiddenSize }, (_, i) => Math.sin(i * length) / 4),
        count: 20,
      },
      { kind: 'tokens', ids: ids(length - before - 20, 2 * length) },
    ],
  })
  /** Gradients of the last two states and of a cross-entropy. */
  const request = (lengths: readonly number[]): VjpRequest => ({
    positions: lengths.map((n) => [n - 2, n - 1]),
    cotangents: lengths.map((n) => Float32Array.from({ length: 2 * agent.hiddenSize }, (_, i) => Math.cos(i + n))),
    targets: lengths.map((n) => ({ positions: [n - 4, n - 3], ids: [20, 21] })),
  })

  it('gives rows of one batch what each gives alone, gradients over several chunks included', async () => {
    const lengths = [75, 64, 70]
    const rows = lengths.map((n) => row(n, 9))
    const together = await agent.vjp(rows, request(lengths))
    for (const [i, n] of lengths.entries()) {
      const alone = await agent.vjp([rows[i]], request([n]))
      expect(relativeError(together.states[i], alone.states[0])).toBeLessThan(1e-5)
      expect(relativeError(together.gradients[i], alone.gradients[0][0])).toBeLessThan(1e-5)
    }
  })

  it('gives the same gradients after cached text as without', async () => {
    const [whole, rest] = [row(90, 45), row(90, 45).segments.slice(1)]
    const [prefix] = await agent.encodePrefixes([ids(45, 90)])
    const cached = await agent.vjp([{ prefix, segments: rest }], request([45]))
    const plain = await agent.vjp([whole], { ...request([90]), cotangents: request([45]).cotangents })
    expect(relativeError(cached.states, plain.states[0])).toBeLessThan(1e-5)
    expect(relativeError(cached.gradients[0], plain.gradients[0][0])).toBeLessThan(1e-5)
  })

  it('gives the same gradients with checkpointed blocks', async () => {
    const frugal = await openAgent(folder, { checkpointBlocks: true })
    try {
      const [a, b] = [await frugal.vjp([row(70, 9)], request([70])), await agent.vjp([row(70, 9)], request([70]))]
      expect(relativeError(a.gradients[0], b.gradients[0][0])).toBeLessThan(1e-6)
      expect(a.losses).toEqual(b.losses)
    } finally {
      await frugal.dispose()
    }
  })

  it('writes the same text in a batch in which some rows continue cached text and others do not', async () => {
    const greedy = { maxNewTokens: 40, sample: false, temperature: 1, topK: 0, topP: 1, minP: 0, stopIds: [] }
    const text = (list: readonly number[]): Row => ({ segments: [{ kind: 'tokens', ids: list }] })
    const [prefix] = await agent.encodePrefixes([ids(33, 1)])
    const rows: Row[] = [
      { prefix, segments: [{ kind: 'tokens', ids: ids(40, 1).slice(33) }] },
      text(ids(36, 5)),
      text(ids(39, 8)),
    ]
    const together = await agent.generate(rows, greedy)
    const alone = [ids(40, 1), ids(36, 5), ids(39, 8)].map(
      async (list) => (await agent.generate([text(list)], greedy))[0],
    )
    expect(together).toEqual(await Promise.all(alone))
  })
})

/** What batching, random streams and checkpointing must not change. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Row, SamplingOptions } from '../../../src-main/engine/agents/agent'
import { openAgent, type OnnxAgent } from '../../../src-main/engine/agents/onnx-agent'
import { planBatches } from '../../../src-main/engine/agents/batching'
import { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { initInnerLink } from '../../../src-main/engine/nn/link-init'
import { innerLinkTypes, type InnerLinkType } from '../../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { relativeError } from '../../golden/numbers'

const folder = join(import.meta.dirname, '../../golden/models/qwen3')
const text = (n: number, from: number): Row => ({ segments: [{ kind: 'tokens', ids: Array.from({ length: n }, (_, i) => 4 + ((from + i * 37) % 230)) }] })
const sampling: SamplingOptions = { maxNewTokens: 70, sample: true, temperature: 0.9, topK: 20, topP: 0.95, minP: 0, stopIds: [7] }

describe('an agent', () => {
  let agent: OnnxAgent
  beforeAll(async () => {
    agent = await openAgent(folder)
  })
  afterAll(() => agent.dispose())

  it('samples a row the same in any batch and order', async () => {
    const rows = [text(9, 1), text(30, 2), text(17, 3)]
    const streams = [[5, 0, 0], [5, 1, 0], [5, 2, 0]] as const
    const together = await agent.generate(rows, { ...sampling, streams })
    const reversed = await agent.generate([...rows].reverse(), { ...sampling, streams: [...streams].reverse() })
    expect([...reversed].reverse()).toEqual(together)
    for (let i = 0; i < rows.length; i++) {
      expect((await agent.generate([rows[i]], { ...sampling, streams: [streams[i]] }))[0]).toEqual(together[i])
    }
    const other = await agent.generate(rows, { ...sampling, streams: streams.map(([s, n]) => [s, n, 1] as const) })
    expect(other).not.toEqual(together)
  })

  it('tells of new tokens as they come, all of them', async () => {
    const seen: number[][] = [[], []]
    const result = await agent.generate([text(9, 1), text(12, 5)], {
      ...sampling,
      stopIds: [],
      onTokens: (fresh) => fresh.forEach((ids, i) => seen[i].push(...ids)),
    })
    expect(seen).toEqual(result)
  })

  it('stops when asked to', async () => {
    let runs = 0
    const between = async () => {
      if (++runs > 2) throw new Error('stopped by the caller')
    }
    const run = agent.generate([text(9, 1)], { ...sampling, stopIds: [], maxNewTokens: 5000, between })
    await expect(run).rejects.toThrow('stopped by the caller')
    expect(runs).toBe(3)
  })

  it('splits large batches without changing results', async () => {
    const small = await openAgent(folder, { maxPlaces: 40 })
    try {
      const rows = [text(9, 1), text(30, 2), text(17, 3), text(31, 4)]
      const last = rows.map((r) => [r.segments[0].kind === 'tokens' ? r.segments[0].ids.length - 1 : 0])
      expect(relativeError(await small.states(rows, last), await agent.states(rows, last))).toBeLessThan(1e-5)
    } finally {
      await small.dispose()
    }
  })

  it('checkpointed blocks give the same gradients', async () => {
    const frugal = await openAgent(folder, { checkpointBlocks: true })
    try {
      const values = Float32Array.from({ length: 6 * agent.hiddenSize }, (_, i) => Math.sin(i))
      const rows: Row[] = [{ segments: [{ kind: 'tokens', ids: [5, 6, 7] }, { kind: 'latents', values, count: 6 }, { kind: 'tokens', ids: [8, 9, 10] }] }]
      const request = {
        positions: [[8, 9]],
        cotangents: [Float32Array.from({ length: 2 * agent.hiddenSize }, (_, i) => Math.cos(i))],
        targets: [{ positions: [9, 10], ids: [20, 21] }],
      }
      const [a, b] = [await frugal.vjp(rows, request), await agent.vjp(rows, request)]
      expect(relativeError(a.gradients[0], b.gradients[0])).toBeLessThan(1e-6)
      expect(a.losses).toEqual(b.losses)
    } finally {
      await frugal.dispose()
    }
  })

  it('serves links of every type from one session', async () => {
    const row = text(8, 3)
    for (const type of Object.keys(innerLinkTypes) as InnerLinkType[]) {
      const link = { type, parameters: initInnerLink(type, agent.hiddenSize, new TorchGenerator(3)) }
      const { states, fed } = await agent.rollout([row], link, 4)
      const session = new LinkSessions({ threads: 1 })
      try {
        const graph = session.link({ kind: 'inner', type, width: agent.hiddenSize })
        expect(relativeError(fed, await graph.forward(link.parameters, states[0])), type).toBeLessThan(1e-5)
      } finally {
        await session.dispose()
      }
    }
  })

  it('rolls out and writes the same with weights arranged for steps and without', async () => {
    const rows = [text(9, 1), text(4, 2), text(6, 3)]
    const link = { type: 'ln_res_adapter' as const, parameters: initInnerLink('ln_res_adapter', agent.hiddenSize, new TorchGenerator(4)) }
    const greedy = { ...sampling, sample: false, maxNewTokens: 12, stopIds: [] }
    const made = await Promise.all(
      [true, false].map(async (packSteps) => {
        const one = await openAgent(folder, { threads: 1, packSteps })
        try {
          return { rolled: await one.rollout(rows, link, 6), tokens: await one.generate(rows, greedy) }
        } finally {
          await one.dispose()
        }
      }),
    )
    expect(made[1].tokens).toEqual(made[0].tokens)
    made[1].rolled.states.forEach((s, i) => expect(relativeError([s], [made[0].rolled.states[i]])).toBeLessThan(1e-5))
  })

  it('refuses what cannot be', async () => {
    await expect(agent.states([{ segments: [] }], [[]])).rejects.toThrow(/at least one place/)
    await expect(agent.states([text(3, 1)], [[3]])).rejects.toThrow(/position 3 is outside/)
    await expect(agent.states([{ segments: [{ kind: 'tokens', ids: [99999] }] }], [[0]])).rejects.toThrow(/99999 is outside the vocabulary/)
    await expect(agent.rollout([text(3, 1)], { type: 'ln_res_adapter', parameters: {} }, 2)).rejects.toThrow(/lacks its parameter/)
  })
})

describe('batches', () => {
  it('hold every row once, rows of similar length together, within the limit', () => {
    const lengths = [5, 100, 7, 98, 50, 6, 49, 120, 5]
    const batches = planBatches(lengths, { maxPlaces: 250, maxPadding: 0.25 })
    expect(batches.flat().sort((a, b) => a - b)).toEqual(lengths.map((_, i) => i))
    for (const b of batches) {
      const longest = Math.max(...b.map((i) => lengths[i]))
      expect(b.length === 1 || longest * b.length <= 250).toBe(true)
      expect(1 - b.reduce((n, i) => n + lengths[i], 0) / (longest * b.length)).toBeLessThanOrEqual(0.25)
    }
  })
})

/** The decoder of every family against what transformers computed (golden/README.md): one agent, all its tasks. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSafetensors } from '../../src-main/engine/formats/safetensors'
import { decoderBlocks, embedTokens } from '../../src-main/engine/models/decoder'
import { FileWeights, openTextWeights } from '../../src-main/engine/models/weights'
import { Graph } from '../../src-main/engine/onnx/graph'
import { EngineSession } from '../../src-main/engine/onnx/session'
import { openAgent, type OnnxAgent } from '../../src-main/engine/agents/onnx-agent'
import type { InnerLinkState, Row } from '../../src-main/engine/agents/agent'
import { modelCases, modelsFolder } from './model-cases'
import { tokensOf, relativeError } from './numbers'
import { plainPass } from './plain-pass'

const PROMPT = 20
const LATENTS = 12
const GREEDY = 24

it('covers the models of all families', () => {
  expect(modelCases).toEqual([
    'gemma3-multimodal-bf16',
    'gemma3-text',
    'llama',
    'llama3-rope-bf16',
    'mistral-window',
    'qwen2-sharded',
    'qwen3',
    'qwen3_5-multimodal-bf16',
    'qwen3_5-text',
  ])
})

describe.each(modelCases)('%s', (name) => {
  let agent: OnnxAgent
  let want: Record<string, Float32Array>
  let ids: number[][]
  let link: InnerLinkState
  const h = () => agent.hiddenSize
  const all = (row: readonly number[]) => row.map((_, t) => t)
  const tokenRow = (list: readonly number[]): Row => ({ segments: [{ kind: 'tokens', ids: list }] })
  const latentRow = (values: Float32Array): Row => ({
    segments: [{ kind: 'latents', values, count: values.length / h() }],
  })
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

  beforeAll(async () => {
    const folder = join(modelsFolder, name)
    agent = await openAgent(folder)
    const { tensors: file } = await readSafetensors(join(folder, 'expected.safetensors'))
    want = Object.fromEntries([...file].map(([k, t]) => [k, t.data as Float32Array]))
    ids = tokensOf(file.get('ids')!)
    const { tensors: parameters } = await readSafetensors(join(folder, 'inner_link.safetensors'))
    link = {
      type: 'ln_res_adapter',
      parameters: Object.fromEntries([...parameters].map(([k, t]) => [k, t.data as Float32Array])),
    }
  })
  afterAll(() => agent.dispose())

  it('embeds tokens', async () => {
    expect(relativeError(await agent.embed(ids.flat()), want.embeds)).toBeLessThan(1e-6)
  })

  it('computes states and logits', async () => {
    const rows = ids.map(tokenRow)
    const states = await agent.states(rows, ids.map(all))
    expect(relativeError(states, want.hidden)).toBeLessThan(1e-4)
    expect(relativeError(await agent.logits(rows, ids.map(all)), want.logits)).toBeLessThan(1e-4)
  })

  it('hands the same states from block to block', async () => {
    const { config } = agent
    const g = new Graph('layers')
    const weights = new FileWeights(g, await openTextWeights(join(modelsFolder, name)), 'float32')
    const x = embedTokens(g, config, weights, g.input('ids', 'int64', [ids[0].length]))
    const pass = plainPass(g, config, ids[0].length)
    g.output(x, 'before 0')
    for (const n of range(1, config.layers))
      g.output(decoderBlocks(pass, { ...config, layers: n }, weights, x), `before ${n}`)
    const session = await EngineSession.open(g, { threads: 1 })
    try {
      const results = await session.run({
        ids: { data: BigInt64Array.from(ids[0].map(BigInt)), shape: [ids[0].length] },
      })
      const size = ids[0].length * h()
      expect(want.layer_states.length).toBe(config.layers * size)
      for (const n of range(0, config.layers)) {
        const expected = want.layer_states.slice(n * size, (n + 1) * size)
        expect(relativeError(results[`before ${n}`].data as Float32Array, expected), `block ${n}`).toBeLessThan(1e-4)
      }
    } finally {
      await session.dispose()
    }
  })

  it('gives the same states after cached text, in a batch of rows of different lengths', async () => {
    const [a, b] = await agent.encodePrefixes([ids[0].slice(0, 9), ids[1].slice(0, 14)])
    const rows: Row[] = [
      { prefix: a, segments: [{ kind: 'tokens', ids: ids[0].slice(9) }] },
      { prefix: b, segments: [{ kind: 'tokens', ids: ids[1].slice(14) }] },
      tokenRow(ids[1]),
    ]
    const states = await agent.states(rows, [range(0, 15), range(0, 10), range(0, 24)])
    const one = (b: number, from: number) => want.hidden.slice((b * 24 + from) * h(), (b + 1) * 24 * h())
    expect(relativeError(states[0], one(0, 9))).toBeLessThan(1e-4)
    expect(relativeError(states[1], one(1, 14))).toBeLessThan(1e-4)
    expect(relativeError(states[2], one(1, 0))).toBeLessThan(1e-4)
  })

  it('differentiates states with respect to embeddings', async () => {
    const row = latentRow(want['vjp.inputs_embeds'])
    const result = await agent.vjp([row], { positions: [range(0, 20)], cotangents: [want['vjp.cotangent']] })
    expect(relativeError(result.states, want['vjp.hidden'])).toBeLessThan(1e-4)
    expect(relativeError(result.gradients[0], want['vjp.grad'])).toBeLessThan(1e-4)
  })

  it('differentiates the cross-entropy of target tokens', async () => {
    const row = latentRow(want['vjp.inputs_embeds'])
    const targets = [{ positions: range(11, 19), ids: ids[0].slice(12, 20) }]
    const result = await agent.vjp([row], { positions: [[]], targets })
    expect(relativeError(result.losses, want['ce.loss'])).toBeLessThan(1e-5)
    expect(relativeError(result.gradients[0], want['ce.grad'])).toBeLessThan(1e-4)
    expect(relativeError(await agent.crossEntropy([row], targets), want['ce.loss'])).toBeLessThan(1e-5)
  })

  it('differentiates after cached text as without', async () => {
    const [prefix] = await agent.encodePrefixes([ids[0].slice(0, 7)])
    const latents = want['vjp.inputs_embeds'].slice(0, 5 * h())
    const rest = [
      { kind: 'latents' as const, values: latents, count: 5 },
      { kind: 'tokens' as const, ids: ids[1].slice(0, 6) },
    ]
    const request = { positions: [[10]], cotangents: [want['vjp.cotangent'].slice(-h())] }
    const cached = await agent.vjp([{ prefix, segments: rest }], request)
    const whole = await agent.vjp([{ segments: [{ kind: 'tokens', ids: ids[0].slice(0, 7) }, ...rest] }], {
      ...request,
      positions: [[17]],
    })
    expect(relativeError(cached.gradients[0], whole.gradients[0][0])).toBeLessThan(1e-5)
  })

  it('rolls out latents, teacher-forced and free', async () => {
    const prompts = ids.map((row) => row.slice(0, PROMPT))
    const fed = (b: number) => want['rollout.fed'].slice(b * LATENTS * h(), (b + 1) * LATENTS * h())
    const forced = await agent.states(
      prompts.map((p, b) => ({
        segments: [
          { kind: 'tokens', ids: p },
          { kind: 'latents', values: fed(b).slice(0, (LATENTS - 1) * h()), count: LATENTS - 1 },
        ],
      })),
      prompts.map(() => range(PROMPT - 1, PROMPT - 1 + LATENTS)),
    )
    expect(relativeError(forced, want['rollout.states'])).toBeLessThan(1e-4)
    const free = await agent.rollout(prompts.map(tokenRow), link, LATENTS)
    // rounding grows from step to step (golden/README.md)
    const tolerance = agent.config.delta ? 1e-3 : 1e-4
    expect(relativeError(free.states, want['rollout.states'])).toBeLessThan(tolerance)
    expect(relativeError(free.fed, want['rollout.fed'])).toBeLessThan(tolerance)
  })

  it('rolls out rows of different lengths and cached rows as each alone', async () => {
    const [prefix] = await agent.encodePrefixes([ids[0].slice(0, 6)])
    const rows: Row[] = [
      tokenRow(ids[0].slice(0, PROMPT)),
      tokenRow(ids[1].slice(0, 17)),
      { prefix, segments: [{ kind: 'tokens', ids: ids[0].slice(6, 19) }] },
    ]
    const together = await agent.rollout(rows, link, 10)
    for (let i = 0; i < rows.length; i++) {
      const alone = await agent.rollout([rows[i]], link, 10)
      expect(relativeError(together.states[i], alone.states[0])).toBeLessThan(1e-4)
    }
  })

  const greedy = { maxNewTokens: GREEDY, sample: false, temperature: 1, topK: 0, topP: 1, minP: 0, stopIds: [] }

  it('writes the same greedy text, after tokens and after latents', async () => {
    const text = await agent.generate(
      ids.map((row) => tokenRow(row.slice(0, PROMPT))),
      greedy,
    )
    expect(text.flat()).toEqual([...want['greedy.tokens']].map(Number))
    const rows = ids.map((row, b): Row => ({
      segments: [
        { kind: 'tokens', ids: row.slice(0, PROMPT) },
        {
          kind: 'latents',
          values: want['rollout.fed'].slice(b * LATENTS * h(), (b + 1) * LATENTS * h()),
          count: LATENTS,
        },
        { kind: 'tokens', ids: row.slice(PROMPT) },
      ],
    }))
    expect((await agent.generate(rows, greedy)).flat()).toEqual([...want['greedy_after_latents.tokens']].map(Number))
  })

  it('continues text over several runs as in one, and stops each row at its own stop id', async () => {
    const rows = [tokenRow(ids[0].slice(0, PROMPT)), tokenRow(ids[1].slice(0, 11))]
    const long = await agent.generate(rows, { ...greedy, maxNewTokens: 80 })
    expect(long.map((t) => t.length)).toEqual([80, 80])
    for (let i = 0; i < 2; i++) {
      const [again] = await agent.generate(
        [{ segments: [{ kind: 'tokens', ids: [...ids[i].slice(0, i === 0 ? PROMPT : 11), ...long[i].slice(0, 50)] }] }],
        { ...greedy, maxNewTokens: 30 },
      )
      expect(again).toEqual(long[i].slice(50))
    }
    const stop = long[0][40]
    const stopped = await agent.generate(rows, { ...greedy, maxNewTokens: 80, stopIds: [stop] })
    stopped.forEach((t, i) => {
      const at = long[i].indexOf(stop)
      expect(t).toEqual(at < 0 ? long[i] : long[i].slice(0, at + 1))
    })
  })
})

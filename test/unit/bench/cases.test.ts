/** What the benchmark measures: names, inputs by size, operations counted by hand, the straight line, quantiles. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { casesByDefault, casesNamed } from '../../bench/cases'
import { needOf } from '../../bench/flops'
import { type BenchInputs, makeInputs } from '../../bench/inputs'
import { seriesTable, straightLine } from '../../bench/report'
import { quantile, waitsTable } from '../../bench/waits'

describe('the works', () => {
  it('are found by name and by group, and have names of their own', () => {
    expect(casesNamed('rollout')).toEqual([casesByDefault.find(({ name }) => name === 'rollout')])
    expect(casesNamed('forward')!.map(({ name }) => name)).toEqual(['forward_hidden', 'forward_logits'])
    for (const none of ['rollouts', 'toString', '']) expect(casesNamed(none)).toBe(null)
    const all = [...casesByDefault, ...casesNamed('scaling')!, ...casesNamed('delta')!]
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
  })

  it('have the inputs that their size says', () => {
    const usual = makeInputs(500)
    for (const c of casesNamed('scaling')!) {
      const { size, name } = c.series!
      const { outer, think, rollout, rollout8 } = c.inputs!(usual, 500)
      const measured = {
        step_rounds: outer.rounds,
        think_rounds: think?.rounds,
        batch: rollout8.prompts.length,
        prompt: rollout.prompts[0].length,
      }[name]
      expect([c.name, measured]).toEqual([c.name, size])
    }
    expect(casesNamed('step_rounds')!.map(({ series }) => series!.size)).toEqual([1, 2, 4, 8])
    // an unused link stops the baseline
    expect(casesNamed('step_rounds1')![0].baseline).toBe(null)
  })
})

describe('operations and traffic', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bench-need-'))
    const config = {
      model_type: 'llama',
      architectures: ['LlamaForCausalLM'],
      hidden_act: 'silu',
      rms_norm_eps: 1e-5,
      tie_word_embeddings: true,
      hidden_size: 8,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 4,
      intermediate_size: 5,
      vocab_size: 11,
      max_position_embeddings: 64,
      rope_theta: 10_000,
    }
    await writeFile(join(folder, 'config.json'), JSON.stringify(config))
  })
  afterAll(() => rm(folder, { recursive: true }))

  // matrices of a layer: queries 8 x 16, keys and values 8 x 8 each, back 16 x 8, three of 8 x 5
  const body = 2 * (128 + 64 + 64 + 128 + 3 * 40)
  const head = 88
  const few = (count: number) => Array.from({ length: count }, () => 1)
  const usual = makeInputs(11)
  const inputs: BenchInputs = {
    ...usual,
    forward: { ids: few(7) },
    rollout: { prompts: [few(5)], latent_steps: 4 },
    rollout8: { prompts: [few(5), few(5)], latent_steps: 4 },
    decode: { prompt: few(6), new_tokens: 3 },
    inner: { ...usual.inner, ids: [few(9), few(9)] },
  }

  it('of passes, rollouts and decoding', async () => {
    const need = (work: Parameters<typeof needOf>[0]) => needOf(work, folder, inputs)
    expect(await need('forward_hidden')).toEqual({ flops: 2 * body * 7 })
    expect(await need('forward_logits')).toEqual({ flops: 2 * (body + head) * 7 })
    // the last state is fed no more; every step reads the weights once, however many rows
    expect(await need('rollout')).toEqual({ flops: 2 * body * 8, stepBytes: 4 * body * 3 })
    expect(await need('rollout8')).toEqual({ flops: 2 * body * 16, stepBytes: 4 * body * 3 })
    expect(await need('decode')).toEqual({ flops: 2 * body * 8 + 2 * head * 3, stepBytes: 4 * (body + head) * 2 })
    expect(await need('inner_step')).toEqual({ flops: 2 * body * 18 })
  })

  it('of an outer step grow by the same for every further round but the first', async () => {
    const prompt = { before: few(20), after: few(4) }
    const sample = { targets: [few(12), few(6), few(8)], planner: prompt, planner_feedback: prompt, refiner: prompt }
    const of = async (rounds: number) => {
      const outer = { ...usual.outer, rounds, max_latents: 10, samples: [{ ...sample, solver: prompt }] }
      return (await needOf('outer_step', folder, { ...inputs, outer })).flops
    }
    // stages: slot of 10, 4 after it, target of at most 10; forward and back
    const [planner, refiner, solver] = [10 + 4 + 10, 10 + 4 + 6, 10 + 4 + 8]
    const first = 20 + 4 + 10 + 20 + 20 + 2 * (refiner + solver)
    expect(await of(1)).toBe(2 * body * first + 4 * head * 8)
    expect((await of(2)) - (await of(1))).toBe(2 * body * (20 + 2 * (planner + refiner + solver)))
    expect((await of(3)) - (await of(2))).toBe(2 * body * 2 * (planner + refiner + solver))
    expect((await of(8)) - (await of(7))).toBe((await of(3)) - (await of(2)))
  })
})

describe('the straight line', () => {
  it('is the least-squares one, and says how far the furthest point is from it', () => {
    expect(
      straightLine([
        [1, 5],
        [2, 7],
        [4, 11],
        [8, 19],
      ]),
    ).toMatchObject({ start: 3, slope: 2 })
    const bent = straightLine([
      [0, 1],
      [1, 1],
      [2, 4],
    ])
    expect(bent.slope).toBeCloseTo(1.5, 12)
    expect(bent.start).toBeCloseTo(0.5, 12)
    // at x = 0 the line is 0.5 and the point 1
    expect(bent.furthest).toBeCloseTo(1, 12)
  })

  it('is told for series that should lie on one, from three points on', () => {
    const points = casesNamed('step_rounds')!.map((c) => ({ case: c, ours: 2 + 3 * c.series!.size, theirs: null }))
    const line = 'step_rounds, ours: 3.000 s a round and 2.000 s once; no point is further than 0 % from that line\n'
    expect(seriesTable(points).endsWith(line)).toBe(true)
    expect(seriesTable(points).slice(0, -line.length)).not.toContain('from that line')
    expect(seriesTable(points.slice(0, 2))).not.toContain('from that line')
    const batches = casesNamed('batch')!.map((c) => ({ case: c, ours: 1, theirs: 1 }))
    expect(seriesTable(batches)).not.toContain('from that line')
  })
})

describe('waits', () => {
  it('are late where more than five of a hundred are', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
    expect([quantile(hundred, 0.5), quantile(hundred, 0.95), quantile(hundred, 1)]).toEqual([50, 95, 100])
    expect(quantile([7], 0.95)).toBe(7)
    const verdict = (late: number) =>
      waitsTable({ waits: [{ what: 'jump', ms: hundred.map((_, i) => (i < late ? 101 : 1)), target: 100 }] })
    expect(verdict(5)).toMatch(/met\n$/)
    expect(verdict(6)).toMatch(/BEHIND\n$/)
  })
})

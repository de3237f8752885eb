/** Systems of random models over rows as the public benchmarks have them: real prompts, real text, real grading. */
import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { OnnxAgent } from '../../../src-main/engine/agents/onnx-agent'
import { resultRecord, sampleRecord, type SampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { jsonLines, roles, run, Workplace } from '../training/run-demo-job'
import { byteModel } from './byte-model'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

type Spec = Extract<JobSpecInput, { kind: 'evaluate' }>
type Agents = NonNullable<Spec['agents']>

const gsm8k = [
  {
    question: "Lena's hens lay 9 eggs a day. She eats two and sells the rest at $3 each. What does she earn?",
    answer: 'She sells 9 - 2 = <<9-2=7>>7 eggs.\nThat makes 7 * 3 = $<<7*3=21>>21.\n#### 21',
  },
  { question: 'A rope of 12 m is cut in 4. How long is one piece?', answer: '12 / 4 = <<12/4=3>>3 m.\n#### 3' },
]
const math500 = [
  { problem: 'What is $\\sqrt{49}$?', answer: '7', level: 1, subject: 'Prealgebra' },
  { problem: 'Compute $\\sum_{k=1}^{2} \\frac{1}{k}$.', answer: '\\frac{3}{2}', level: 2, subject: 'Algebra' },
]

function data(name: string, rows: readonly object[]): Spec['data'] {
  writeFileSync(place.path(name), rows.map((r) => JSON.stringify(r) + '\n').join(''))
  return { file: place.path(name) }
}

/** Three models of different widths, as in a real team. */
async function team(): Promise<Agents> {
  const widths = [32, 48, 64]
  return Promise.all(roles.map(async (role, i) => ({ role, model: await byteModel(i + 1, widths[i]) })))
}

const samples = (output: string) =>
  jsonLines<SampleRecord>(`${output}/samples.jsonl`)
    .map((s) => sampleRecord.parse(s))
    .sort((a, b) => a.index - b.index)

const evaluation = (name: string, agents: Agents, more: Partial<Spec> & Pick<Spec, 'data'>): Spec => ({
  kind: 'evaluate',
  agents,
  latentSteps: 4,
  generation: { maxNewTokens: 6 },
  output: place.path(name),
  ...more,
})

describe.each([1, 3])('a system of random models, R = %i', (rounds) => {
  it.each([
    ['gsm8k', gsm8k, ['21', '3']],
    ['math500', math500, ['7', '\\frac{3}{2}']],
  ] as const)('writes and grades %s', async (name, rows, gold) => {
    const output = place.path('run')
    const heard = await run(evaluation('run', await team(), { data: data('rows.jsonl', rows), rounds }))
    expect(heard.failure).toBe('')
    const all = samples(output)
    expect(all.map((s) => s.gold)).toEqual(gold)
    for (const s of all) {
      expect(s.stages.map((x) => `${x.round} ${x.role}`)).toEqual(
        Array.from({ length: rounds }, (_, r) => roles.map((role) => `${r + 1} ${role}`)).flat(),
      )
      expect(s.tokens).toBeGreaterThan(0)
      expect(s.tokens).toBeLessThanOrEqual(6)
      expect(s.grades.map((g) => g.grader)).toEqual(['reference', 'strict'])
      expect(s.correct).toBe(false)
      // the agents read the question whole
      const read = s.stages[0].prompt.map((p) => (p.kind === 'text' ? p.text : '')).join('')
      expect(read).toContain(s.question)
    }
    const result = resultRecord.parse(JSON.parse(readFileSync(`${output}/result.json`, 'utf8')))
    expect(result.accuracy).toMatchObject({ value: 0, n: 2 })
    expect(result.strictAccuracy).toMatchObject({ value: 0, n: 2 })
    expect(Object.keys(result.groups)).toEqual(name === 'math500' ? ['level', 'subject'] : [])
  })
})

describe('the retry of an unreadable answer', () => {
  const mixed = [
    { question: 'What is 1 + 1?', answer: '2' },
    { question: 'Write a program that prints 2.', answer: '2', task_family: 'code' },
    { question: 'What is 1 + 2?', answer: '3' },
  ]

  it('is as long as the row’s own task allows, whatever stands beside it', async () => {
    const agents = (await team()).slice(2)
    const job = (name: string, batchSize: number) =>
      evaluation(name, agents, {
        passing: 'single',
        data: data('rows.jsonl', mixed),
        batchSize,
        keepLatents: false,
        generation: { maxNewTokens: 3, answerRetry: true },
      })
    expect((await run(job('together', 3))).failure).toBe('')
    await run(job('alone', 1))
    const [together, alone] = [samples(place.path('together')), samples(place.path('alone'))]
    expect(together.map((s) => s.output)).toEqual(alone.map((s) => s.output))
    expect(together.map((s) => s.tokens)).toEqual(alone.map((s) => s.tokens))
    const [first, code, third] = together.map((s) => s.tokens)
    expect([first, third]).toEqual([3 + 64, 3 + 64])
    expect(code).toBeGreaterThan(3 + 64)
    expect(code).toBeLessThanOrEqual(3 + 256)
  })
})

describe.each(['reference', 'corrected'] as const)('the retry in %s mode', (mode) => {
  it(`continues ${mode === 'reference' ? 'the text alone' : 'the conversation'}`, async () => {
    const generate = vi.spyOn(OnnxAgent.prototype, 'generate')
    const spec = evaluation('run', await team(), {
      data: data('rows.jsonl', gsm8k.slice(0, 1)),
      mode,
      rounds: 1,
      generation: { maxNewTokens: 3, answerRetry: true },
    })
    expect((await run(spec)).failure).toBe('')
    const [[asked], [again]] = generate.mock.calls.map(([rows]) => rows)
    expect(generate).toHaveBeenCalledTimes(2)
    expect(asked.segments.map((s) => s.kind)).toContain('latents')
    expect(again.segments.at(-1)!.kind).toBe('tokens')
    if (mode === 'reference') expect([again.prefix, again.segments.length]).toEqual([undefined, 1])
    else expect([again.prefix, again.segments.slice(0, -1)]).toEqual([asked.prefix, asked.segments])
    vi.restoreAllMocks()
  })
})

describe('a long generation', () => {
  it('shows its text as it grows, and stops in the middle when asked to', async () => {
    const agents = (await team()).slice(2)
    const long = evaluation('run', agents, {
      passing: 'single',
      data: data('rows.jsonl', gsm8k),
      generation: { maxNewTokens: 4000 },
    })
    const heard = await run(long, { stopAt: (e) => e.kind === 'progress' && e.writing !== undefined })
    expect(heard.last).toMatchObject({ kind: 'stopped', resumable: true })
    expect(heard.of('question')).toEqual([])
    const [{ writing }] = heard.of('progress').filter((p) => p.writing)
    expect(writing!.tokens).toBeGreaterThan(0)
    expect(writing!.tokens).toBeLessThan(2 * 4000)
    expect(readFileSync(`${place.path('run')}/journal.jsonl`, 'utf8')).not.toContain('"writing"')
    // what was shown is how the text begins
    const whole = { ...long, generation: { maxNewTokens: 64 }, output: place.path('whole') }
    await run(whole)
    const { output } = samples(place.path('whole')).find((s) => s.index === writing!.index)!
    expect(writing!.text.trim().length).toBeGreaterThan(0)
    expect(output.startsWith(writing!.text.trim().slice(0, 30))).toBe(true)
  })
})

describe('sampling', () => {
  it('goes on where a checkpoint proposes what cannot be, and says so', async () => {
    const [, , solver] = await team()
    writeFileSync(`${solver.model}/generation_config.json`, JSON.stringify({ temperature: 0, top_p: 0 }))
    const job = evaluation('run', [solver], {
      passing: 'single',
      data: data('rows.jsonl', gsm8k),
      generation: { maxNewTokens: 6, sample: true },
    })
    const heard = await run(job)
    expect(heard.last).toMatchObject({ kind: 'finished' })
    const said = heard.of('log').map((l) => l.message)
    expect(said.filter((m) => m.includes('left out'))).toEqual([
      expect.stringContaining('temperature'),
      expect.stringContaining('top_p'),
    ])
    expect(samples(place.path('run')).every((s) => s.tokens > 0)).toBe(true)
    const greedy = await run({ ...job, output: place.path('greedy'), generation: { maxNewTokens: 6 } })
    expect(greedy.of('log')).toEqual([])
  })
})

describe('untrained links', () => {
  it('are of the types that the job names', async () => {
    const agents = await team()
    const latents = async (name: string, more: Partial<Spec>) => {
      const job = evaluation(name, agents, { data: data('rows.jsonl', gsm8k.slice(0, 1)), rounds: 1, ...more })
      expect((await run(job)).failure).toBe('')
      return samples(place.path(name))[0].stages.map((s) => s.latents?.norms ?? null)
    }
    const usual = await latents('usual', {})
    expect(await latents('named', { linkType: 'outer_ln_res_adapter' })).toEqual(usual)
    const outer = await latents('outer', { linkTypes: { outer_12: 'outer_adapter' } })
    expect(outer[0]).toEqual(usual[0])
    expect(outer[1]).not.toEqual(usual[1])
    const inner = await latents('inner', { agents: agents.map((a) => ({ ...a, innerLinkType: 'adapter' as const })) })
    expect(inner[0]).not.toEqual(usual[0])
    const wrong = await run(
      evaluation('wrong', agents, { data: data('rows.jsonl', gsm8k), linkTypes: { outer_13: 'outer_adapter' } }),
    )
    expect(wrong.failure).toMatch(/outer_12, outer_23, outer_31, but no outer_13/)
  })
})

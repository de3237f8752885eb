import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resultRecord, sampleRecord, type SampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { agents, demo, jsonLines, run, Workplace } from '../training/run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

type Spec = Extract<JobSpecInput, { kind: 'evaluate' }>

const evaluation = (output: string, more: Partial<Spec> = {}): Spec => ({
  kind: 'evaluate',
  promptPack: demo('prompt-pack.json'),
  seed: 1,
  agents,
  data: { file: demo('held-out.jsonl'), limit: 9 },
  rounds: 3,
  latentSteps: 5,
  batchSize: 4,
  generation: { maxNewTokens: 12 },
  grader: 'exact',
  output,
  ...more,
})

const samples = (output: string) => jsonLines<SampleRecord>(`${output}/samples.jsonl`).map((s) => sampleRecord.parse(s))
const byIndex = (output: string) => samples(output).sort((a, b) => a.index - b.index || a.rollout - b.rollout)
/** Everything but the time it took. */
const timeless = (s: SampleRecord[]) => s.map((x) => ({ ...x, seconds: null }))

describe('the team passing text', () => {
  it('solves one step a round, and its stages can be looked at', async () => {
    const output = place.path('text')
    const heard = await run(evaluation(output, { passing: 'text' }))
    expect(heard.last).toMatchObject({ kind: 'finished', accuracy: { value: 1, n: 9 }, strictAccuracy: null })
    const result = resultRecord.parse(JSON.parse(readFileSync(`${output}/result.json`, 'utf8')))
    expect(result.accuracy).toEqual(heard.of('finished')[0].accuracy)
    expect(result.groups.depth).toMatchObject({
      '1': { value: 1, n: 3 },
      '2': { value: 1, n: 3 },
      '3': { value: 1, n: 3 },
    })
    const [first] = byIndex(output)
    expect(first.stages.map((s) => `${s.round} ${s.role}`)).toEqual(
      [1, 2, 3].flatMap((r) => ['planner', 'critic', 'solver'].map((x) => `${r} ${x}`)),
    )
    const critic = first.stages[1]
    expect(critic.prompt.filter((p) => p.kind === 'slot')).toEqual([
      { kind: 'slot', name: 'plan', length: expect.any(Number), from: 'planner', text: first.stages[0].text },
    ])
    expect(first.stages.at(-1)!.text).toBe(first.output)
    expect(first.output).toBe(first.gold)
    const one = await run(evaluation(place.path('one'), { passing: 'text', rounds: 1, keepLatents: false }))
    expect(one.of('finished')[0].accuracy!.value).toBeCloseTo(1 / 3)
    expect(samples(place.path('one')).every((s) => s.stages.length === 0)).toBe(true)
  })
})

describe('the system passing latents', () => {
  it('gives every question the same whatever batch it is in, and keeps a picture of what was thought', async () => {
    await run(evaluation(place.path('a')))
    await run(evaluation(place.path('b'), { batchSize: 1 }))
    const [a, b] = [byIndex(place.path('a')), byIndex(place.path('b'))]
    expect(a.map((s) => s.output)).toEqual(b.map((s) => s.output))
    expect(a.map((s) => s.stages.length)).toEqual(Array(9).fill(9))
    const close = (x: number[], y: number[]) =>
      x.forEach((v, i) => expect(Math.abs(v - y[i])).toBeLessThan(1e-3 * Math.max(1, Math.abs(v))))
    a.forEach((s, k) =>
      s.stages.forEach((stage, i) => stage.latents && close(stage.latents.norms, b[k].stages[i].latents!.norms)),
    )
    const [first] = a
    const planner = first.stages.filter((s) => s.role === 'planner').map((s) => s.latents!)
    expect(planner.map((l) => l.norms.length)).toEqual([5, 5, 5])
    expect(planner[0].cosines).toEqual(Array(5).fill(null))
    expect(planner[2].cosines.every((c) => c !== null && Math.abs(c) <= 1)).toBe(true)
    // the last stage writes; nothing is thought in it
    expect(first.stages.at(-1)).toMatchObject({
      role: 'solver',
      round: 3,
      latents: null,
      text: first.output,
      tokens: first.tokens,
    })
    expect(first.stages[3].prompt.find((p) => p.kind === 'slot')).toMatchObject({
      name: 'feedback',
      length: 5,
      from: 'solver',
    })
  })

  it('with no latent steps leaves every slot empty', async () => {
    await run(evaluation(place.path('none'), { latentSteps: 0, rounds: 2 }))
    const [first] = byIndex(place.path('none'))
    expect(
      first.stages
        .flatMap((s) => s.prompt)
        .filter((p) => p.kind === 'slot')
        .every((p) => p.length === 0),
    ).toBe(true)
    // then the last agent reads what it reads alone
    await run(evaluation(place.path('alone'), { passing: 'single' }))
    expect(byIndex(place.path('alone')).map((s) => s.output)).toEqual(byIndex(place.path('none')).map((s) => s.output))
  })

  it.each(['untrained-links', 'shuffled-links', 'other-questions'] as const)(
    'refuses the control %s where no latent is read',
    async (control) => {
      const failure = async (more: Partial<Spec>) =>
        (await run(evaluation(place.path(control), { control, ...more }))).failure
      const nothing = `The control "${control}" would change nothing.`
      expect(await failure({ latentSteps: 0 })).toBe(
        `${nothing} With "latentSteps" at 0 every slot is empty, and no link is used. ` +
          'Leave out "control", or set "latentSteps" to 1 or more.',
      )
      expect(await failure({ passing: 'single' })).toBe(
        `${nothing} A single agent reads no latents. Leave out "control", or set "passing" to "latents".`,
      )
      expect(await failure({ passing: 'text' })).toMatch('The team passes text, no latents.')
      expect(existsSync(place.path(control))).toBe(false)
    },
  )

  it('fresh links come from the seed', async () => {
    const text = async (seed: number, name: string) => {
      await run(evaluation(place.path(name), { seed, rounds: 1, data: { file: demo('held-out.jsonl'), limit: 2 } }))
      return byIndex(place.path(name)).map((s) => s.stages[0].latents)
    }
    expect(await text(5, 'a')).toEqual(await text(5, 'b'))
    expect(await text(6, 'c')).not.toEqual(await text(5, 'd'))
  })
})

describe('rollouts', () => {
  it('sampled texts differ by rollout and seed only, and any right one counts', async () => {
    const sampled = {
      passing: 'single' as const,
      rollouts: 3,
      generation: { maxNewTokens: 12, sample: true, temperature: 2, topK: 0, topP: 1 },
    }
    await run(evaluation(place.path('a'), sampled))
    await run(evaluation(place.path('b'), { ...sampled, batchSize: 2 }))
    const a = byIndex(place.path('a'))
    expect(a).toHaveLength(27)
    expect(timeless(a)).toEqual(timeless(byIndex(place.path('b'))))
    expect(new Set(a.slice(0, 3).map((s) => s.output)).size).toBeGreaterThan(1)
    await run(evaluation(place.path('c'), { ...sampled, seed: 2 }))
    expect(byIndex(place.path('c')).map((s) => s.output)).not.toEqual(a.map((s) => s.output))
    const greedy = await run(evaluation(place.path('d'), { passing: 'text', rollouts: 2 }))
    expect(greedy.of('finished')[0].accuracy).toMatchObject({ value: 1, n: 9 })
    const both = byIndex(place.path('d'))
    expect(both[0].output).toBe(both[1].output)
  })
})

describe('resuming', () => {
  it('asks only what is not answered, after a stop and after a torn last line', async () => {
    const output = place.path('run')
    const spec = evaluation(output, { passing: 'text', rounds: 1, rollouts: 2, batchSize: 2 })
    const first = await run(spec, { stopAt: (e) => e.kind === 'question' && e.index >= 0 })
    expect(first.last).toMatchObject({ kind: 'stopped', resumable: true })
    const answered = samples(output).length / 2
    expect(answered).toBeGreaterThan(0)
    expect(answered).toBeLessThan(9)
    // one rollout of a question and half a line: that question is asked again
    const torn = JSON.stringify({ ...samples(output)[0], index: 8 }) + '\n{"index": 3, "ro'
    appendFileSync(`${output}/samples.jsonl`, torn)
    const second = await run(spec, { resume: true })
    expect(second.of('started')[0].resumedFrom).toBe(answered)
    expect(second.of('question')).toHaveLength(9 - answered)
    await run(evaluation(place.path('whole'), { passing: 'text', rounds: 1, rollouts: 2, batchSize: 2 }))
    expect(timeless(byIndex(output))).toEqual(timeless(byIndex(place.path('whole'))))
  })
})

describe('real benchmark columns', () => {
  const problems = [
    { problem: 'What is $1+1$?', answer: '2' },
    { question: 'How many?', answer: 'Two and two are 4.\n#### 4' },
  ]
  it.each(problems)('$answer', async (row) => {
    writeFileSync(place.path('data.jsonl'), JSON.stringify(row) + '\n')
    const output = place.path('run')
    const heard = await run({
      ...evaluation(output, { rounds: 1, latentSteps: 2, passing: 'latents' }),
      promptPack: undefined,
      grader: 'math',
      data: { file: place.path('data.jsonl') },
      generation: { maxNewTokens: 3, answerRetry: true },
    } as Spec)
    expect(heard.failure).toBe('')
    const [sample] = samples(output)
    expect(sample.gold).toBe(row.answer.slice(-1))
    expect(sample.grades.map((g) => g.grader)).toEqual(['reference', 'strict'])
    // nothing was boxed, so the answer was asked for once more
    expect(sample.output).toContain('\\boxed{')
    expect(heard.of('finished')[0].strictAccuracy).toMatchObject({ n: 1 })
  })

  it('names the columns when none fits', async () => {
    writeFileSync(place.path('data.jsonl'), JSON.stringify({ prompt: 'q', answer: 'a' }) + '\n')
    const heard = await run(evaluation(place.path('run'), { data: { file: place.path('data.jsonl') } }))
    expect(heard.failure).toMatch(/question or problem.*prompt, answer/)
  })
})

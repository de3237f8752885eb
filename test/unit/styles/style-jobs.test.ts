/** Every style and two custom ones as jobs on tiny random models: trained, evaluated, and with the controls. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SampleRecord, sampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { styles } from '../../../src-main/engine/styles/registry'
import { isFeedback, type StyleDefinition } from '../../../src-main/engine/styles/style'
import { openStyle } from '../../../src-main/engine/styles/style-file'
import { linksUsed, walk } from '../../../src-main/engine/styles/walk'
import { writeByteModel } from '../evaluation/byte-model'
import { jsonLines, run, Workplace } from '../training/run-demo-job'

const file = (name: string) => fileURLToPath(new URL(`files/${name}`, import.meta.url))
const custom = [file('ring.json'), file('chain.json')]

type Outer = Extract<JobSpecInput, { kind: 'outer' }>
type Evaluate = Extract<JobSpecInput, { kind: 'evaluate' }>

let place: Workplace
/** Widths 32 and 48, in turn: agents one apart differ, agents two apart are alike. */
let models: string[]
beforeAll(async () => {
  place = new Workplace()
  models = [1, 2, 3, 4, 5].map((seed) => place.path(`model-${seed}`))
  await Promise.all(models.map((folder, i) => writeByteModel(folder, i + 1, i % 2 ? 48 : 32)))
  writeFileSync(place.path('rows.jsonl'), rows.map((r) => JSON.stringify(r) + '\n').join(''))
})
afterAll(() => place.dispose())

const rows = [4, 7, 9, 5].map((n) => {
  const answer = `\\boxed{${n + 1}}`
  return {
    question: `What comes after ${n}?`,
    answer,
    plan: 'Count on.',
    refined_plan: 'Count on by one.',
    expert_math: `${n}+1`,
    expert_code: `print(${n}+1)`,
    expert_science: 'No units.',
    expert_plan: 'Add one.',
    doubts: 'None.',
    note: `${n}`,
    sketch: `${n}+1`,
    check: 'Right.',
  }
})

const data = () => ({ file: place.path('rows.jsonl') })
const team = (style: StyleDefinition) => style.roles.map(({ role }, i) => ({ role, model: models[i] }))

const training = (style: StyleDefinition, name: string, more: Partial<Outer>): Outer => ({
  kind: 'outer',
  style: name,
  agents: team(style),
  data: data(),
  latentCap: 4,
  steps: 14,
  batchSize: 2,
  learningRate: 1e-2,
  warmupSteps: 0,
  logEvery: 1,
  output: place.path(`outer-${style.name}`),
  ...more,
})

const evaluation = (style: StyleDefinition, name: string, output: string, more: Partial<Evaluate>): Evaluate => ({
  kind: 'evaluate',
  style: name,
  agents: team(style),
  data: { ...data(), limit: 3 },
  latentSteps: 3,
  batchSize: 2,
  generation: { maxNewTokens: 4 },
  output: place.path(output),
  ...more,
})

const samples = (output: string): SampleRecord[] =>
  jsonLines<SampleRecord>(`${place.path(output)}/samples.jsonl`)
    .map((s) => sampleRecord.parse(s))
    .sort((a, b) => a.index - b.index)

const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length

describe.each([...styles.map((s) => [s.name, 3] as const), ...custom.map((f) => [f, 2] as const)])(
  '%s, %i rounds',
  (name, rounds) => {
    let style: StyleDefinition
    beforeAll(async () => ({ style } = await openStyle(name, undefined)))

    it('trains with falling loss, every link having a gradient in every round in which it is used', async () => {
      const heard = await run(training(style, name, { rounds }))
      expect(heard.failure).toBe('')
      const losses = heard.losses().map(([, loss]) => loss)
      expect(losses).toHaveLength(14)
      expect(mean(losses.slice(-3))).toBeLessThan(0.95 * mean(losses.slice(0, 3)))
      const used = linksUsed(style, rounds)
      for (const { gradNorms } of heard.of('metrics'))
        for (const { key } of style.links)
          for (const [round, keys] of used.entries()) {
            const norm = gradNorms?.[key]?.[round] ?? null
            if (keys.has(key)) expect(norm, `${key} in round ${round + 1}`).toBeGreaterThan(0)
            else expect(norm, `${key} in round ${round + 1}`).toBeNull()
          }
    })

    it('trains in reference mode with every round’s answer supervised, and in one round what one round has', async () => {
      const more: Partial<Outer> = { mode: 'reference', warmupSteps: 1, steps: 2, superviseFinalOnly: false }
      for (const r of [rounds, 1]) {
        const heard = await run(
          training(style, name, { ...more, rounds: r, output: place.path(`reference-${style.name}-${r}`) }),
        )
        expect(heard.failure).toBe('')
        const used = linksUsed(style, r, { answersEveryRound: true })
        for (const { gradNorms, roundLosses } of heard.of('metrics')) {
          expect(roundLosses).toHaveLength(r)
          expect(roundLosses!.every((l) => l !== null && l > 0)).toBe(true)
          for (const { key } of style.links)
            for (const [round, keys] of used.entries())
              expect((gradNorms?.[key]?.[round] ?? 0) > 0, `${key} in round ${round + 1}`).toBe(keys.has(key))
        }
        const idle = style.links.filter(isFeedback).map((l) => l.key)
        const said = heard.of('log').map((l) => l.message)
        if (r === 1)
          expect(said).toContain(`Links that carry nothing in one round stay as they start: ${idle.join(', ')}.`)
        else expect(said.join()).not.toContain('carry nothing')
      }
    })

    it('answers with the trained links, in as many rounds as it was trained with and in eight', async () => {
      const outerLinks = place.path(`outer-${style.name}/checkpoints/step-14`)
      for (const r of [rounds, 8]) {
        const output = `answers-${style.name}-${r}`
        const heard = await run(
          evaluation(style, name, output, { outerLinks, rounds: r, latentSteps: r === 8 ? 1 : 3 }),
        )
        expect(heard.failure).toBe('')
        for (const sample of samples(output)) {
          const expected = walk(style, r).map((s) => `${s.round + 1} ${style.roles[s.agent].role}`)
          expect(sample.stages.map((s) => `${s.round} ${s.role}`)).toEqual(expected)
          expect(sample.tokens).toBeGreaterThan(0)
        }
      }
    })

    it('answers under every control', async () => {
      const outerLinks = place.path(`outer-${style.name}/checkpoints/step-14`)
      const norms = (s: SampleRecord) => s.stages.map((x) => x.latents?.norms ?? null)
      const heard = async (output: string, more: Partial<Evaluate>) => {
        const said = await run(evaluation(style, name, `${output}-${style.name}`, { outerLinks, rounds: 2, ...more }))
        expect(said.failure).toBe('')
        return samples(`${output}-${style.name}`)
      }
      const plain = await heard('plain', {})
      const none = await heard('none', { latentSteps: 0 })
      for (const s of none)
        for (const x of s.stages) for (const p of x.prompt) if (p.kind === 'slot') expect(p.length).toBe(0)
      // the first agents think the same whatever links there are; what they send differs
      const untrained = await heard('untrained', { control: 'untrained-links' })
      expect(norms(untrained[0])[0]).toEqual(norms(plain[0])[0])
      expect(norms(untrained[0])[style.agentCount]).not.toEqual(norms(plain[0])[style.agentCount])
      const drawn = await heard('drawn', { outerLinks: undefined })
      expect(norms(untrained[0])).toEqual(norms(drawn[0]))
      // up to the answer nothing is different, whatever batch a question is in
      const others = await heard('others', { control: 'other-questions' })
      const alone = await heard('others-alone', { control: 'other-questions', batchSize: 1 })
      for (const [k, s] of others.entries()) {
        norms(s).forEach((n, i) =>
          n?.forEach((v, t) => expect(Math.abs(v / norms(plain[k])[i]![t] - 1)).toBeLessThan(1e-4)),
        )
        expect(s.output).toBe(alone[k].output)
      }
      const shuffled = await run(
        evaluation(style, name, `shuffled-${style.name}`, { outerLinks, rounds: 2, control: 'shuffled-links' }),
      )
      // which links are alike is a matter of the widths here: in teams of more than three some are
      const alike = style.agentCount > 3
      if (!alike)
        expect(shuffled.failure).toMatch(/No two of them are of one type and of the same widths \(\w+: \d+ to \d+, /)
      else {
        expect(shuffled.failure).toBe('')
        const [mixed] = samples(`shuffled-${style.name}`)
        const first = walk(style, 1).findIndex((step) => step.reads.length > 0)
        expect(norms(mixed).slice(0, first)).toEqual(norms(plain[0]).slice(0, first))
        expect(norms(mixed)[first]).not.toEqual(norms(plain[0])[first])
      }
      const text = await heard('text', { outerLinks: undefined, passing: 'text' })
      for (const s of text) for (const x of s.stages) expect(x.tokens).toBeLessThanOrEqual(4)
      const single = await heard('single', { outerLinks: undefined, passing: 'single' })
      expect(single).toHaveLength(3)
      expect(single.map((s) => s.stages.map((x) => x.role))).toEqual(single.map(() => [style.roles[style.last].role]))
      expect(single.map((s) => s.output)).toEqual(none.map((s) => s.output))
    })
  },
)

describe('sequential in other numbers of rounds', () => {
  let style: StyleDefinition
  beforeAll(async () => ({ style } = await openStyle('sequential', undefined)))

  it.each([1, 2, 5, 8])('trains in %i: every link has a gradient in every round that reads it', async (rounds) => {
    const output = place.path(`rounds-${rounds}`)
    const heard = await run(training(style, 'sequential', { rounds, steps: 2, output }))
    expect(heard.failure).toBe('')
    expect(heard.of('metrics')).toHaveLength(2)
    for (const { gradNorms } of heard.of('metrics'))
      for (const link of style.links) {
        const norms = gradNorms![link.key] ?? Array.from({ length: rounds }, () => null)
        expect(norms).toHaveLength(rounds)
        // feedback of the last round has no reader
        const used = isFeedback(link) ? rounds - 1 : rounds
        expect(
          norms.slice(0, used).every((norm) => norm !== null && norm > 0),
          link.key,
        ).toBe(true)
        expect(
          norms.slice(used).every((norm) => norm === null),
          link.key,
        ).toBe(true)
      }
  })

  it('answers in eight rounds with links that were trained in two', async () => {
    const outerLinks = place.path('rounds-2/checkpoints/step-2')
    const heard = await run(evaluation(style, 'sequential', 'two-then-eight', { outerLinks, rounds: 8 }))
    expect(heard.failure).toBe('')
    for (const { stages } of samples('two-then-eight')) {
      expect(stages.map((s) => s.round)).toEqual(walk(style, 8).map((s) => s.round + 1))
      expect(stages.slice(0, -1).every((s) => s.latents!.norms.every((n) => Number.isFinite(n) && n > 0))).toBe(true)
    }
  })
})

it('inner links of a custom style’s roles are trained on its own prompts', async () => {
  const heard = await run({
    kind: 'inner',
    style: custom[0],
    role: 'answerer',
    model: models[1],
    data: data(),
    prompts: 'all',
    steps: 20,
    learningRate: 1e-2,
    warmupSteps: 0,
    logEvery: 1,
    output: place.path('inner'),
  })
  expect(heard.failure).toBe('')
  const losses = heard.losses().map(([, loss]) => loss)
  expect(mean(losses.slice(-3))).toBeLessThan(0.9 * mean(losses.slice(0, 3)))
  const manifest = JSON.parse(readFileSync(place.path('inner/checkpoints/step-20/manifest.json'), 'utf8')) as object
  expect(manifest).toMatchObject({ style: 'ring', role: 'answerer' })
  const other = await run({
    kind: 'inner',
    style: custom[0],
    role: 'solver',
    model: models[1],
    data: data(),
    output: place.path('x'),
  })
  expect(other.failure).toMatch(/"solver" is not known.*asker, answerer/)
})

/** Inner training of every role, and of rows without one, through real jobs on a small random model. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { styles } from '../../../src-main/engine/styles/registry'
import { linkManifest } from '../../../src-main/engine/training/link-manifest'
import { byteModel } from '../evaluation/byte-model'
import { run, Workplace } from './run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

type Spec = Extract<JobSpecInput, { kind: 'inner' }>

const rows = (n: number) =>
  Array.from({ length: n }, (_, i) => ({
    question: `What is ${i + 2} + ${i + 3}?`,
    plan: `Add ${i + 3} to ${i + 2}.`,
    refined_plan: `Count on from ${i + 2}, ${i + 3} times.`,
    answer: `It is \\boxed{${2 * i + 5}}.`,
    math_expert: `The sum is ${2 * i + 5}.`,
    code_expert: `print(${i + 2} + ${i + 3})`,
    science_expert: `Both are numbers without a unit.`,
    deliberation_reflector: `A computation settles this one.`,
    deliberation_toolcaller: `<python> print(${i + 2} + ${i + 3}) </python> <result> ${2 * i + 5} </result> So \\boxed{${2 * i + 5}}.`,
  }))

async function job(data: readonly object[], more: Partial<Spec>): Promise<Spec> {
  writeFileSync(place.path('rows.jsonl'), data.map((r) => JSON.stringify(r) + '\n').join(''))
  return {
    kind: 'inner',
    role: 'planner',
    model: await byteModel(1, 32),
    data: { file: place.path('rows.jsonl') },
    output: place.path('run'),
    steps: 24,
    batchSize: 4,
    logEvery: 4,
    learningRate: 5e-3,
    warmupSteps: 0,
    schedule: 'constant',
    ...more,
  }
}

async function trained(spec: Spec) {
  const heard = await run(spec)
  expect(heard.failure).toBe('')
  const losses = heard.losses().map(([, loss]) => loss)
  expect(losses).toHaveLength(6)
  expect(losses.at(-1)!).toBeLessThan(0.8 * losses[0])
  const manifest = linkManifest.parse(
    JSON.parse(readFileSync(place.path('run/checkpoints/step-24/manifest.json'), 'utf8')),
  )
  const warnings = heard
    .of('log')
    .filter((l) => l.level === 'warning')
    .map((l) => l.message)
  return { manifest, warnings }
}

describe('the loss falls', () => {
  it.each(styles.flatMap((s) => s.roles.map((r) => [s.name, r.role] as const)))('%s: %s', async (style, role) => {
    const { manifest } = await trained(await job(rows(6), { role, prompts: 'all' }))
    expect(manifest).toMatchObject({ kind: 'inner-link', style, role, dataset: { rows: 6 } })
  })

  it('questions with worked answers, tasks by row', async () => {
    const worked = rows(6).map(({ question, answer }, i) => ({ question, answer: `${answer}\n#### ${2 * i + 5}` }))
    const { manifest } = await trained(await job(worked, { role: 'solver', form: 'question-answer' }))
    expect(manifest).toMatchObject({ role: 'solver', options: { form: 'question-answer' } })
  })

  it('plain text, judged by how its second half is read', async () => {
    const texts = rows(6).map(({ plan, refined_plan }) => ({ text: `${plan} ${refined_plan}` }))
    const spec = await job(texts, { role: 'learner', form: 'text' })
    const judged = {
      ...spec,
      validation: { data: { file: place.path('rows.jsonl'), limit: 2 }, every: 12, latentSteps: 4 },
    }
    const heard = await run(judged)
    expect(heard.failure).toBe('')
    expect([...new Set(heard.of('validation').map((v) => v.step))]).toEqual([0, 12, 24])
    const losses = heard.losses().map(([, loss]) => loss)
    expect(losses.at(-1)!).toBeLessThan(0.8 * losses[0])
  })
})

describe('is told', () => {
  it('rows that are left out', async () => {
    const some: Record<string, unknown>[] = rows(6)
    some[1] = { ...some[1], math_expert: null }
    some[4] = { ...some[4], math_expert: ' ' }
    const { warnings, manifest } = await trained(await job(some, { role: 'math-expert' }))
    const names = 'hie_math_expert or math_expert or expert_math'
    expect(warnings).toContain(`2 of 6 rows are left out: 2 (${names}: null or missing), 5 (${names}: blank).`)
    expect(manifest.dataset!.rows).toBe(4)
  })

  it('a target that stands in its own prompt', async () => {
    const answers = rows(6).map(({ question, answer }) => ({ question, answer }))
    const { warnings } = await trained(await job(answers, { role: 'tool-caller' }))
    expect(warnings.join()).toMatch(/6 of 6 texts of the tool-caller stand in their own prompt/)
  })

  it('a feedback prompt without a text', async () => {
    const plans = rows(6).map(({ question, plan }) => ({ question, plan }))
    const { warnings } = await trained(await job(plans, { prompts: 'all' }))
    expect(warnings).toContain(
      'No row has a text that could come back to the planner: its feedback prompt is not trained on.',
    )
  })

  it('a pack without the role’s prompt, before the model is opened', async () => {
    const pack = place.path('pack.json')
    writeFileSync(
      pack,
      JSON.stringify({
        format: 'recursivemas-prompt-pack/1',
        name: 'Mine',
        version: '1',
        system: [''],
        prompts: { planner: { first: ['{{question}}'] } },
      }),
    )
    // nothing but its config is there
    const model = place.path('model')
    mkdirSync(model)
    copyFileSync(`${await byteModel(1, 32)}/config.json`, `${model}/config.json`)
    const spec = await job(rows(2), { promptPack: pack, model })
    expect((await run({ ...spec, role: 'reflector' })).failure).toMatch(
      /"Mine", prompts\.reflector: the role "reflector" has no text for the situation "first"; there are prompts for planner/,
    )
    expect((await run({ ...spec, prompts: 'all' })).failure).toMatch(
      /the role "planner" has no text for the situation "feedback"/,
    )
    expect((await run({ ...spec, promptPack: place.path('none.json') })).failure).toMatch(
      /prompt pack .*none\.json does not exist/,
    )
    expect((await run({ ...spec, form: 'question-answer' })).failure).toMatch(/plainTraining/)
  })
})

import { rmSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JobEvent } from '../../../src-main/engine/job-events'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { agents, demo, jsonLines, run, Workplace } from './run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

type Inner = Extract<JobSpecInput, { kind: 'inner' }>
type Outer = Extract<JobSpecInput, { kind: 'outer' }>

const shared = {
  promptPack: demo('prompt-pack.json'),
  seed: 3,
  steps: 10,
  logEvery: 1,
  saveEvery: 4,
  keepLast: 20,
  learningRate: 1e-3,
}
const rows = (limit: number) => ({ file: demo('train.jsonl'), limit })

const inner = (output: string): Inner => ({
  ...shared,
  kind: 'inner',
  role: 'planner',
  model: demo('models/planner'),
  data: rows(12),
  prompts: 'all',
  batchSize: 4,
  accumulate: 2,
  output,
  validation: { data: { file: demo('validation.jsonl'), limit: 3 }, every: 3, latentSteps: 11 },
})

const outer = (output: string): Outer => ({
  ...shared,
  kind: 'outer',
  agents,
  data: rows(18),
  start: 'aligned',
  align: { steps: 8, rows: 9, batchSize: 4, latentSteps: 4 },
  rounds: { from: 1, to: 3 },
  roundsColumn: 'depth',
  states: 'self-fed',
  latentCap: 4,
  batchSize: 3,
  output,
  validation: {
    data: { file: demo('validation.jsonl'), limit: 3 },
    every: 3,
    rounds: 2,
    latentSteps: 4,
    maxNewTokens: 12,
    grader: 'exact',
  },
})

const plainOuter = (output: string): Outer => ({
  ...shared,
  kind: 'outer',
  mode: 'reference',
  agents,
  data: { ...rows(8), shuffle: true },
  rounds: 2,
  superviseFinalOnly: false,
  linkType: 'outer_res_adapter',
  batchSize: 2,
  accumulate: 2,
  weightDecay: 0.01,
  output,
})

const finalLinks = (output: string) => readFileSync(join(output, 'checkpoints/step-10/links.safetensors'))
const atStep = (step: number) => (e: JobEvent) => e.kind === 'metrics' && e.step === step

describe('a resumed run has exactly the losses, judgements and links of one that never stopped', () => {
  it.each([
    ['inner', inner],
    ['outer from an aligned start', outer],
    ['outer in reference mode', plainOuter],
  ] as const)('%s', async (_, spec) => {
    const whole = await run(spec(place.path('whole')))
    expect(whole.failure).toBe('')
    expect(whole.losses()).toHaveLength(10)
    expect(whole.losses().every(([, l]) => Number.isFinite(l) && l > 0)).toBe(true)

    // asked to stop after five steps
    const first = await run(spec(place.path('stopped')), { stopAt: atStep(5) })
    expect(first.last).toMatchObject({ kind: 'stopped', step: 5, resumable: true })
    const second = await run(spec(place.path('stopped')), { resume: true })
    expect(second.of('started')[0].resumedFrom).toBe(5)
    expect(second.last.kind).toBe('finished')
    expect([...first.losses(), ...second.losses()]).toEqual(whole.losses())
    expect(finalLinks(place.path('stopped')).equals(finalLinks(place.path('whole')))).toBe(true)
    const judged = (events: { of(kind: 'validation'): { step: number; value: number; best: boolean }[] }[]) =>
      events.flatMap((e) => e.of('validation').map(({ step, value, best }) => ({ step, value, best })))
    expect(judged([first, second])).toEqual(judged([whole]))

    // killed after step 10 was reached: what came after the checkpoint of step 4 is made again, and said once
    for (const step of [5, 6, 8, 9, 10])
      rmSync(place.path(`whole/checkpoints/step-${step}`), { recursive: true, force: true })
    const again = await run(spec(place.path('whole')), { resume: true })
    expect(again.of('started')[0].resumedFrom).toBe(4)
    expect(again.losses()).toEqual(whole.losses().slice(4))
    expect(finalLinks(place.path('whole')).equals(finalLinks(place.path('stopped')))).toBe(true)
    const numbers = jsonLines<JobEvent>(place.path('whole/metrics.jsonl')).filter((e) => e.kind === 'metrics')
    expect(numbers.map((m) => m.step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })
})

describe('stopping', () => {
  it('during the aligned start leaves a run that can begin again', async () => {
    const heard = await run(outer(place.path('run')), { stopAt: (e) => e.kind === 'progress' && e.phase === 'align' })
    expect(heard.last).toMatchObject({ kind: 'stopped', step: 0, resumable: true })
    const whole = await run(outer(place.path('whole')))
    const again = await run(outer(place.path('run')), { resume: true })
    expect(again.losses()).toEqual(whole.losses())
  })

  it('during a judgement ends at the step, and the judgement is made on resuming', async () => {
    const heard = await run(outer(place.path('run')), { stopAt: atStep(3) })
    expect(heard.last).toMatchObject({ kind: 'stopped', step: 3 })
    expect(heard.of('validation').map((v) => v.step)).toEqual([0])
    const again = await run(outer(place.path('run')), { resume: true })
    expect(again.of('validation').map((v) => v.step)).toEqual([3, 6, 9, 10])
  })
})

describe('training makes links better', () => {
  it('inner: the loss falls, and early stop obeys patience', async () => {
    const heard = await run({ ...inner(place.path('run')), steps: 60, learningRate: 3e-3, accumulate: 1, logEvery: 10 })
    const losses = heard.losses().map(([, l]) => l)
    expect(losses.at(-1)!).toBeLessThan(0.6 * losses[0])
    const patient = await run({
      ...outer(place.path('patient')),
      learningRate: 1e-12,
      validation: {
        data: { file: demo('validation.jsonl'), limit: 3 },
        every: 2,
        rounds: 1,
        latentSteps: 4,
        maxNewTokens: 2,
        patience: 2,
        grader: 'exact',
      },
    })
    // judged at 0; nothing better at 2 and 4
    expect(patient.losses().at(-1)![0]).toBe(4)
    expect(patient.last.kind).toBe('finished')
  })

  it('outer: a few steps on one batch lower its loss, in every mode of states and feedback', async () => {
    for (const states of ['reference', 'shifted', 'self-fed'] as const)
      for (const feedback of ['same', 'self-fed', 'before-answer'] as const) {
        const output = place.path(`${states}-${feedback}`)
        const heard = await run({
          kind: 'outer',
          promptPack: demo('prompt-pack.json'),
          agents,
          data: rows(2),
          rounds: 2,
          states,
          feedback,
          latentCap: 6,
          steps: 5,
          warmupSteps: 0,
          learningRate: 2e-3,
          logEvery: 1,
          saveEvery: 0,
          output,
        })
        expect(heard.failure).toBe('')
        const losses = heard.losses().map(([, l]) => l)
        expect(Math.min(...losses.slice(2)), `${states}, ${feedback}`).toBeLessThan(losses[0])
        const { gradNorms } = heard.of('metrics')[0]
        expect(Object.keys(gradNorms!).sort()).toEqual(['outer_12', 'outer_23', 'outer_31'])
        expect(gradNorms!.outer_31).toEqual([expect.any(Number), null])
      }
  })
})

describe('what a run leaves', () => {
  it('a manifest with its options, a journal without numbers, states on disk that a second run uses', async () => {
    const spec = outer(place.path('run'))
    await run(spec)
    const manifest = JSON.parse(readFileSync(place.path('run/checkpoints/step-10/manifest.json'), 'utf8'))
    expect(manifest).toMatchObject({
      style: 'sequential',
      mode: 'corrected',
      states: 'self-fed',
      feedback: 'self-fed',
      rounds: { from: 1, to: 3 },
      step: 10,
      seed: 3,
      baseModels: [
        { role: 'planner', hiddenSize: 64 },
        { role: 'critic', hiddenSize: 96 },
        { role: 'solver', hiddenSize: 80 },
      ],
      options: { start: 'aligned', latentCap: 4 },
    })
    expect(manifest.metrics.accuracy).toEqual(expect.any(Number))
    const kinds = new Set(jsonLines<JobEvent>(place.path('run/journal.jsonl')).map((e) => e.kind))
    expect(kinds.has('metrics')).toBe(false)
    for (const k of ['started', 'phase', 'checkpoint', 'finished']) expect(kinds).toContain(k)
    expect(existsSync(place.path('run/cache'))).toBe(true)
  })
})

describe('bad input is refused before anything is trained', () => {
  async function refused(spec: JobSpecInput): Promise<string> {
    const heard = await run(spec)
    expect(heard.last.kind).toBe('failed')
    expect(heard.of('metrics')).toEqual([])
    return heard.failure
  }

  it('fewer rows than a batch', async () => {
    expect(await refused({ ...inner(place.path('a')), batchSize: 500 })).toMatch(/500/)
    expect(await refused({ ...inner(place.path('cuda')), device: 'cuda' })).toMatch(/CUDA.*processor only/)
    expect(await refused({ ...plainOuter(place.path('b')), batchSize: 9 })).toMatch(/9 rows.* 8/)
    expect(await refused({ ...outer(place.path('c')), batchSize: 7 })).toMatch(/same number of rounds/)
  })

  it('missing columns, broken lines, blank rows', async () => {
    const write = (name: string, text: string) => {
      writeFileSync(place.path(name), text)
      return { file: place.path(name) }
    }
    const good = { question: 'unat nov', plan: '1 : 9', refined_plan: '1 : 9', answer: 'one' }
    const line = (o: object) => JSON.stringify(o) + '\n'
    expect(
      await refused({
        ...plainOuter(place.path('a')),
        data: write('columns.jsonl', line({ question: 'q', plan: 'p' })),
      }),
    ).toMatch(/refined_plan/)
    expect(await refused({ ...inner(place.path('b')), data: write('columns2.jsonl', line({ problem: 'q' })) })).toMatch(
      /question/,
    )
    expect(
      await refused({
        ...plainOuter(place.path('c')),
        data: write('broken.jsonl', line(good) + '{"question": "x",\n'),
      }),
    ).toMatch(/2/)
    const heard = await run({
      ...plainOuter(place.path('d')),
      // reference mode reads a missing text as a word
      mode: 'corrected',
      steps: 2,
      accumulate: 1,
      data: write(
        'blank.jsonl',
        line(good) + line({ ...good, plan: ' ' }) + line({ ...good, answer: null }) + line(good),
      ),
    })
    expect(heard.last.kind).toBe('finished')
    expect(heard.of('log').map((l) => l.message)).toContainEqual(expect.stringMatching(/^2 of 4 rows are left out/))
  })

  it('links of the wrong width, unknown roles, styles, links and empty ranges', async () => {
    await run({ ...inner(place.path('planner')), steps: 1 })
    const wrong = agents.map((a) => ({ ...a, innerLink: place.path('planner/checkpoints/step-1') }))
    expect(await refused({ ...plainOuter(place.path('a')), agents: wrong })).toMatch(/64.*96/)
    expect(await refused({ ...inner(place.path('b')), role: 'reviewer' })).toMatch(/reviewer.*planner, critic, solver/)
    expect(await refused({ ...plainOuter(place.path('c')), agents: agents.slice(1) })).toMatch(/planner/)
    expect(await refused({ ...plainOuter(place.path('d')), style: 'spiral' })).toMatch(/spiral/)
    expect(await refused({ ...plainOuter(place.path('e')), linkTypes: { outer_13: 'outer_adapter' } })).toMatch(
      /outer_13/,
    )
    expect(await refused({ ...plainOuter(place.path('f')), rounds: { from: 3, to: 2 } })).toMatch(/3 to 2/)
  })

  it('a model folder without weights, and an output folder that is a file', async () => {
    const model = place.copyModel('planner')
    rmSync(join(model, 'model.safetensors'))
    expect(await refused({ ...inner(place.path('a')), model })).toMatch(/model\.safetensors/)
    writeFileSync(place.path('file'), '')
    expect(await refused(inner(place.path('file')))).toMatch(/file/)
  })

  it('data of which no row can be used ends instead of going on for ever', async () => {
    const heard = await run({ ...plainOuter(place.path('a')), mode: 'corrected', maxLength: 5 })
    expect(heard.failure).toMatch(/No row of the data could be used/)
    const said = heard.of('log').filter((l) => l.message.includes('longer than the limit'))
    expect(said.map((l) => l.message)).toEqual([
      expect.stringMatching(/^Samples are left out: .*first seen in row \d+/),
    ])
  })

  it('held-out rows whose number of rounds cannot be read', async () => {
    const rows = jsonLines<object>(demo('validation.jsonl')).slice(0, 3)
    const file = place.path('held-out.jsonl')
    writeFileSync(file, rows.map((r, i) => JSON.stringify(i === 1 ? { ...r, depth: 'two' } : r) + '\n').join(''))
    const spec = outer(place.path('a'))
    expect(await refused({ ...spec, validation: { ...spec.validation!, data: { file } } })).toMatch(
      /Row 2 .*"two".*depth/,
    )
  })
})

describe('what a person should know is said', () => {
  const messages = async (spec: JobSpecInput) => {
    const heard = await run(spec)
    expect(heard.failure).toBe('')
    return heard.of('log').map((l) => l.message)
  }

  it('held-out rows that are left out', async () => {
    const rows = jsonLines<object>(demo('validation.jsonl')).slice(0, 3)
    const file = place.path('held-out.jsonl')
    writeFileSync(
      file,
      rows.map((r, i) => JSON.stringify(i === 1 ? { ...r, answer: ' ', plan: ' ' } : r) + '\n').join(''),
    )
    const said = expect.stringMatching(/^Held-out data: 1 of 3 rows are left out: 2 /)
    const first = inner(place.path('inner'))
    expect(await messages({ ...first, steps: 1, validation: { ...first.validation!, data: { file } } })).toContainEqual(
      said,
    )
    const second = outer(place.path('outer'))
    expect(
      await messages({ ...second, start: 'random', steps: 1, validation: { ...second.validation!, data: { file } } }),
    ).toContainEqual(said)
  })

  it('texts that are cut, not those that just fit', async () => {
    const one = {
      ...inner(place.path('a')),
      data: rows(1),
      prompts: 'first',
      batchSize: 1,
      steps: 1,
      validation: undefined,
    } as const
    const at = async (maxLength: number) => {
      const heard = await run({ ...one, output: place.path(`at-${maxLength}`), maxLength })
      const cut = heard.of('log').filter((l) => l.message.startsWith('1 texts are longer than the limit')).length
      return { cut, loss: heard.losses()[0][1] }
    }
    const whole = await at(2048)
    expect(whole.cut).toBe(0)
    let length = 32
    for (let known = await at(length); known.cut === 0; known = await at(--length)) expect(known.loss).toBe(whole.loss)
    expect(length).toBeLessThan(32)
    expect((await at(length)).loss).not.toBe(whole.loss)
  })

  it('links that were trained with other prompts, for another task or with another model', async () => {
    await run({ ...inner(place.path('planner')), steps: 1, validation: undefined })
    const innerLink = place.path('planner/checkpoints/step-1')
    const team = agents.map((a, i) => (i === 0 ? { ...a, innerLink } : a))
    const spec = { ...plainOuter(place.path('same')), agents: team, steps: 1, accumulate: 1 }
    const trained = (said: string[]) => said.filter((m) => m.includes('were trained'))
    expect(trained(await messages(spec))).toEqual([])
    const others = team.map((a, i) => (i === 0 ? { ...a, model: place.copyModel('planner') } : a))
    const said = await messages({
      ...spec,
      output: place.path('others'),
      agents: others,
      task: 'code',
      promptPack: undefined,
    })
    expect(trained(said)).toEqual(
      [
        'with another prompt pack',
        'for the task "math", not "code"',
        'with the model planner as planner, not model-planner',
      ].map((why) => `The links of ${innerLink} were trained ${why}.`),
    )
    // outer links and links to go on from as well
    const startFrom = place.path('same/checkpoints/step-1')
    expect(trained(await messages({ ...spec, output: place.path('on'), startFrom, task: 'code' }))).toContainEqual(
      `The links of ${startFrom} were trained for the task "math", not "code".`,
    )
    expect(
      trained(
        await messages({
          ...inner(place.path('inner-on')),
          steps: 1,
          startFrom: innerLink,
          validation: undefined,
          task: 'code',
        }),
      ),
    ).toEqual([`The links of ${innerLink} were trained for the task "math", not "code".`])
  })
})

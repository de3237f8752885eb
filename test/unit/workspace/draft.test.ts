/** The wizard's choices: the pipeline that they become, and what is said of them before anything is made. */
import { describe, expect, it } from 'vitest'
import type { MappingReport, ModelView, StepMemory, SystemDraft } from '../../../src-main/bridge/contract'
import { systemDraft } from '../../../src-main/bridge/system-views'
import { UserError } from '../../../src-main/engine/errors'
import { estimateOf } from '../../../src-main/engine/memory/estimate'
import { runtimePart, stepCopies } from '../../../src-main/engine/memory/model-memory'
import { styleByName, styles } from '../../../src-main/engine/styles/registry'
import { checkDraft, type DraftFacts } from '../../../src-main/workspace/draft-check'
import {
  type CompleteDraft,
  draftPipeline,
  type DraftPaths,
  isComplete,
} from '../../../src-main/workspace/draft-pipeline'
import { modelsFit } from '../../../src-main/workspace/memory-fit'
import { pipeline, resolveStep } from '../../../src-main/workspace/pipeline'

function draftOf(style: string, change: (draft: Record<string, any>) => void = () => undefined): CompleteDraft {
  const raw = {
    title: 'My team',
    style,
    models: Object.fromEntries(styleByName(style).roles.map(({ role }) => [role, `library/${role}`])),
    data: {
      train: { dataset: 'library/set', file: 'train.jsonl' },
      validation: { dataset: 'library/set', file: 'validation.jsonl' } as unknown,
      evaluation: { dataset: 'library/test', mapping: { question: 'text of the question' } },
    },
    training: {},
    evaluation: {},
  }
  change(raw)
  return systemDraft.parse(raw) as CompleteDraft
}

const paths: DraftPaths = {
  model: (id) => `models/${id}`,
  data: ({ dataset, file }) => `data/${dataset}/${file}`,
  pack: undefined,
}

describe.each(styles.map((style) => [style.name, style] as const))('a %s system', (name, style) => {
  const made = pipeline.parse(draftPipeline(draftOf(name), style, paths))

  it('becomes a pipeline of jobs that can run, every agent with its model and link', () => {
    const outcome = (id: string) => ({ checkpoint: `/links/${id}/last`, best: `/links/${id}/best` })
    const specs = made.steps.map((step) => resolveStep(step, { base: '/p', output: '/run', outcome }))
    expect(specs.filter(({ kind }) => kind === 'inner').map((spec) => spec.kind === 'inner' && spec.role)).toEqual(
      style.roles.map(({ role }) => role),
    )
    const outer = specs.find(({ kind }) => kind === 'outer')
    expect(outer).toMatchObject({
      style: name,
      rounds: 3,
      latentCap: 32,
      agents: style.roles.map(({ role }) => ({
        role,
        model: `/p/models/library/${role}`,
        innerLink: `/links/inner-${role}/best`,
      })),
      validation: { rounds: 3, latentSteps: 32 },
    })
  })

  it('is compared at every number of rounds, the agent alone once', () => {
    const cells = made.steps
      .filter(({ kind }) => kind === 'evaluate')
      .map(({ system, spec }) => `${system} ${spec.rounds}`)
    expect(cells).toEqual(
      ['trained', 'untrained-links', 'text']
        .flatMap((system) => [1, 2, 3].map((rounds) => `${system} ${rounds}`))
        .concat('single 1'),
    )
    for (const step of made.steps.filter(({ system }) => system === 'trained')) {
      expect(step.requires).toEqual(['outer'])
      expect(step.spec).toMatchObject({ outerLinks: 'run:outer@best' })
    }
    for (const step of made.steps.filter(({ system }) => system === 'untrained-links'))
      expect(JSON.stringify(step.spec)).not.toContain('run:')
  })
})

describe('the pipeline', () => {
  const sequential = styleByName('sequential')
  const stepsOf = (change: (draft: Record<string, any>) => void) =>
    draftPipeline(draftOf('sequential', change), sequential, paths).steps

  it('uses the last links where nothing judges them', () => {
    const steps = stepsOf((draft) => (draft.data.validation = null))
    expect(JSON.stringify(steps)).not.toContain('@best')
    expect(steps.every(({ spec }) => !('validation' in spec))).toBe(true)
  })

  it('repeats the published method in reference mode: first prompts only, its own number of states', () => {
    const [inner, , , outer] = stepsOf((draft) => (draft.training.mode = 'reference'))
    expect(inner.spec).toMatchObject({ mode: 'reference', prompts: 'first' })
    expect(outer.spec).not.toHaveProperty('latentCap')
  })

  it('reads fields from the columns that were chosen', () => {
    const steps = stepsOf(() => undefined)
    expect(steps.at(-1)?.spec).toMatchObject({ data: { columns: { question: 'text of the question' } } })
    expect(steps[0].spec.data).not.toHaveProperty('columns')
  })
})

const fit: StepMemory = { parts: [], total: 1e9, available: 8e9, verdict: 'fits', note: null, together: null }
const estimate = (weights: number) =>
  estimateOf([
    { name: 'weights', bytes: weights },
    { name: runtimePart, bytes: 1e8 },
  ])
const report: MappingReport = { rows: 100, usable: 100, columns: {}, problems: [] }

function facts(change: Partial<DraftFacts> = {}): DraftFacts {
  return {
    model: async (id) =>
      ({
        id,
        name: id,
        state: 'ready',
        problem: null,
        hiddenSize: 16,
        hasChatTemplate: true,
      }) as Partial<ModelView> as ModelView,
    rows: async () => report,
    memory: async () => fit,
    taken: async () => false,
    freeDisk: async () => 1e12,
    ...change,
  }
}

async function check(draft: SystemDraft, change: Partial<DraftFacts> = {}) {
  const style = styleByName(draft.style)
  const made = isComplete(draft, style) ? draftPipeline(draft, style, paths) : null
  const found = await checkDraft(draft, style, made, facts(change))
  return { ...found, said: found.problems.map(({ step, field, level }) => [step, field, level].join(' ')) }
}

describe('the memory of several models', () => {
  const model = (weights: number, copies: number) =>
    estimateOf([
      { name: 'weights', bytes: weights },
      { name: stepCopies, bytes: copies },
      { name: runtimePart, bytes: 100 },
    ])
  const team = [model(3000, 2000), model(1000, 500)]

  it.each([
    [7400, 6600, 'fits', null],
    [6600, 6600, 'tight', null],
    [6599, 4100, 'fits', null],
    [4100, 4100, 'tight', null],
    // one at a time: first with its copies, then without, and too large only where the largest alone does not fit
    [4099, 3100, 'tight', 4100],
    [3100, 3100, 'tight', 4100],
    [3099, 3100, 'too-large', 4100],
  ])('of %i bytes it takes %i', (free, total, verdict, together) => {
    expect(modelsFit(team, free)).toMatchObject({ total, verdict, together })
  })

  it('is that of the one where there is but one', () => {
    expect(modelsFit([team[0]], 5000)).toMatchObject({ total: 3100, verdict: 'fits', together: null })
    expect(modelsFit([team[0]], 3000)).toMatchObject({ total: 3100, verdict: 'too-large', together: null })
  })
})

describe('the check', () => {
  it('has nothing to say of what will do, and counts rows, memory and disk', async () => {
    const { problems, steps, disk } = await check(draftOf('sequential'))
    expect(problems).toEqual([])
    expect(steps.map(({ rows }) => rows)).toEqual(Array(14).fill(100))
    expect(steps.every(({ memory }) => memory === fit)).toBe(true)
    // inner: two 16 x 16 matrices with biases and two layer norms; outer: 32 x 16, 16 x 32, 16 x 16 with biases and two layer norms
    const inner = 2 * (256 + 16) + 4 * 16
    const outer = 3 * (32 * 16 + 32 + 16 * 32 + 16 + 256 + 16 + 4 * 16)
    expect(disk).toEqual({ needed: 4 * 12 * (3 * inner + outer), free: 1e12 })
  })

  it.each<[string, (draft: Record<string, any>) => void, Partial<DraftFacts>, string[]]>([
    ['an agent without a model', (d) => delete d.models.critic, {}, ['models critic error']],
    ['a system without a name', (d) => (d.title = '  '), {}, ['check title error']],
    ['data that is not chosen', (d) => (d.data = {}), {}, ['data train error', 'data evaluation error']],
    ['a role that the style has not', (d) => (d.models.poet = 'library/x'), {}, ['models poet error']],
    [
      'a model that is gone',
      () => undefined,
      { model: async (id) => (id.endsWith('solver') ? undefined : facts().model(id)) },
      ['models solver error'],
    ],
    [
      'a model that is still downloaded',
      () => undefined,
      { model: async (id) => ({ ...(await facts().model(id))!, state: 'incomplete' }) },
      ['models planner error', 'models critic error', 'models solver error'],
    ],
    [
      'a model without a chat template',
      () => undefined,
      { model: async (id) => ({ ...(await facts().model(id))!, hasChatTemplate: !id.endsWith('planner') }) },
      ['models planner error'],
    ],
    [
      'data that cannot be read',
      () => undefined,
      { rows: () => Promise.reject(new UserError({ what: 'a', why: 'b', next: 'c' })) },
      ['data train error', 'data validation error', 'data evaluation error'],
    ],
    [
      'data with no usable row',
      () => undefined,
      { rows: async (_, use) => (use === 'evaluate' ? { ...report, usable: 0 } : report) },
      ['data evaluation error'],
    ],
    [
      'rows that are left out',
      () => undefined,
      { rows: async (_, use) => (use === 'inner' ? { ...report, usable: 7 } : report) },
      ['data train warning'],
    ],
    ['questions that were trained on', (d) => (d.data.evaluation = d.data.train), {}, ['data evaluation warning']],
    [
      'too little memory',
      () => undefined,
      { memory: async () => ({ ...fit, total: 9e9, verdict: 'too-large' }) },
      ['check  error'],
    ],
    [
      'models that take turns',
      () => undefined,
      { memory: async () => modelsFit([estimate(5e9), estimate(6e9)], 8e9) },
      ['check  warning'],
    ],
    [
      'a model that is too large even alone',
      () => undefined,
      { memory: async () => modelsFit([estimate(5e9), estimate(9e9)], 8e9) },
      ['check  error'],
    ],
    ['little memory', () => undefined, { memory: async () => ({ ...fit, verdict: 'tight' }) }, ['check  warning']],
    ['a name that a project has', () => undefined, { taken: async () => true }, ['check title warning']],
    ['fewer rows than asked for', (d) => (d.data.evaluation.limit = 999), {}, ['data evaluation warning']],
    [
      'what is wrong with all its jobs once',
      () => undefined,
      { memory: () => Promise.reject(new UserError({ what: 'a', why: 'b', next: 'c' })) },
      ['training  error'],
    ],
    ['too little disk', () => undefined, { freeDisk: async () => 1000 }, ['check  error']],
  ])('says %s', async (_, change, what, expected) => {
    expect((await check(draftOf('sequential', change), what)).said).toEqual(expected)
  })

  it('tells the causes of rows that are left out so that they add up, and of which training', async () => {
    const cause = (kind: 'missing' | 'blank' | 'duplicate', rows: number, message: string) =>
      ({ kind, field: 'plan', rows, message, order: null }) as MappingReport['problems'][number]
    const problems = [
      cause('blank', 1, 'One is blank.'),
      cause('missing', 2, 'Two are missing.'),
      cause('duplicate', 9, 'Twins.'),
    ]
    const { problems: said } = await check(draftOf('sequential'), {
      rows: async (_, use) =>
        use === 'evaluate' ? report : { ...report, usable: use === 'inner' ? 97 : 98, problems },
    })
    expect(said.map(({ field, error }) => [field, error.what, error.why])).toEqual([
      [
        'train',
        '3 of 100 rows are left out of inner training.',
        'Two are missing. One is blank. A row may have several causes.',
      ],
      [
        'train',
        '2 of 100 rows are left out of outer training.',
        'Two are missing. One is blank. A row may have several causes.',
      ],
      ['validation', '2 of 100 rows are left out.', 'Two are missing. One is blank. A row may have several causes.'],
    ])
  })

  it('does not hide a fault of the app behind a sentence about the data', async () => {
    await expect(check(draftOf('sequential'), { rows: () => Promise.reject(new TypeError('broken')) })).rejects.toThrow(
      'broken',
    )
  })
})

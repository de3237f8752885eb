/** Prompts as the page previews them, against what runs feed to their models; and checked rows against the rows that runs use. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PreviewPiece } from '../../../src-main/bridge/contract'
import { OpenSets } from '../../../src-main/data-process/open-sets'
import type { PromptParams } from '../../../src-main/data-process/prompt-context'
import { makeService } from '../../../src-main/data-process/service'
import { readRows } from '../../../src-main/engine/data/rows'
import { readQuestions } from '../../../src-main/engine/evaluation/questions'
import type { SampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import { prepareJobData } from '../../../src-main/datasets/job-data'
import { dataSpec, evaluateJob, innerJob } from '../../../src-main/engine/job-spec'
import { styles } from '../../../src-main/engine/styles/registry'
import { openStyle } from '../../../src-main/engine/styles/style-file'
import { loadModelText, type ModelText } from '../../../src-main/engine/text'
import { pairPositions } from '../../../src-main/engine/training/inner-pairs'
import { readInnerData, tokenise } from '../../../src-main/engine/training/inner-texts'
import { measureStages } from '../../../src-main/engine/training/reading-lengths'
import { OuterSamples } from '../../../src-main/engine/training/outer-samples'
import { outerColumns } from '../../../src-main/engine/training/training-texts'
import { writeByteModel } from '../evaluation/byte-model'
import { demo, jsonLines, run, Workplace } from '../training/run-demo-job'

const place = new Workplace()
const sets = new OpenSets({ firstHandle: 1, onOrder: () => undefined })
const service = makeService(sets)
const call = { signal: new AbortController().signal, progress: () => undefined }
const model = place.path('byte-model')
let text: ModelText

const roleTexts = (n: string) => ({
  plan: `plan ${n} é`,
  refined_plan: `refined ${n}`,
  answer: `answer ${n} 😀`,
  math_expert: `math ${n}`,
  code_expert: `code ${n}`,
  expert_science: `science ${n}`,
  distill_expert: `expert ${n}`,
  distill_learner: `learner ${n}`,
  deliberation_reflector: `reflector ${n}`,
  deliberation_toolcaller: `caller ${n}`,
})
const rows = [
  { question: 'What is 2 + 2?\nA line more, {{question}} no placeholder.', ...roleTexts('one') },
  {
    question: 'Which?',
    task_family: 'choice',
    options: ['red', 'blue'],
    ...roleTexts('two'),
    rounds: [roleTexts('a'), roleTexts('b')],
  },
  { question: 'Write f', task_family: 'code', type: 'function', fn_name: 'f', ...roleTexts('three') },
]
const file = place.path('rows.jsonl')
writeFileSync(file, rows.map((row) => JSON.stringify(row) + '\n').join(''))
let handle: string

beforeAll(async () => {
  await writeByteModel(model, 1, 16)
  text = await loadModelText(model)
  handle = (await service.open({ file, field: null, encoding: null }, call)).handle
})
afterAll(async () => {
  await sets.close(handle)
  place.dispose()
})

const prompt = (style: string, use: PromptParams['use'], more: Partial<PromptParams> = {}): PromptParams => ({
  ...{ style, use, mapping: {}, model, pack: null, task: 'math', enableThinking: false },
  ...{ latentSteps: 5, rounds: 3, maxLength: null },
  ...more,
})

/** The texts between the slots, in order. */
function between(pieces: readonly PreviewPiece[]): string[] {
  const texts = ['']
  for (const piece of pieces)
    if (piece.kind === 'slot') texts.push('')
    else texts[texts.length - 1] += piece.text
  return texts
}
const wholeText = (pieces: readonly PreviewPiece[]) => pieces.map((piece) => piece.text ?? '').join('')
const counted = (pieces: readonly PreviewPiece[]) =>
  pieces.reduce((n, piece) => n + (piece.kind === 'slot' ? piece.length : piece.tokens), 0)
const every = styles.flatMap((style) => style.roles.map(({ role }, agent) => [style.name, role, agent] as const))

describe('a preview of an evaluation', () => {
  it.each(['sequential', 'mixture', 'deliberation'])('of %s shows every stage that a real run had', async (style) => {
    const definition = styles.find(({ name }) => name === style)!
    const output = place.path(`run-${style}`)
    const heard = await run({
      kind: 'evaluate',
      style,
      agents: definition.roles.map(({ role }) => ({ role, model })),
      data: { file },
      rounds: 3,
      latentSteps: 5,
      batchSize: 3,
      generation: { maxNewTokens: 1 },
      output,
    })
    expect(heard.failure).toBe('')
    const records = jsonLines<SampleRecord>(join(output, 'samples.jsonl'))
    expect(records).toHaveLength(3)
    for (const { index, stages } of records) {
      expect(stages).toHaveLength(3 * definition.agentCount)
      for (const stage of stages) {
        const { role, round } = stage
        const shown = await service.preview({ ...prompt(style, 'evaluate'), handle, place: index, role, round })
        expect(
          shown.pieces.map(({ kind, ...piece }) => ('name' in piece ? { kind, ...piece } : { kind, text: piece.text })),
        ).toEqual(stage.prompt)
        expect([shown.tokens, counted(shown.pieces)]).toEqual([stage.promptTokens, stage.promptTokens])
        expect([shown.leftOut, shown.truncated, shown.supervisedTokens, shown.limit]).toEqual([null, null, 0, null])
        expect(shown.maxPositions).toBe(8192)
        expect(shown.rounds).toContain(round)
      }
    }
  })

  it('tells the rounds that ask the same', async () => {
    const rounds = async (role: string, round: number) =>
      (await service.preview({ ...prompt('sequential', 'evaluate'), handle, place: 0, role, round })).rounds
    expect(await rounds('critic', 1)).toEqual([1, 2, 3])
    expect(await rounds('planner', 1)).toEqual([1])
    expect(await rounds('planner', 2)).toEqual([2])
  })
})

describe('a preview of outer training', () => {
  it.each(every)('%s, %s: joined and tokenised it is what is trained on', async (name, role, agent) => {
    const { style, pack } = await openStyle(name, undefined)
    const read = await readRows(dataSpec.parse({ file }), { required: outerColumns(style) })
    const settings = { style, pack, mode: 'corrected', enableThinking: false, questionFirst: false } as const
    const samples = new OuterSamples(
      { ...settings, texts: style.roles.map(() => text) },
      read.rows,
      'math',
      3,
      () => undefined,
    )
    for (const [at] of read.rows.entries()) {
      const sample = await samples.sample(at)
      const stages = measureStages(style, sample, {
        ...{ rounds: 3, states: 'shifted', feedback: 'self-fed', cap: 5, latentSteps: 5 },
        ...{ earlierWeight: null, tooLong: 'leave-out' },
      })
      for (const round of [1, 2, 3]) {
        const shown = await service.preview({ ...prompt(name, 'outer'), handle, place: at, role, round })
        const { context, target } = sample.rounds[round - 1][agent]
        const ids = await Promise.all(between(shown.pieces).map((t) => text.tokenizer.encode(t)))
        expect(ids).toEqual([...context.slice(0, -1), [...context.at(-1)!, ...target]])
        const stage = stages.find((s) => s.agent === agent && s.round === round - 1)
        expect(shown.pieces.flatMap((piece) => (piece.kind === 'slot' ? [piece.length] : []))).toEqual(
          stage?.slots ?? [],
        )
        expect(shown.tokens).toBe(counted(shown.pieces))
        const supervised = shown.pieces.filter((piece) => piece.kind === 'text' && piece.supervised)
        const isLast = agent === style.last && round === 3
        expect(supervised).toHaveLength(isLast ? 1 : 0)
        expect(shown.supervisedTokens).toBe(isLast ? target.length : 0)
        if (isLast) expect(await text.tokenizer.encode(supervised[0].text!)).toEqual(target)
        expect([shown.limit, shown.leftOut]).toEqual([4096, null])
      }
    }
  })

  it('tells that a row is too long for the run, and where', async () => {
    const short = { ...prompt('sequential', 'outer', { maxLength: 100 }), handle, place: 0, role: 'solver', round: 1 }
    const shown = await service.preview(short)
    expect(shown.leftOut).toMatch(
      /^The row is left out: the planner of round 1 reads \d+ positions, the limit is 100\.$/,
    )
    expect(shown.truncated).toBe(shown.leftOut)
  })
})

describe('a preview of inner training', () => {
  it.each(every)('%s, %s: joined and tokenised it is what is trained on', async (name, role, agent) => {
    const { style, pack } = await openStyle(name, undefined)
    const settings = { style, pack, mode: 'corrected', enableThinking: false, questionFirst: false } as const
    for (const prompts of ['first', 'all'] as const) {
      const job = innerJob.parse({ kind: 'inner', role, model, data: { file }, output: '-', style: name, prompts })
      const data = await readInnerData(job, job.data, { ...settings, texts: style.roles.map(() => null) }, agent)
      for (const [at, row] of data.rows.entries()) {
        const fed = await Promise.all(data.tasksOf(row).map((task) => tokenise(text, task, job)))
        const shown = await Promise.all(
          (prompts === 'first' ? [1] : [1, 2]).map((round) =>
            service.preview({ ...prompt(name, 'inner'), handle, place: at, role, round }),
          ),
        )
        // a row with texts of its rounds begins, for "all", with those of round 1
        for (const one of shown.slice(prompts === 'all' && at === 1 ? 1 : 0)) {
          const ids = await text.tokenizer.encode(wholeText(one.pieces))
          const same = fed.find((f) => f.ids.join() === ids.join())
          expect(same).toBeDefined()
          expect([one.tokens, counted(one.pieces)]).toEqual([ids.length, ids.length])
          expect(one.supervisedTokens).toBe(same!.latentEnd - same!.promptLength)
          const supervised = one.pieces.filter((piece) => piece.kind === 'text' && piece.supervised)
          expect(supervised).toHaveLength(1)
          expect(await text.tokenizer.encode(supervised[0].text!)).toEqual(ids.slice(same!.promptLength))
          expect([one.leftOut, one.truncated, one.limit]).toEqual([null, null, 2048])
        }
      }
    }
  })

  it('shows the texts that stand in slots, and from whom', async () => {
    const shown = await service.preview({
      ...prompt('mixture', 'inner'),
      handle,
      place: 0,
      role: 'summarizer',
      round: 1,
    })
    expect(shown.pieces.filter(({ kind }) => kind === 'slot')).toMatchObject([
      { from: 'math-expert', text: 'math one', length: 8 },
      { from: 'code-expert', text: 'code one', length: 8 },
      { from: 'science-expert', text: 'science one', length: 11 },
    ])
  })

  it('tells what is cut, and when nothing is left', async () => {
    const of = (maxLength: number) =>
      service.preview({ ...prompt('sequential', 'inner', { maxLength }), handle, place: 0, role: 'planner', round: 1 })
    const { tokens, supervisedTokens } = await of(2048)
    const cut = await of(tokens - 3)
    expect(cut).toMatchObject({
      tokens,
      supervisedTokens: supervisedTokens - 3,
      truncated: `Its last 3 of ${tokens} tokens are cut.`,
      leftOut: null,
    })
    expect(cut.pieces.map((piece) => (piece.kind === 'text' ? [piece.supervised, piece.tokens] : []))).toEqual([
      [false, tokens - supervisedTokens],
      [true, supervisedTokens - 3],
      [false, 3],
    ])
    const nothing = await of(tokens - supervisedTokens)
    expect(nothing).toMatchObject({
      supervisedTokens: 0,
      leftOut: expect.stringMatching(/nothing of its target/) as string,
    })
  })
})

describe('a row of tens of megabytes', () => {
  it('is not sent to a page as a prompt', async () => {
    const long = place.path('long.jsonl')
    writeFileSync(long, JSON.stringify({ question: 'x'.repeat(2 ** 21), answer: '1' }))
    const set = await service.open({ file: long, field: null, encoding: null }, call)
    const params = { ...prompt('sequential', 'evaluate'), handle: set.handle, place: 0, role: 'solver', round: 1 }
    await expect(service.preview(params)).rejects.toThrow(/cannot be shown\. The row's texts have 2,097,153 characters/)
    await sets.close(set.handle)
  })
})

describe('previews with the demo’s models and prompts', () => {
  it.each(['planner', 'critic', 'solver'])('%s', async (role) => {
    const opened = await service.open({ file: demo('train.jsonl'), field: null, encoding: null }, call)
    const folder = demo(`models/${role}`)
    const { tokenizer } = await loadModelText(folder)
    const params = { model: folder, pack: demo('prompt-pack.json') }
    for (const use of ['inner', 'outer', 'evaluate'] as const) {
      const of = { ...prompt('sequential', use, params), handle: opened.handle, place: 2, role, round: 1 }
      const shown = await service.preview(of)
      expect(shown.leftOut).toBeNull()
      const texts = use === 'inner' ? [wholeText(shown.pieces)] : between(shown.pieces)
      const ids = await Promise.all(texts.map((t) => tokenizer.encode(t)))
      const slots = shown.pieces.reduce((n, p) => n + (p.kind === 'slot' && use !== 'inner' ? p.length : 0), 0)
      expect(ids.flat().length + slots).toBe(shown.tokens)
      expect(counted(shown.pieces)).toBe(shown.tokens)
    }
    await sets.close(opened.handle)
  })
})

describe('checked rows', () => {
  const faulty = [
    { frage: 'a', plan: 'p', refined_plan: 'r', answer: '1' },
    { frage: ' ', plan: 'p', refined_plan: 'r', answer: '2' },
    { frage: 'a', plan: 'p', refined_plan: 'r', answer: '3' },
    { frage: 'b', plan: null, refined_plan: 'r', answer: '4' },
    { frage: 'c', plan: 'p', refined_plan: 'r' },
    { frage: 'd', plan: 'p', refined_plan: 'r', answer: 7.5 },
    {
      frage: 'e',
      plan: 'p',
      refined_plan: 'r',
      answer: 'x'.repeat(3000),
      rounds: [{ plan: 'p', refined_plan: '', answer: 'a' }],
    },
    { frage: 'f', plan: 'p', refined_plan: 'r', answer: 'x'.repeat(3000) },
    { frage: 'g', plan: 'p', refined_plan: 'r', answer: ['a', 'list'] },
    { frage: 'h', plan: 'p', refined_plan: 'r', answer: 'x'.repeat(5000) },
  ]
  const path = place.path('faulty.jsonl')
  writeFileSync(path, faulty.map((row) => JSON.stringify(row) + '\n').join(''))
  const mapping = { question: 'frage' }
  const data = dataSpec.parse({ file: path, columns: mapping })
  let opened: string
  beforeAll(async () => {
    opened = (await service.open({ file: path, field: null, encoding: null }, call)).handle
  })
  afterAll(() => sets.close(opened))

  const check = (use: PromptParams['use'], role: string | null, more: Partial<PromptParams> = {}, lengths = true) =>
    service.check(
      { ...prompt('sequential', use, { mapping, ...more }), handle: opened, role, model: lengths ? model : null },
      call,
    )
  const placesOf = async (order: string | null) =>
    order === null
      ? null
      : (await service.rows({ handle: opened, order, from: 0, count: 100, clip: 1 })).map(({ place }) => place)
  const listed = async (report: Awaited<ReturnType<typeof check>>) =>
    Promise.all(report.problems.map(async (p) => [p.kind, p.field, p.rows, await placesOf(p.order)]))

  it('of an evaluation are those that it asks', async () => {
    const report = await check('evaluate', null)
    const { questions } = await readQuestions(data, { task: 'math', resultMark: true, seed: 1 })
    expect(report.usable).toBe(questions.length)
    expect(report).toMatchObject({ rows: 10, columns: { question: 'frage', answer: 'answer' } })
    expect(await listed(report)).toEqual([
      ['null', 'answer', 1, [4]],
      ['blank', 'question', 1, [1]],
      ['structure', 'answer', 1, [8]],
      ['duplicate', 'question', 1, [2]],
    ])
    expect(report.problems.map(({ message }) => message)).toEqual([
      '1 row has no answer (null or missing): it is left out.',
      '1 row has a blank question: it is left out.',
      '1 row has a list or an object as answer, where a text is needed: it is left out.',
      '1 row asks what an earlier row asks: it is used all the same.',
    ])
  })

  it('of inner training are those whose texts have pairs', async () => {
    const { style, pack } = await openStyle('sequential', undefined)
    for (const [agent, { role }] of style.roles.entries())
      for (const maxLength of [2048, 600]) {
        const job = innerJob.parse({ kind: 'inner', role, model, data, output: '-', maxLength })
        const settings = { style, pack, mode: 'corrected', enableThinking: false, questionFirst: false } as const
        const read = await readInnerData(job, data, { ...settings, texts: [null, null, null] }, agent)
        const fed = await Promise.all(
          read.rows.flatMap((row) => read.tasksOf(row).map((task) => tokenise(text, task, job))),
        )
        const report = await check('inner', role, { maxLength })
        expect(report.usable).toBe(fed.filter((row) => pairPositions(row).length > 0).length)
        const own = style.roles[agent].targets[0]
        const over = report.problems.find(({ kind, field }) => kind === 'over-long' && field === own)
        expect(over?.rows ?? 0).toBe(fed.filter(({ cut }) => cut).length)
      }
    expect((await check('inner', 'solver', { maxLength: 600 })).problems.map(({ kind }) => kind)).toContain('over-long')
  })

  it('of outer training are those that are not left out, for want of a text or for their length', async () => {
    const report = await check('outer', null)
    // rows 0, 2, 5 and 7; 9 is too long (its answer), 6 lacks the critic's text in a round
    expect(report.usable).toBe(4)
    expect(await listed(report)).toEqual([
      ['null', 'plan', 1, [3]],
      ['null', 'answer', 1, [4]],
      ['blank', 'question', 1, [1]],
      ['blank', 'rounds', 1, [6]],
      ['structure', 'answer', 1, [8]],
      ['over-long', 'answer', 1, [9]],
      ['duplicate', 'question', 1, [2]],
    ])
    expect((await check('outer', null, {}, false)).usable).toBe(5)
  })

  it('are none where a column is missing or the run refuses the file', async () => {
    const unmapped = await check('evaluate', null, { mapping: {} })
    expect(unmapped).toMatchObject({
      usable: 0,
      columns: { question: null },
      problems: [{ kind: 'missing', field: 'question', rows: 10, order: null }],
    })
    const wrong = await check('evaluate', null, { mapping: { question: 'prompt' } })
    expect(wrong.problems[0]).toMatchObject({
      kind: 'missing',
      field: 'question',
      message: 'There is no column "prompt".',
    })
    const broken = place.path('broken.jsonl')
    writeFileSync(broken, '{"question":"q","answer":"a"}\n{"question":\n')
    const set = await service.open({ file: broken, field: null, encoding: null }, call)
    const params = { ...prompt('sequential', 'evaluate'), handle: set.handle, model: null, role: null }
    const report = await service.check(params, call)
    expect(report.usable).toBe(0)
    expect(report.problems).toMatchObject([{ kind: 'unreadable', rows: 1 }])
    expect(report.problems[0].message).toMatch(/line 2 is not JSON/)
    await expect(
      readQuestions(dataSpec.parse({ file: broken }), { task: 'math', resultMark: true, seed: 1 }),
    ).rejects.toThrow(/line 2 is not JSON/)
    await sets.close(set.handle)
  })

  it.each([
    ['a csv', 'a.csv', 'question,answer\n"1,5",007\n , 1\nq,\n'],
    [
      'mixed types in a column',
      'a.jsonl',
      '{"question":"a","answer":["x"]}\n{"question":"b","answer":"x"}\n{"question":1e5,"answer":7.50}\n',
    ],
    ['a named list', 'a.json', '{"data":[{"question":"a","answer":true},{"question":null,"answer":1}]}'],
    [
      'UTF-16',
      'b.jsonl',
      Buffer.from(
        '\ufeff{"question":"é","answer":"1"}\n{"question":"è","answer":{}}\n{"question":" ","answer":1}\n',
        'utf16le',
      ),
    ],
  ])('of %s are those that the run reads', async (_, name, content) => {
    const source = place.path(name)
    writeFileSync(source, content)
    const spec = evaluateJob.parse({ kind: 'evaluate', data: { file: source }, output: place.path(`out-${name}`) })
    const { data: prepared } = (await prepareJobData(spec, { cache: place.path('cache') })).spec as typeof spec
    const { questions } = await readQuestions(prepared, { task: 'math', resultMark: true, seed: 1 })
    const set = await service.open({ file: source, field: null, encoding: null }, call)
    const params = { ...prompt('sequential', 'evaluate'), handle: set.handle, role: null }
    const report = await service.check({ ...params, model: null }, call)
    expect(report.usable).toBe(questions.length)
    expect(questions.length).toBeLessThan(report.rows)
    const lost = (await Promise.all(report.problems.map(({ order }) => orderedPlaces(set.handle, order)))).flat()
    const used = Array.from({ length: report.rows }, (__, i) => i).filter((i) => !lost.includes(i))
    for (const [i, at] of used.entries()) {
      const shown = await service.preview({ ...params, place: at, role: 'solver', round: 1 })
      expect(wholeText(shown.pieces)).toContain(questions[i].question)
    }
    await sets.close(set.handle)
  })

  const orderedPlaces = async (handle: string, order: string | null) =>
    (await service.rows({ handle, order, from: 0, count: 100, clip: 1 })).map(({ place }) => place)

  it('have their lengths counted', async () => {
    const [solver] = await service.tokenLengths(
      { ...prompt('sequential', 'inner', { mapping }), handle: opened, order: null, role: 'solver' },
      call,
    )
    const job = innerJob.parse({ kind: 'inner', role: 'solver', model, data, output: '-', maxLength: 1_000_000 })
    const { style, pack } = await openStyle('sequential', undefined)
    const settings = { style, pack, mode: 'corrected', enableThinking: false, questionFirst: false } as const
    const read = await readInnerData(job, data, { ...settings, texts: [null, null, null] }, 2)
    const lengths = (
      await Promise.all(read.rows.flatMap((row) => read.tasksOf(row).map((task) => tokenise(text, task, job))))
    ).map(({ ids }) => ids.length)
    expect(solver).toMatchObject({
      role: 'solver',
      limit: 2048,
      rows: lengths.length,
      over: lengths.filter((n) => n > 2048).length,
      histogram: { of: 'tokens', least: Math.min(...lengths), most: Math.max(...lengths) },
    })
    expect(solver.histogram.counts.reduce((a, b) => a + b, 0)).toBe(lengths.length)
    expect(solver.histogram.mean).toBeCloseTo(lengths.reduce((a, b) => a + b, 0) / lengths.length, 9)
  })
})

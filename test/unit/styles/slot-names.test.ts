/** Slots are filled by the links that their names say, wherever they stand. */
import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { agentPrompt, factsOf } from '../../../src-main/engine/styles/row-prompts'
import { openStyle } from '../../../src-main/engine/styles/style-file'
import { linksInto } from '../../../src-main/engine/styles/style'
import { walk } from '../../../src-main/engine/styles/walk'
import { demo, jsonLines, run, Workplace } from '../training/run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

const linkFrom = {
  left: { key: 'left', from: 'one', to: 'judge' },
  right: { key: 'right', from: 'two', to: 'judge' },
  back: { key: 'back', from: 'judge', to: 'judge' },
}
type Key = keyof typeof linkFrom

interface Prompts {
  readonly first: unknown
  readonly feedback?: unknown
}

/** Two who think side by side, and one who reads both; `links` in creation order. */
function style(links: readonly Key[], judge: Prompts): string {
  const file = place.path(`${links.join('-')}.json`)
  const content = {
    format: 'recursivemas-style/1',
    name: 'court',
    agents: [
      { role: 'one', target: 'first_view' },
      { role: 'two', target: ['second_view', 'plan'] },
      { role: 'judge', target: 'answer' },
    ],
    links: links.map((key) => linkFrom[key]),
    answers: 'judge',
    prompts: { one: { first: ['{{question}} 1'] }, two: { first: ['{{question}} 2'] }, judge },
  }
  writeFileSync(file, JSON.stringify(content))
  return file
}

const ask = async (file: string, round: number, slotTexts?: readonly string[], task: 'math' | 'code' = 'math') => {
  const opened = await openStyle(file, undefined)
  const settings = { ...opened, mode: 'corrected', enableThinking: false, questionFirst: false, texts: [] } as const
  const { user } = agentPrompt(settings, factsOf({}, 'Q', task), 2, round, slotTexts)
  return { user, keys: linksInto(opened.style, 2, round).map((l) => l.key) }
}
const refusal = (asked: Promise<unknown>) =>
  asked.then(
    () => 'nothing',
    (e: { why: string }) => e.why,
  )

describe('names of slots', () => {
  it.each([
    ['keys', '{{slot:right}}', '{{slot:left}}'],
    ['roles', '{{slot:two}}', '{{slot:one}}'],
    ['columns', '{{slot:second_view}}', '{{slot:first_view}}'],
    ['another column, and a key', '{{slot:plan}}', '{{slot:left}}'],
  ])('%s, in another order than the links', async (_, right, left) => {
    const { user, keys } = await ask(style(['left', 'right'], { first: ['R', right, 'L', left] }), 0)
    expect(keys).toEqual(['right', 'left'])
    const filled = await ask(style(['left', 'right'], { first: ['R', right, 'L', left] }), 0, ['of two', 'of one'])
    expect(filled.user).toEqual([{ kind: 'text', text: 'R\nof two\nL\nof one' }])
    expect(user.map((p) => p.kind)).toEqual(['text', 'slot', 'text', 'slot'])
  })

  it('the order of links stays where the slots have it, and each prompt has its own', async () => {
    const judge = {
      first: ['{{slot:left}}', '{{slot:right}}'],
      feedback: ['{{slot:judge}}', '{{slot:two}}', '{{slot:one}}'],
    }
    const file = style(['left', 'right', 'back'], judge)
    expect((await ask(file, 0)).keys).toEqual(['left', 'right'])
    expect((await ask(file, 1)).keys).toEqual(['back', 'right', 'left'])
    const opened = await openStyle(file, undefined)
    expect(opened.style.links.map((l) => l.key)).toEqual(['left', 'right', 'back'])
    expect(
      walk(opened.style, 2)
        .at(-1)!
        .reads.map((l) => l.key),
    ).toEqual(['back', 'right', 'left'])
    expect((await openStyle('mixture', undefined)).style.slotOrder).toBeUndefined()
  })

  const cases: [string, unknown, string][] = [
    [
      'that mean nothing',
      ['{{slot:left}}', '{{slot:rigth}}'],
      'it has a slot "rigth", but what it reads is called left, one or first_view; right, two, second_view or plan.',
    ],
    ['twice for one link', ['{{slot:left}}', '{{slot:one}}'], 'two of its slots, "one" the second, are the link left.'],
    [
      'for one link only',
      ['{{slot:two}}'],
      'it has 1 slot (two), but 2 slots are filled here (from one, two): one is missing for left, one or first_view.',
    ],
  ]
  it.each(cases)('%s are refused', async (_, first, why) => {
    expect(await refusal(ask(style(['left', 'right'], { first }), 0))).toContain(`prompts.judge.first: ${why}`)
  })

  it('in another order for another task are refused', async () => {
    const first = [
      { when: { task: 'math' }, lines: ['{{slot:right}}', '{{slot:left}}'] },
      { lines: ['{{slot:left}}', '{{slot:right}}'] },
    ]
    const file = style(['left', 'right'], { first })
    expect((await ask(file, 0)).keys).toEqual(['right', 'left'])
    expect(await refusal(ask(file, 0, undefined, 'code'))).toContain(
      'prompts.judge.first: its slots stand in another order (left, right) than for other tasks.',
    )
  })
})

describe('jobs whose prompts have another order than the links', () => {
  const models = ['planner', 'critic', 'solver'].map((m) => demo(`models/${m}`))
  const agents = ['one', 'two', 'judge'].map((role, i) => ({ role, model: models[i] }))
  const rows = () => {
    const row = { question: 'ka', answer: 'mo', first_view: 'ta ka', plan: 'mo mo' }
    writeFileSync(place.path('rows.jsonl'), `${JSON.stringify(row)}\n${JSON.stringify({ ...row, question: 'ta' })}\n`)
    return { file: place.path('rows.jsonl') }
  }
  const judge = { first: ['{{question}}', '{{slot:two}}', 'and', '{{slot:one}}'] }
  const training = (file: string, output: string): JobSpecInput => ({
    kind: 'outer',
    style: file,
    agents,
    data: rows(),
    steps: 1,
    warmupSteps: 0,
    batchSize: 2,
    rounds: 1,
    latentCap: 3,
    output: place.path(output),
  })

  it('train and answer exactly as with links that stand in that order', async () => {
    const seen = []
    expect((await run(training(style(['right', 'left'], judge), 'start'))).failure).toBe('')
    for (const links of [['right', 'left'] as const, ['left', 'right'] as const]) {
      const file = style(links, judge)
      const name = links.join('-')
      const start = { startFrom: place.path('start/checkpoints/step-1') }
      const trained = await run({ ...training(file, name), ...start } as JobSpecInput)
      expect(trained.failure).toBe('')
      const heard = await run({
        kind: 'evaluate',
        style: file,
        agents,
        data: rows(),
        outerLinks: start.startFrom,
        rounds: 1,
        latentSteps: 3,
        generation: { maxNewTokens: 4 },
        output: place.path(`${name}-answers`),
      })
      expect(heard.failure).toBe('')
      const samples = jsonLines<SampleRecord>(place.path(`${name}-answers/samples.jsonl`))
      const [first] = samples
      const slots = first.stages.at(-1)!.prompt.filter((p) => p.kind === 'slot')
      expect(slots).toMatchObject([
        { name: 'two', from: 'two' },
        { name: 'one', from: 'one' },
      ])
      const norms = trained.of('metrics').map(({ gradNorms }) => [gradNorms?.left, gradNorms?.right])
      seen.push({ losses: trained.losses(), norms, outputs: samples.map((s) => s.output) })
    }
    expect(seen[1]).toEqual(seen[0])
    expect(seen[0].losses).toHaveLength(1)
  })
})

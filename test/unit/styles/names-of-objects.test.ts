/** Names that every JavaScript object has of its own accord are names like others in what a person gives. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { checkSpec } from '../../../src-main/jobs/read-spec'
import { demo, jsonLines, run, Workplace } from '../training/run-demo-job'

let place: Workplace
beforeAll(() => {
  place = new Workplace()
  writeFileSync(place.path('style.json'), JSON.stringify(style))
  const rows = jsonLines<{ question: string; plan: string; answer: string }>(demo('train.jsonl')).slice(0, 2)
  const renamed = rows.map(({ question, plan, answer }) => ({ question, toString: plan, valueOf: answer, answer }))
  writeFileSync(place.path('rows.jsonl'), renamed.map((r) => JSON.stringify(r) + '\n').join(''))
})
afterAll(() => place.dispose())

const style = {
  format: 'recursivemas-style/1',
  name: 'constructor',
  agents: [
    { role: 'constructor', target: 'toString' },
    { role: 'hasOwnProperty', target: 'valueOf' },
  ],
  links: [
    { key: 'constructor', from: 'constructor', to: 'hasOwnProperty' },
    { key: 'isPrototypeOf', from: 'hasOwnProperty', to: 'constructor' },
  ],
  answers: 'hasOwnProperty',
  prompts: {
    constructor: { first: ['{{question}}'], feedback: ['{{question}}', '{{slot:isPrototypeOf}}'] },
    hasOwnProperty: { first: ['{{question}}', '{{slot:constructor}}'] },
  },
}

const shared = () => ({
  style: place.path('style.json'),
  agents: [
    { role: 'constructor', model: demo('models/planner') },
    { role: 'hasOwnProperty', model: demo('models/solver') },
  ],
  data: { file: place.path('rows.jsonl') },
  rounds: 2,
})
const training = (more: object): JobSpecInput => ({
  kind: 'outer',
  ...shared(),
  steps: 1,
  latentCap: 2,
  logEvery: 1,
  output: place.path('outer'),
  ...more,
})
const evaluation = (more: object): JobSpecInput => ({
  kind: 'evaluate',
  ...shared(),
  latentSteps: 2,
  generation: { maxNewTokens: 2 },
  grader: 'exact',
  output: place.path('evaluate'),
  ...more,
})

it('as links, roles, columns and a style', async () => {
  const trained = await run(training({}))
  expect(trained.failure).toBe('')
  expect(Object.keys(trained.of('metrics')[0].gradNorms!).sort()).toEqual(['constructor', 'isPrototypeOf'])
  const evaluated = await run(evaluation({}))
  expect(evaluated.failure).toBe('')
  expect(evaluated.of('question')).toHaveLength(2)
})

it('as links with types of their own', async () => {
  const linkTypes = { constructor: 'outer_adapter' }
  for (const spec of [training({ linkTypes }), evaluation({ linkTypes })]) expect((await run(spec)).failure).toBe('')
  expect((await run(training({ linkTypes: { toString: 'outer_adapter' } }))).failure).toMatch(/no toString/)
})

it('but not the one that no object keeps', () => {
  const raw = JSON.stringify(training({ linkTypes: { constructor: 'outer_adapter' } }))
  const spec = JSON.parse(raw.replace('"linkTypes":{"constructor"', '"linkTypes":{"__proto__"')) as unknown
  expect(() => checkSpec(spec, 'The spec')).toThrow(/linkTypes\.__proto__: there is nothing of this name/)
})

/** Runs that share a cache of first states take from it only what their own models and inner links would compute. */
import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { agents, demo, run, Workplace } from './run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

type Outer = Extract<JobSpecInput, { kind: 'outer' }>

const outer = (output: string, more: Partial<Outer>): Outer => ({
  kind: 'outer',
  promptPack: demo('prompt-pack.json'),
  agents,
  data: { file: demo('train.jsonl'), limit: 2 },
  rounds: 2,
  latentCap: 4,
  steps: 2,
  warmupSteps: 0,
  logEvery: 1,
  saveEvery: 0,
  output: place.path(output),
  ...more,
})

async function losses(output: string, more: Partial<Outer>): Promise<[step: number, loss: number][]> {
  const heard = await run(outer(output, more))
  expect(heard.failure).toBe('')
  return heard.losses()
}

/** The second run has the same losses with the first one's cache as with one of its own. */
async function expectNothingTaken(first: Partial<Outer>, second: Partial<Outer>): Promise<void> {
  const cache = place.path('cache')
  await losses('first', { ...first, cache })
  const after = await losses('after', { ...second, cache })
  expect(after).toEqual(await losses('alone', { ...second, cache: place.path('own') }))
  expect(after).not.toEqual(await losses('first-again', { ...first, cache }))
}

it('tells rollouts through inner links of equal parameters and other types apart', async () => {
  const through = (innerLinkType: 'adapter' | 'res_adapter'): Partial<Outer> => ({
    states: 'self-fed',
    agents: agents.map((a) => ({ ...a, innerLinkType })),
  })
  await expectNothingTaken(through('adapter'), through('res_adapter'))
})

it('tells the rollouts of an answering agent that begins a round apart, where the other agents roll nothing out', async () => {
  writeFileSync(place.path('style.json'), JSON.stringify(answersFirst))
  const through = (innerLinkType: 'adapter' | 'linear_adapter'): Partial<Outer> => ({
    style: place.path('style.json'),
    states: 'shifted',
    feedback: 'self-fed',
    agents: [
      { role: 'answerer', model: demo('models/solver'), innerLinkType },
      { role: 'asker', model: demo('models/planner') },
    ],
  })
  await expectNothingTaken(through('adapter'), through('linear_adapter'))
})

/** A ring whose answering agent thinks first. */
const answersFirst = {
  format: 'recursivemas-style/1',
  name: 'answers-first',
  agents: [
    { role: 'answerer', target: 'answer' },
    { role: 'asker', target: 'plan' },
  ],
  links: [
    { key: 'tell', from: 'answerer', to: 'asker' },
    { key: 'ask', from: 'asker', to: 'answerer' },
  ],
  answers: 'answerer',
  prompts: {
    answerer: { first: ['{{question}}'], feedback: ['{{question}}', '{{slot:ask}}'] },
    asker: { first: ['{{question}}', '{{slot:tell}}'] },
  },
}

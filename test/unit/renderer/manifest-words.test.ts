import { expect, it } from 'vitest'
import { manifestWords } from '../../../src-renderer/lib/manifest-words'

const outer = {
  links: [
    { key: 'outer_12', type: 'outer_ln_res_adapter', inWidth: 64, outWidth: 96 },
    { key: 'outer_31', type: 'outer_linear_adapter', inWidth: 80, outWidth: 64 },
  ],
  style: 'sequential',
  role: null,
  task: 'math',
  baseModels: [
    { role: 'planner', id: 'planner', revision: null },
    { role: 'critic', id: 'lab/critic', revision: '0123456789abcdef' },
    { role: 'solver', id: 'solver', revision: null },
  ],
  dataset: { file: 'C:\\data\\train.jsonl', rows: 3000 },
  rounds: { from: 1, to: 3 },
  metrics: { accuracy: 0.9833, loss: 0.01234 },
}

it('names links by the agents they join, with type and widths', () => {
  expect(manifestWords(outer, null).links).toEqual([
    { name: 'planner → critic', type: 'two layers, residual, normalised (outer_ln_res_adapter)', widths: '64 → 96' },
    { name: 'solver → planner', type: 'one layer (outer_linear_adapter)', widths: '80 → 64' },
  ])
})

it('says rounds, models and data, and nothing that is null', () => {
  const facts = Object.fromEntries(manifestWords(outer, null).facts.map(({ name, value }) => [name, value]))
  expect(facts).toEqual({
    Style: 'sequential',
    Models: 'planner, critic: lab/critic at 0123456789ab, solver',
    Rounds: '1 to 3',
    Data: 'train.jsonl, 3\u202f000\u00a0rows',
  })
  expect(manifestWords(outer, null).metrics).toEqual([
    { name: 'accuracy', value: '98.3\u00a0%' },
    { name: 'loss', value: '0.0123' },
  ])
})

it('says from which columns the data was read', () => {
  const dataset = { ...outer.dataset, columns: { question: 'problem', answer: 'worked' } }
  expect(manifestWords({ dataset }, null).facts).toEqual([
    { name: 'Data', value: 'train.jsonl, 3\u202f000\u00a0rows, question from problem, answer from worked' },
  ])
})

it('bears a manifest of any shape', () => {
  expect(manifestWords({ links: 7, baseModels: null, rounds: 'x', metrics: [] }, null)).toEqual({
    links: [],
    facts: [],
    metrics: [],
  })
})

import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { nearest } from '../../../src-main/engine/formats/nearest'
import { checkAgainst } from '../../../src-main/engine/formats/schema-faults'
import { jobSpec } from '../../../src-main/engine/job-spec'

const why = (schema: z.ZodType, value: unknown): string => {
  const checked = checkAgainst(schema, value)
  return checked.ok ? 'nothing' : checked.why
}

const evaluation = (more: object = {}): object => ({ kind: 'evaluate', output: 'o', data: { file: 'f' }, ...more })
const job = (more: object): string => why(jobSpec, evaluation(more))

describe('faults of a value', () => {
  it('is the schema’s output where there is none', () => {
    expect(checkAgainst(z.strictObject({ a: z.number().default(3) }), {})).toEqual({ ok: true, data: { a: 3 } })
  })

  const cases: [string, object, string | RegExp][] = [
    ['a name with a slip', { latentStep: 3 }, 'the file: there is no "latentStep" here (did you mean "latentSteps"?)'],
    [
      'a name that is like none',
      { data: { file: 'f', window: 'q' } },
      'data: there is no "window" here (known are file, field, columns, shuffle, limit)',
    ],
    ['no value', { output: undefined }, 'output: missing (a text is needed)'],
    ['another kind of value', { seed: '3' }, 'seed: "3" is not a number'],
    ['a broken number', { seed: 1.5 }, 'seed: 1.5 is not a whole number'],
    ['an object for a text', { output: {} }, 'output: an object is not a text'],
    ['a text for a list', { agents: 'planner' }, 'agents: "planner" is not a list'],
    ['a number below its least', { rounds: 0 }, 'rounds: 0 is too small (at least 1)'],
    ['a number above its most', { generation: { topP: 2 } }, 'generation.topP: 2 is too large (at most 1)'],
    ['a number at an open end', { generation: { topP: 0 } }, 'generation.topP: 0 is too small (more than 0)'],
    ['an empty text', { output: '' }, 'output: the text is empty'],
    ['a value that is none of a few', { grader: 'exakt' }, 'grader: "exakt" is none of math, exact'],
    ['a link type', { linkType: 'mlp' }, /^linkType: "mlp" is none of [\w, ]*outer_ln_res_adapter/],
    [
      'a place in a list',
      { agents: [{ role: 'a', model: 'm' }, { role: 'b' }] },
      'agents.1.model: missing (a text is needed)',
    ],
    [
      'a published system that is none',
      { system: { name: 'sequential_heavy', folder: 'x' } },
      'system.name: "sequential_heavy" is none of sequential_light, sequential_scaled, mixture, distillation, deliberation',
    ],
    [
      'a benchmark that is none',
      { system: { name: 'mixture', folder: 'x', benchmark: 'math5000' } },
      /^system\.benchmark: "math5000" is none of math500, medqa, [\w, ]+$/,
    ],
    ['a name in a system', { system: { nmae: 'mixture' } }, 'system: there is no "nmae" here (did you mean "name"?)'],
    ['neither of two kinds', { system: 3 }, 'system: 3 is not a text or an object'],
    ['an empty text for one of two kinds', { system: '' }, 'system: the text is empty'],
    [
      'several, unknown names first',
      { rounds: 0, seed: -1, output: '', lattentSteps: 2 },
      'the file: there is no "lattentSteps" here (did you mean "latentSteps"?); seed: -1 is too small (at least 0); ' +
        'output: the text is empty; and 1 more',
    ],
    ['a kind that is none', { kind: 'evaluation' }, 'kind: "evaluation" is none of inner, outer, evaluate'],
    ['no kind', { kind: undefined }, 'kind: missing (one of inner, outer, evaluate is needed)'],
  ]
  it.each(cases)('%s', (_, more, expected) => {
    if (typeof expected === 'string') expect(job(more)).toBe(expected)
    else expect(job(more)).toMatch(expected)
  })

  it('another kind of value as a whole', () => {
    expect(why(jobSpec, [])).toBe('the file: a list is not an object')
    const named = checkAgainst(jobSpec, 3, 'the job')
    expect(named).toEqual({ ok: false, why: 'the job: 3 is not an object' })
  })

  it('of a choice between forms those of the form that was meant', () => {
    const range = why(jobSpec, { kind: 'outer', output: 'o', data: { file: 'f' }, rounds: { from: 1 } })
    expect(range).toBe('rounds.to: missing (a number is needed)')
    const list = z.union([z.array(z.string()), z.array(z.strictObject({ lines: z.array(z.string()) }))])
    expect(why(list, [{ lines: ['a'] }, { line: ['a'] }])).toBe(
      '1: there is no "line" here (did you mean "lines"?); 1.lines: missing (a list is needed)',
    )
    expect(why(list, 'a')).toBe('the file: "a" is not a list')
  })

  it('with the words that a schema has of its own, and names that cannot stand', () => {
    const name = z.string().regex(/^[a-z]+$/, 'a name has small letters')
    expect(why(z.object({ a: name }), { a: 'B' })).toBe('a: a name has small letters')
    expect(why(z.record(name, z.number()), { B: 1 })).toBe('B: "B" cannot be a name here (a name has small letters)')
    expect(why(z.object({ a: z.array(name).min(1) }), { a: [] })).toBe('a: the list is empty')
    expect(why(z.object({ a: z.literal('x/1') }), { a: 'x/2' })).toBe('a: "x/2" is not "x/1"')
  })
})

it.each([
  ['linkz', 'links'],
  ['batchsize', 'batchSize'],
  ['rolls', null],
  ['lniks', 'links'],
  ['x', null],
])('%s is meant as %s', (name, meant) => {
  expect(nearest(name, ['links', 'batchSize', 'rounds', 'topK', 'topP', 'style'])).toBe(meant)
})

/** Multiple choice through an evaluation: options in the question, letters as verdicts, tasks by row. */
import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gradeAnswer, graderOf } from '../../../src-main/engine/evaluation/grade'
import { type SampleRecord, sampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import { jsonLines, roles, run, Workplace } from '../training/run-demo-job'
import { byteModel } from './byte-model'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

describe('gradeAnswer', () => {
  const options = ['A. Iron deficiency', 'B. Iron', 'C. Zinc', 'D. None']
  const ask = (mode: 'reference' | 'corrected', output: string, gold = 'Iron') =>
    gradeAnswer(mode, { grader: graderOf('math', 'choice'), gold, options, output, ended: true })

  it('takes the letter for the option’s text, each grader its own', () => {
    // the published rule takes the first option that contains the gold text
    expect(ask('corrected', 'So \\boxed{\\text{B}}')).toMatchObject({ correct: true, strict: true })
    expect(ask('reference', 'So \\boxed{\\text{B}}')).toEqual({
      correct: true,
      strict: true,
      grades: [
        {
          grader: 'reference',
          correct: true,
          prediction: 'A',
          gold: 'A',
          cause: 'no letter was found, which counts as A',
        },
        { grader: 'strict', correct: true, prediction: 'B', gold: 'B', cause: null },
      ],
    })
    expect(ask('reference', 'Final Choice: B')).toMatchObject({ correct: false, strict: true })
  })

  it('counts no letter as A only as published', () => {
    expect(ask('reference', 'I cannot tell.', 'A')).toMatchObject({ correct: true, strict: false })
    expect(ask('corrected', 'I cannot tell.', 'A')).toMatchObject({ correct: false, strict: false })
    expect(ask('corrected', '\\boxed{Iron}')).toMatchObject({ correct: false, strict: null })
  })

  it('is for choice tasks only', () => {
    expect([graderOf('math', 'math'), graderOf('math', 'code'), graderOf('exact', 'choice')]).toEqual([
      'math',
      'math',
      'exact',
    ])
  })
})

describe('an evaluation of choices', () => {
  it('asks with the options and grades letters; a row may have another task', async () => {
    const rows = [
      { question: 'Which metal?', options: ['Iron', 'Wood', 'Salt', 'Sand'], answer: 'Iron' },
      { question: 'Which gas?\nA. iron\nB. neon', options: ['A. iron', 'B. neon'], answer: 'B' },
      { question: 'Which acid?', options: { A: 'water', B: 'vinegar' }, answer: 'B' },
      { question: 'What is 2 + 2?', answer: '4', task_family: 'math' },
    ]
    writeFileSync(place.path('rows.jsonl'), rows.map((r) => JSON.stringify(r) + '\n').join(''))
    const agents = await Promise.all(roles.map(async (role, i) => ({ role, model: await byteModel(i + 1, 32) })))
    const heard = await run({
      kind: 'evaluate',
      agents,
      task: 'choice',
      rounds: 1,
      latentSteps: 2,
      generation: { maxNewTokens: 4 },
      data: { file: place.path('rows.jsonl') },
      output: place.path('run'),
    })
    expect(heard.failure).toBe('')
    const samples = jsonLines<SampleRecord>(place.path('run/samples.jsonl'))
      .map((s) => sampleRecord.parse(s))
      .sort((a, b) => a.index - b.index)
    expect(samples.map((s) => s.question)).toEqual([
      'Which metal?\nA. Iron\nB. Wood\nC. Salt\nD. Sand',
      rows[1].question,
      'Which acid?\nA. water\nB. vinegar',
      'What is 2 + 2?',
    ])
    expect(samples.map((s) => s.grades.map((g) => g.gold))).toEqual([
      ['A', 'A'],
      ['B', 'B'],
      ['B', 'B'],
      ['4', '4'],
    ])
    // the last agent is asked for an option, or for a number
    const asked = samples.map((s) =>
      s.stages
        .at(-1)!
        .prompt.map((p) => (p.kind === 'text' ? p.text : ''))
        .join(''),
    )
    expect(asked.map((text) => /\\boxed\{(\w)\}/.exec(text)![1])).toEqual(['A', 'A', 'A', '1'])
  })
})

import { describe, expect, it } from 'vitest'
import { beginnings, interleave, makeProblems, partSizes } from '../../../src-main/demo/data'
import { dataFiles } from '../../../src-main/demo/data-files'
import { latentSteps, questionText, rowOf, type DemoRow, type Problem } from '../../../src-main/demo/vel'

const problems = makeProblems(1)
const questions = (part: readonly (readonly Problem[])[]) => part.flat().map(questionText)

describe('the texts of a row', () => {
  it('are those of the recipe', () => {
    const one = rowOf({ start: 9, steps: [{ first: 'plo', b: 7, second: 'mik', c: 0 }] })
    expect(one).toMatchObject({
      question: 'unat nov plo hep mik nul',
      plan: 'plan 1 : 9 + 7 ; then - 0 .',
      refined_plan: '1 : 9 + 7 = 6 ; - 0 .',
      answer: 'one : nine plus seven is six minus zero is six',
      depth: 1,
    })
    const two = rowOf({
      start: 1,
      steps: [
        { first: 'plo', b: 2, second: 'mik', c: 5 },
        { first: 'plo', b: 7, second: 'mik', c: 7 },
      ],
    })
    expect(two).toMatchObject({
      question: 'unat ona plo dva mik pem dvat tan plo hep mik hep',
      plan: 'plan 2 : 8 + 7 ; then - 7 .',
      refined_plan: '2 : 8 + 7 = 5 ; - 7 .',
      answer: 'two : eight plus seven is five minus seven is eight',
    })
    expect(two.rounds.map((r) => r.answer)).toEqual([
      'one : one plus two is three minus five is eight',
      'two : eight plus seven is five minus seven is eight',
      'two : eight plus seven is five minus seven is eight',
    ])
  })

  it('fill three rounds, the last step repeated, and end with the row’s own columns', () => {
    for (const problem of interleave(problems.heldOut)) {
      const { rounds, depth, plan, refined_plan, answer } = rowOf(problem)
      expect(rounds).toHaveLength(3)
      for (const round of rounds.slice(depth - 1)) expect(round).toEqual({ plan, refined_plan, answer })
      for (const round of rounds)
        for (const text of Object.values(round)) expect(text.split(' ')).toHaveLength(latentSteps)
      expect(rounds.map((r) => Number(r.plan.split(' ')[1]))).toEqual([1, Math.min(2, depth), Math.min(3, depth)])
    }
  })

  it('agree with arithmetic modulo ten done on the question’s words', () => {
    const digit = new Map('nul ona dva tir kat pem ses hep oko nov'.split(' ').map((w, i) => [w, i]))
    const name = 'zero one two three four five six seven eight nine'.split(' ')
    for (const problem of interleave(problems.validation)) {
      const { question, answer } = rowOf(problem)
      let value = 0
      for (const step of question.split(/unat |dvat |trit /).filter(Boolean)) {
        const [a, first, b, second, c] = step.trim().split(' ')
        const signed = (op: string, word: string) => (op === 'plo' ? 1 : -1) * digit.get(word)!
        value = (a === 'tan' ? value : digit.get(a)!) + signed(first, b) + signed(second, c)
      }
      expect(answer.endsWith(` is ${name[((value % 10) + 10) % 10]}`)).toBe(true)
    }
  })
})

describe('the parts of the data', () => {
  it('have the promised sizes and depths', () => {
    for (const part of ['train', 'validation', 'heldOut'] as const)
      problems[part].forEach((rows, i) => {
        expect(rows).toHaveLength(partSizes[part])
        for (const row of rows) expect(row.steps).toHaveLength(i + 1)
      })
    expect(questions(problems.heldOut).length).toBeGreaterThanOrEqual(200)
  })

  it('share no question, and no training question begins with one of the others', () => {
    const all = [...questions(problems.train), ...questions(problems.validation), ...questions(problems.heldOut)]
    expect(new Set(all).size).toBe(all.length)
    const kept = new Set([...questions(problems.validation), ...questions(problems.heldOut)])
    for (const problem of problems.train.flat()) for (const q of beginnings(problem)) expect(kept.has(q)).toBe(false)
  })

  it('depend on the seed alone', () => {
    expect(makeProblems(1)).toEqual(problems)
    expect(questions(makeProblems(2).heldOut)).not.toEqual(questions(problems.heldOut))
  })
})

describe('the data files', () => {
  it('hold one row a line, every column filled, depths by turns', () => {
    const files = dataFiles(problems)
    expect(Object.keys(files)).toEqual(['train.jsonl', 'validation.jsonl', 'held-out.jsonl'])
    for (const content of Object.values(files)) {
      const rows = content
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as DemoRow)
      rows.forEach((row, i) => expect(row.depth).toBe((i % 3) + 1))
      for (const row of rows)
        for (const column of ['question', 'plan', 'refined_plan', 'answer'] as const)
          expect(row[column].trim()).not.toBe('')
    }
  })
})

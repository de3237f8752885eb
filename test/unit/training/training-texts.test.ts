import { describe, expect, it } from 'vitest'
import type { DataRow } from '../../../src-main/engine/data/rows'
import { sequential } from '../../../src-main/engine/styles/sequential'
import type { Stage } from '../../../src-main/engine/text'
import { outerColumns, roleColumns, roleTexts, trainingText } from '../../../src-main/engine/training/training-texts'

const row = (values: Record<string, unknown>): DataRow => ({ number: 1, text: {}, values })
const flat = { question: 'q', plan: 'p', refined_plan: 'r', answer: 'a' }
const rounds = [1, 2, 3].map((n) => ({ plan: `p${n}`, refined_plan: `r${n}`, answer: `a${n}` }))
const tasks = (agent: number, values: Record<string, unknown>, prompts: 'first' | 'all') =>
  roleTexts(sequential, agent, row(values), 'math', prompts).map(({ round, slotTexts, target }) => [
    round,
    ...slotTexts,
    target,
  ])

describe('roleTexts', () => {
  it('`first` takes the row’s own columns, once', () => {
    expect(tasks(0, { ...flat, rounds }, 'first')).toEqual([[0, 'p']])
    expect(tasks(1, flat, 'first')).toEqual([[0, 'p', 'r']])
    expect(tasks(2, flat, 'first')).toEqual([[0, 'r', 'a']])
  })

  it('`all` takes every round’s texts; feedback is the answer of the round before', () => {
    expect(tasks(0, { ...flat, rounds }, 'all')).toEqual([
      [0, 'p1'],
      [1, 'a1', 'p2'],
      [2, 'a2', 'p3'],
    ])
    expect(tasks(1, { ...flat, rounds }, 'all')).toEqual([
      [0, 'p1', 'r1'],
      [1, 'p2', 'r2'],
      [2, 'p3', 'r3'],
    ])
    expect(tasks(2, { ...flat, rounds }, 'all')).toEqual([
      [0, 'r1', 'a1'],
      [1, 'r2', 'a2'],
      [2, 'r3', 'a3'],
    ])
  })

  it('`all` without texts of rounds gives the planner its feedback prompt too', () => {
    expect(tasks(0, flat, 'all')).toEqual([
      [0, 'p'],
      [1, 'a', 'p'],
    ])
    expect(tasks(0, { ...flat, feedback: 'f' }, 'all')).toEqual([
      [0, 'p'],
      [1, 'f', 'p'],
    ])
    expect(tasks(1, flat, 'all')).toEqual([[0, 'p', 'r']])
  })

  it('takes a task once, and none that lacks a text', () => {
    expect(tasks(2, { ...flat, rounds: [rounds[0], rounds[1], rounds[1]] }, 'all')).toHaveLength(2)
    expect(tasks(1, { ...flat, plan: null }, 'first')).toEqual([])
    expect(tasks(1, { ...flat, rounds: [rounds[0], { ...rounds[1], refined_plan: ' ' }] }, 'all')).toEqual([
      [0, 'p1', 'r1'],
    ])
  })
})

describe('columns', () => {
  it('are those of the role’s text and slots, or of the whole style', () => {
    expect([0, 1, 2].map((a) => roleColumns(sequential, a))).toEqual([
      ['question', 'plan'],
      ['question', 'plan', 'refined_plan'],
      ['question', 'refined_plan', 'answer'],
    ])
    expect(outerColumns(sequential)).toEqual(['question', 'plan', 'refined_plan', 'answer'])
  })
})

describe('trainingText', () => {
  const stage = (prompt: number[][], full: number[][], tokens: number): Stage => ({
    slots: prompt.slice(1).map((_, i) => `s${i}`),
    prompt: { texts: prompt.map(String), ids: prompt },
    full: { texts: full.map(String), ids: full },
    beforeTarget: tokens,
    warnings: [],
  })

  it('cuts the finished conversation where the target begins, slots not counted', () => {
    expect(
      trainingText(
        stage(
          [
            [1, 2],
            [3, 4],
          ],
          [
            [1, 2],
            [3, 4, 5, 6],
          ],
          4,
        ),
      ),
    ).toEqual({
      prompt: [
        [1, 2],
        [3, 4],
      ],
      context: [
        [1, 2],
        [3, 4],
      ],
      target: [5, 6],
    })
  })

  it('keeps the prompt as inference has it where the template writes a finished turn differently', () => {
    // the prompt ends in an opened thought (9) that a finished turn drops
    expect(trainingText(stage([[1], [3, 9]], [[1], [3, 5, 6]], 2))).toEqual({
      prompt: [[1], [3, 9]],
      context: [[1], [3]],
      target: [5, 6],
    })
  })
})

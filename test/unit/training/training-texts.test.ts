import { describe, expect, it } from 'vitest'
import type { DataRow } from '../../../src-main/engine/data/rows'
import { styleByName } from '../../../src-main/engine/styles/registry'
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

describe('roleTexts of styles with several agents that read the same one, or are read by it', () => {
  const mixture = styleByName('mixture')
  const row1 = { question: 'q', math_expert: 'm', code_expert: 'c', science_expert: 's', answer: 'a' }
  const of = (agent: number, values: Record<string, unknown>, prompts: 'first' | 'all') =>
    roleTexts(mixture, agent, row(values), 'math', prompts).map((t) => [t.round, ...t.slotTexts, t.target])

  it('fill slots in the order of the links', () => {
    expect(of(3, row1, 'first')).toEqual([[0, 'm', 'c', 's', 'a']])
    expect(of(3, { ...row1, code_expert: null }, 'all')).toEqual([])
  })

  it('give every expert the summarizer’s text as feedback', () => {
    expect([0, 1, 2].map((a) => of(a, row1, 'all'))).toEqual(
      ['m', 'c', 's'].map((own) => [
        [0, own],
        [1, 'a', own],
      ]),
    )
  })

  it('take each round’s texts, those that came back from the round before', () => {
    const rounds = [1, 2].map((n) => ({
      expert_math: `m${n}`,
      expert_code: `c${n}`,
      expert_science: `s${n}`,
      summary: `a${n}`,
    }))
    expect(of(1, { ...row1, rounds }, 'all')).toEqual([
      [0, 'c1'],
      [1, 'a1', 'c2'],
    ])
    expect(of(3, { ...row1, rounds }, 'all')).toEqual([
      [0, 'm1', 'c1', 's1', 'a1'],
      [1, 'm2', 'c2', 's2', 'a2'],
    ])
  })
})

describe('columns', () => {
  const required = (style: string, mode: 'corrected' | 'reference') => {
    const s = styleByName(style)
    return s.roles.map((r, a) => [r.role, ...roleColumns(s, a, mode).required.slice(1)])
  }
  const experts = ['math', 'code', 'science'].map((f) => [`hie_${f}_expert`, `${f}_expert`, `expert_${f}`])

  it('are those of the role’s text and slots, each row having any of a role’s names', () => {
    expect(required('sequential', 'corrected')).toEqual([
      ['planner', 'plan'],
      ['critic', 'plan', 'refined_plan'],
      ['solver', 'refined_plan', 'answer'],
    ])
    const summaries = { anyOf: ['answer', 'hie_summarizer', 'summary'] }
    expect(required('mixture', 'corrected')).toEqual([
      ...['math', 'code', 'science'].map((f, i) => [`${f}-expert`, { anyOf: experts[i] }]),
      ['summarizer', ...experts.map((anyOf) => ({ anyOf })), summaries],
    ])
    const [expert, learner] = [
      { anyOf: ['distill_expert', 'refined_plan', 'expert_plan'] },
      { anyOf: ['distill_learner', 'answer', 'learner_answer'] },
    ]
    expect(required('distillation', 'corrected')).toEqual([
      ['expert', expert],
      ['learner', expert, learner],
    ])
    const [reflector, toolCaller] = ['reflector', 'toolcaller'].map((r) => ({ anyOf: [`deliberation_${r}`, 'answer'] }))
    expect(required('deliberation', 'corrected')).toEqual([
      ['reflector', reflector],
      ['tool-caller', reflector, toolCaller],
    ])
    expect(outerColumns(sequential)).toEqual([['question', 'problem'], 'plan', 'refined_plan', 'answer'])
    expect(outerColumns(styleByName('deliberation'))).toEqual([['question', 'problem'], reflector, toolCaller])
  })

  it('are in reference mode the published ones: one name for all rows, the summarizer’s own first', () => {
    expect(required('mixture', 'reference')).toEqual([
      ...['math', 'code', 'science'].map((f, i) => [`${f}-expert`, experts[i]]),
      ['summarizer', ['hie_summarizer', 'summary', 'answer']],
    ])
    expect(required('sequential', 'reference')[1]).toEqual(['critic', 'plan', 'refined_plan'])
    expect(required('distillation', 'reference')[1]).toHaveLength(3)
    expect(required('deliberation', 'reference')[1]).toEqual(['tool-caller', ['deliberation_toolcaller', 'answer']])
    const find = roleColumns(styleByName('mixture'), 3, 'reference').finder(['answer', 'summary'])
    expect(find(3, { answer: 'a', summary: ' ' })).toBe('')
    expect(find(0, { hie_math_expert: 'm' })).toBe('')
    expect(roleColumns(styleByName('mixture'), 3, 'corrected').finder([])(3, { answer: ' ', summary: 's' })).toBe('s')
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

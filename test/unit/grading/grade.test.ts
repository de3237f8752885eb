/** The grader `exact`, and what counts as an answer before the answer retry (spec 3.3). */
import { describe, expect, test } from 'vitest'
import { goldAnswer, grade, hasParsableAnswer } from '../../../src-main/engine/evaluation/grading'

describe('exact', () => {
  test.each<[gold: string, output: string, ended: boolean, cause: string | undefined]>([
    ['mo ra tik', ' mo  ra\ntik ', true, undefined],
    ['mo ra tik', 'mo ra tik', false, 'the answer did not end'],
    ['mo ra tik', 'mo ra', true, 'the words differ'],
    ['mo ra tik', 'mo ra tik tik', true, 'the words differ'],
    ['mo ra tik', 'Mo ra tik', true, 'the words differ'],
    [' ', '', true, 'there is no gold answer'],
  ])('%j | %j, ended %s', (gold, output, ended, cause) => {
    const { exact } = grade({ grader: 'exact', gold, output, ended })
    expect(exact.correct).toBe(cause === undefined)
    expect(exact.cause).toBe(cause)
  })
})

describe('a parsable answer', () => {
  test.each<['math' | 'choice' | 'code', string, boolean]>([
    ['math', 'so \\boxed{}', true],
    ['math', 'Final Answer: 5', false],
    ['math', '\\boxed{5', false],
    ['choice', 'The best answer is B', false],
    ['choice', 'Final Choice: B', true],
    ['choice', 'To answer a question we...', true],
    ['code', '```python\nprint(1)\n```', true],
    ['code', '```python\nprint(1)', false],
    ['code', '```\nprint(1)\n```', false],
    ['code', '<think>```python\n1\n```</think>', false],
  ])('%s: %j', (task, output, expected) => {
    expect(hasParsableAnswer(task, output)).toBe(expected)
  })
})

test('the gold answer of a worked solution', () => {
  expect(goldAnswer('4 * 5 = <<4*5=20>>20\n#### 1,020 ')).toBe('1,020')
  expect(goldAnswer(' p - q ')).toBe('p - q')
})

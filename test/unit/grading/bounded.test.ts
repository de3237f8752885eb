/**
 * Outputs that could hold up or break a grader: megabytes, numbers too large to write out, deep nesting, long lists. Each must
 * come back with a verdict; the time limit of a test is the only clock here, and far above what any of them takes.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { grade, hasParsableAnswer } from '../../../src-main/engine/evaluation/grading'

const megabyte = 1_000_000
const fill = (part: string) => part.repeat(Math.ceil(megabyte / part.length))
const boxed = (content: string) => `\\boxed{${content}}`
const range = (count: number) => Array.from({ length: count }, (_, index) => index)

const long: Record<string, string> = {
  letters: fill('a'),
  'opened boxes': fill('\\boxed{'),
  'closed boxes': fill('\\boxed{6}'),
  'a box of spaces': `\\boxed {${fill(' ')}`,
  'a box, spaces, no brace': `\\boxed${fill(' ')}x`,
  'a label of spaces': `final answer${fill(' ')}x`,
  'a heading of spaces': `# final answer${fill(' ')}x`,
  labels: fill('answer:'),
  'labels on lines': fill('answer:\n***\n'),
  'final labels': fill('final answer: '),
  'half labels': fill('final '),
  'opened think blocks': fill('<think>'),
  'closed think blocks': fill('</think>'),
  braces: fill('{'),
  'a long number': boxed(fill('9')),
  'a long fraction': boxed(`\\frac{${fill('9')}}{${fill('7')}}`),
  fractions: fill('\\frac{1}{2}'),
  'opened fractions': fill('\\frac{'),
  'full stops': fill('. '),
  'line feeds': fill('\n'),
  hashes: fill('####\n'),
  stars: `answer: ${fill('*')}`,
  semicolons: boxed(fill(';')),
  options: fill('option '),
  fences: fill('```python\n'),
  'a fence of spaces': `\`\`\`python${fill(' ')}`,
}

const hard: Record<string, [gold: string, answer: string]> = {
  'a tower of powers': ['5', '9^{9^{9^{9^{9}}}}'],
  'a large power and a root': ['5', '2^{2^{100}}+\\sqrt{2}'],
  'a large exponent': ['5', '1e999999999'],
  'a large negative exponent': ['5', '10^{-999999999}'],
  'a large factorial': ['5', '99999!'],
  'factorials of factorials': ['5', '((10!)!)!'],
  'a large binomial': ['5', '\\binom{1000000}{3000}'],
  parentheses: ['5', `${'('.repeat(1900)}5${')'.repeat(1900)}`],
  'nested fractions': ['5', `${'\\frac{1}{'.repeat(300)}2${'}'.repeat(300)}`],
  'nested roots': ['5', `${'\\sqrt{2+'.repeat(14)}2${'}'.repeat(14)}`],
  'nested text': ['5', `${'\\text{'.repeat(500)}5${'}'.repeat(500)}`],
  'nested equations': ['5', `${'x=('.repeat(12)}5${')'.repeat(12)}`],
  'nested sets': ['\\{1\\}', `${'\\{1,'.repeat(12)}5${'\\}'.repeat(12)}`],
  'many roots': [
    '5',
    range(250)
      .map((n) => `\\sqrt[3]{${n + 2}}`)
      .join('+'),
  ],
  'long lists of roots': [
    range(60)
      .map((n) => `\\sqrt[3]{${n + 2}}`)
      .join(', '),
    range(60)
      .map((n) => `\\sqrt[3]{${62 - n}}`)
      .join(', '),
  ],
  'long lists of sines': [
    range(60)
      .map((n) => `\\sin(${n + 2}x)`)
      .join(', '),
    range(60)
      .map((n) => `\\sin(${90 - n}x)`)
      .join(', '),
  ],
  'a long number and roots': [
    `${'3'.repeat(1800)}\\pi`,
    range(200)
      .map((n) => `\\sqrt[7]{${n}}`)
      .join('+'),
  ],
  'a large angle': ['5', '\\sin(10^{100})'],
  'a large exponential': ['5', 'e^{10^{10}}'],
  'many signs': ['5', '\\pm 1'.repeat(500)],
  'many letters': ['x', 'abcdefghij'.repeat(100)],
  'a large polynomial power': ['x', '(x+1)^{20000}'],
}

const odd = [
  '\\boxed{5\\}',
  '\\boxed{5}\\',
  '\\',
  '\\boxed{\u0000}',
  '\\boxed{\ud800}',
  '\ud800',
  '\\boxed{\\constructor{4}}',
  '\\boxed{\\toString}',
  '\\boxed{constructor}',
  '\\boxed{4 \\text{ constructor}}',
  '\\boxed{__proto__}',
  '\\boxed{\\begin{pmatrix}}',
  '\\boxed{\\frac}',
  '\\boxed{\\sqrt[}',
  '\\boxed{^}',
  '\\boxed{_}',
  '\\boxed{|}',
  '\\boxed{()}',
  '\\boxed{\\left(}',
  '\\boxed{\\text}',
  '\\boxed{\\log_}',
]

describe('grading is bounded', () => {
  test.each(Object.entries(long))('%s', (_, output) => {
    const { reference, strict } = grade({ grader: 'math', gold: '5', output, ended: true })
    expect([reference.correct, strict.correct]).toEqual([false, false])
    for (const task of ['math', 'choice', 'code'] as const)
      expect(typeof hasParsableAnswer(task, output)).toBe('boolean')
  })

  test.each(Object.entries(hard))('%s', (_, [gold, answer]) => {
    const { strict } = grade({ grader: 'math', gold, output: boxed(answer), ended: true })
    expect(strict.correct).not.toBe(true)
    expect(strict.reason).not.toBe('')
  })

  test.each(odd)('%j', (output) => {
    expect(grade({ grader: 'math', gold: '6', output, ended: true }).strict.correct).not.toBe(true)
  })

  test('a gold answer of a megabyte', () => {
    expect(grade({ grader: 'math', gold: fill('5'), output: boxed('5'), ended: true }).strict.correct).toBe(false)
  })

  test('damaged outputs never throw', () => {
    const lines = readFileSync(join(import.meta.dirname, '../../golden/grading/math.jsonl'), 'utf8')
      .trim()
      .split('\n')
    // A fixed generator (Lehmer), so that a failure can be found again.
    let state = 20_261
    const draw = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below
    const marks = '{ } \\ $ ^ _ ( ) [ ] , | & \\\\ \\frac \\text{ = < 9'.split(' ')
    for (const line of lines) {
      const { gold, output } = JSON.parse(line) as { gold: string; output: string }
      const at = draw(output.length + 1)
      const damaged = output.slice(0, at) + marks[draw(marks.length)] + output.slice(at + draw(3))
      const isGoldDamaged = draw(2) === 1
      const verdict = grade({ grader: 'math', gold: isGoldDamaged ? damaged : gold, output: damaged, ended: true })
      expect([true, false, null]).toContain(verdict.strict.correct)
    }
  }, 60_000)
})

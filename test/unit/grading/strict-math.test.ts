/** Strict grading on answers as models write them; what is expected is what a careful person says. */
import { describe, expect, test } from 'vitest'
import { grade } from '../../../src-main/engine/evaluation/grading'

const strict = (gold: string, output: string) => grade({ grader: 'math', gold, output, ended: true }).strict

/** Gold answer, then content of the box. */
type Pairs = [gold: string, answer: string][]

const right: Record<string, Pairs> = {
  'money and units': [
    ['18', '\\$18'],
    ['18', '18\\ \\text{dollars}'],
    ['70000', '\\$70{,}000'],
    ['20', '20\\text{ minutes}'],
    ['12 \\text{ cm}^2', '12\\text{ square centimeters}'],
    ['12 \\text{ cm}^2', '12 cm^2'],
    ['5\\text{ m}', '5 m'],
    ['\\frac{270}7\\text{ degrees}', '\\frac{270}{7}^\\circ'],
    ['60 \\text{ mph}', '60 \\text{ miles per hour}'],
    ['10:30 \\text{ a.m.}', '10:30 \\text{ AM}'],
  ],
  'exact values': [
    ['\\frac{1}{\\sqrt{2}}', '\\frac{\\sqrt2}{2}'],
    ['\\sqrt{3+2\\sqrt2}', '1+\\sqrt2'],
    ['\\log_2 3', '\\frac{\\ln 3}{\\ln 2}'],
    ['\\tan^{-1}(2)', '\\arctan 2'],
    ['2^{1004}', '4^{502}'],
    ['\\frac{1}{3}', '0.\\overline{3}'],
    ['-\\frac{1}{2}', '\\frac{-1}{2}'],
    ['e^{i\\pi}', '-1'],
    ['\\dbinom{10}{3}', '120'],
    ['5!', '120'],
    ['4', '\\sqrt{16}'],
    ['11\\sqrt{5} + 11', '11(\\sqrt5+1)'],
  ],
  expressions: [
    ['\\frac{x+1}{2}', '\\frac{1}{2}(x+1)'],
    ['\\frac{x+1}{2}', '\\frac{x}{2}+\\frac12'],
    ['xy', 'yx'],
    ['3x+1', 'y = 3x+1'],
    ['f(x)=2x+1', 'f(x) = 1+2x'],
    ['y = \\frac{1}{2}x + 3', 'y = x/2 + 3'],
    ['x^2+y^2=4', 'y^2 + x^2 = 4'],
    ['x=4', '4=x'],
    ['\\frac{\\pi}{6} + 2\\pi k, k \\in \\mathbb{Z}', 'k \\in \\mathbb{Z}, 2k\\pi + \\pi/6'],
  ],
  'sets, tuples, intervals': [
    ['3, -3', 'x = \\pm 3'],
    ['(3,4)', '(x, y) = (3, 4)'],
    ['\\left( 3, \\frac{\\pi}{2} \\right)', '(3, \\pi/2)'],
    ['x \\neq 3', '(-\\infty,3) \\cup (3,\\infty)'],
    ['(-\\infty,2)\\cup(3,\\infty)', 'x < 2 \\text{ or } x > 3'],
    ['(2,3)', 'x > 2 \\text{ and } x < 3'],
    ['\\{1,2,3\\}', '1, 2, 3'],
    ['\\emptyset', '\\{\\}'],
    ['\\mathbb{R}', '(-\\infty, \\infty)'],
    ['A,C,D', '\\text{A, D, C}'],
    ['(100,200)', '(100, 200)'],
    ['\\begin{pmatrix} 1/3 \\\\ 2 \\end{pmatrix}', '\\begin{bmatrix} \\frac13 \\\\ 2\\end{bmatrix}'],
  ],
  words: [
    ['\\text{June } 20', '\\text{june 20}'],
    ['\\text{(A)}', 'A'],
    ['\\text{Yes}', 'yes'],
    ['3:1', '3:1'],
  ],
}

const wrong: Record<string, Pairs> = {
  values: [
    ['\\frac{1}{3}', '0.333'],
    ['5', 'x = 5 \\text{ or } x = -3'],
    ['90', '90\\%'],
    ['12 \\text{ cm}^2', '12\\,\\mathrm{cm}'],
    ['10^{80}', '10^{80}+1'],
    ['10^{80}\\sqrt{2}', '10^{80}\\sqrt{2}+1'],
    ['\\frac{1}{10^{80}}', '0'],
    ['x^2+1', 'y^2+1'],
    ['x^3', 'x^2'],
    ['e^{\\pi\\sqrt{163}}', '262537412640768744'],
    ['3:1', '1:3'],
    ['\\text{even}', '\\text{odd}'],
    ['dog', 'god'],
    ['2', '\\text{not } 2'],
    ['12', '5.12'],
    ['(2,3)', '[2,3)'],
    ['3', '\\{3, 4\\}'],
    ['\\sin x', '\\cos x'],
    ['6 - 5i', '(5,\\infty)'],
  ],
}

const open: Record<string, Pairs> = {
  'correct in a form that people differ on': [
    ['\\frac{\\pi}{6}', '30^\\circ'],
    ['5\\text{ m}', '500\\text{ cm}'],
    ['120', '\\binom{10}{3}'],
    ['\\frac{\\sqrt{3}}{2}', '\\sin 60^\\circ'],
    ['\\sqrt{x^2}', 'x'],
    ['(3,4)', 'x=3, y=4'],
    ['70 \\sqrt{2}', '70\\sqrt{2} \\approx 98.99'],
    ['\\frac{3}{4}', '\\dfrac{3}{4}\\text{ or }0.75'],
    ['\\frac13', '0.333...'],
    ['\\text{even}', '\\text{The function is even}'],
    ['x(x+1)', 'x^2+x'],
    ['y = 2x', 'y - 2x = 0'],
    ['y = 3x+1', '3x+1'],
    ['3x+1', 'f(x) = 3x+1'],
    ['3x+1', 'x = 3x+1'],
    ['3:1', '6:2'],
  ],
}

describe('strict math', () => {
  for (const [verdict, groups] of [
    [true, right],
    [false, wrong],
    [null, open],
  ] as const) {
    for (const [name, pairs] of Object.entries(groups)) {
      test.each(pairs)(`${String(verdict)}, ${name}: %s | %s`, (gold, answer) => {
        expect(strict(gold, `\\boxed{${answer}}`)).toMatchObject({ correct: verdict })
      })
    }
  }

  test.each<[output: string, pred: string | null, correct: boolean | null]>([
    ['The answer is $18.', '$18', true],
    ['The answer is \\$18 per day.', '\\$18 per day', true],
    ['Final Answer: 18 eggs', '18 eggs', true],
    ['**Answer:** 18', '18', true],
    ['Answer: $x = 18$', 'x = 18', true],
    ['## Final Answer\n\n$18$', '18', true],
    ['The final answer is: $\\boxed{18}$', '18', true],
    ['$$\\boxed{18}$$', '18', true],
    ['It is \\boxed{17}</think>\nThe answer is 18.', '18', true],
    ['<think>\\boxed{17}</think>\n\\boxed{18}<think>\\boxed{17}</think>', '18', true],
    ['\\boxed{18} is what I thought, but \\boxed{17}.', '17', false],
    ['It is large.\nThe answer is not 18', null, false],
    ['We get 18 apples on the way.\nMore to come', null, false],
    ['<think>So \\boxed{18}', '18', null],
    ['So \\boxed{18', '18', null],
    ['18', '18', null],
    ['', null, false],
  ])('what %j commits to', (output, pred, correct) => {
    expect(strict('18', output)).toMatchObject({ pred, correct })
  })

  test('a worked solution counts from behind its last hashes', () => {
    expect(grade({ grader: 'math', gold: '16 - 3 = 13\n#### 13', output: '\\boxed{13}', ended: true })).toMatchObject({
      reference: { correct: true, goldNorm: 'intpart:13' },
      strict: { correct: true, gold: '13' },
    })
  })
})

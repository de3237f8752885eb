/** Exact comparison of values: identities of mathematics must hold, and near misses must not. */
import { describe, expect, test } from 'vitest'
import { parseAnswer } from '../../../src-main/engine/evaluation/grading/strict/parser'
import { compareValues, type Sameness } from '../../../src-main/engine/evaluation/grading/strict/same-value'
import { OutOfWork, Work } from '../../../src-main/engine/evaluation/grading/strict/work'

function compared(first: string, second: string, work = new Work()): Sameness {
  const [a, b] = [first, second].map((source) => parseAnswer(source, { commaGroups: true })?.node)
  if (!a || !b) throw new Error(`not read: ${first} or ${second}`)
  return compareValues(a, b, work)
}

describe('values', () => {
  test.each([
    ['(1+i)^2', '2i'],
    ['\\sqrt{-4}', '2i'],
    ['(-8)^{1/3}', '-2'],
    ['i^i', 'e^{-\\pi/2}'],
    ['\\sin\\frac{\\pi}{5}', '\\frac{\\sqrt{10-2\\sqrt5}}{4}'],
    ['\\cos 36^\\circ', '\\frac{1+\\sqrt5}{4}'],
    ['\\sqrt[3]{2+\\sqrt5}+\\sqrt[3]{2-\\sqrt5}', '1'],
    ['16\\arctan\\frac15 - 4\\arctan\\frac1{239}', '\\pi'],
    ['\\ln(-1)', 'i\\pi'],
    ['\\log_8 4', '\\frac23'],
    ['\\log 1000', '3'],
    ['\\sin^2 x + \\cos^2 x', '1'],
    ['\\sin 2x', '2\\sin x\\cos x'],
    ['\\frac{x^3-1}{x-1}', 'x^2+x+1'],
    ['(a+b)^5', 'a^5+5a^4b+10a^3b^2+10a^2b^3+5ab^4+b^5'],
    ['\\frac1{\\sqrt a+\\sqrt b}', '\\frac{\\sqrt a-\\sqrt b}{a-b}'],
    ['\\lfloor -\\frac72 \\rfloor', '-4'],
    ['\\gcd(84, 36) \\cdot lcm(4,6)', '144'],
    ['\\binom{52}{5}', '2598960'],
    ['1{,}000.50', '\\frac{2001}{2}'],
    ['2.5e5', '250000'],
    ['AF_{16}', '175'],
    ['1\\frac{1}{2}+\\frac12', '2'],
    ['2^{-10}', '\\frac1{1024}'],
    ['0.1\\overline{6}', '\\frac16'],
  ])('%s = %s', (first, second) => {
    expect(compared(first, second)).toBe('same')
  })

  test.each([
    ['\\sqrt2+\\sqrt3', '3.146264369941972342329135'],
    ['\\pi', '\\frac{355}{113}'],
    ['\\frac{\\ln(640320^3+744)}{\\sqrt{163}}', '\\pi'],
    ['x^2', 'x^2+10^{-30}'],
    ['a-b', 'b-a'],
    ['2^{10000}', '2^{10000}+1'],
  ])('%s is not %s', (first, second) => {
    expect(compared(first, second)).toBe('different')
  })

  test('equal for positive unknowns only', () => {
    expect(compared('\\sqrt{x^2}', 'x')).toBe('same for positive unknowns')
    expect(compared('\\sqrt{xy}', '\\sqrt{x}\\sqrt{y}')).toBe('same for positive unknowns')
  })

  test('no value, and values out of reach', () => {
    expect(compared('\\frac10', '\\frac20')).toBe('both undefined')
    expect(compared('\\frac10', '1')).toBe('different')
    expect(compared('9^{9^{9^9}}', '9^{9^{9^9}}')).toBe('undecided')
    expect(() => compared('\\sin 1', '\\cos 1', new Work(100))).toThrow(OutOfWork)
  })
})

/** Python's printing and reading of numbers and white space; every expected value was printed by Python 3.11. */
import { describe, expect, test } from 'vitest'
import { boxedText, finalAnswerLabel, labelledText } from '../../../src-main/engine/evaluation/grading/reference/boxed'
import { normalise } from '../../../src-main/engine/evaluation/grading/reference/math'
import {
  divideIntegers,
  floatText,
  parseInteger,
  PythonError,
} from '../../../src-main/engine/evaluation/grading/reference/python-text'
import { PYTHON_SPACE, stripPython } from '../../../src-main/engine/text/python-text'

/** Python's `repr(a / b)`. */
const quotients: [a: bigint, b: bigint, text: string][] = [
  [4n, 2n, '2.0'],
  [1n, 100000n, '1e-05'],
  [1n, 10000n, '0.0001'],
  [9n, 99999n, '9.000090000900009e-05'],
  [10000000000000000n, 1n, '1e+16'],
  [1234567890123456n, 1n, '1234567890123456.0'],
  [123456789012345678n, 1n, '1.2345678901234568e+17'],
  [-1n, 3n, '-0.3333333333333333'],
  [0n, 3n, '0.0'],
  [0n, -3n, '-0.0'],
  [2n, -3n, '-0.6666666666666666'],
  [22n, 7n, '3.142857142857143'],
  [10n ** 22n, 1n, '1e+22'],
  [1n, 10n ** 7n, '1e-07'],
  [9007199254740993n, 1n, '9007199254740992.0'],
  [18014398509481987n, 2n, '9007199254740994.0'],
  [5n, 10n ** 324n, '5e-324'],
  [3n, 10n ** 324n, '5e-324'],
  [2n, 10n ** 324n, '0.0'],
  [1n, 7n * 10n ** 310n, '1.4285714285714e-311'],
  [17976931348623157n * 10n ** 292n, 1n, '1.7976931348623157e+308'],
  [10n ** 400n + 1n, 10n ** 399n, '10.0'],
  [3n ** 700n, 7n ** 600n, '8.43440197510179e-174'],
  [-932652146082171377906n, 70240n, '-1.327807725060039e+16'],
  [-317836543235529582278076636n, 4421703276944032509908319268n, '-0.07188102035087159'],
  [2661036547695044674n, 93088678617608013050107048743117249n, '2.8586038465817276e-17'],
  [-726233928239105483482367896186097469n, 40271656545690044817056790209585n, '-18033.37608958697'],
  [514484083405897843295224853673558719800n, 46201568512n, '1.1135641061023073e+28'],
  [-46293011226612590553035n, 15508781369n, '-2984954789494.047'],
  [-277449247114n, 546019244150943n, '-0.0005081308948101859'],
  [697039321163798425731432706435n, 60987119983344850731263012n, '11429.287386486769'],
]

describe('Python text', () => {
  test.each(quotients)('%d / %d prints as %s', (a, b, text) => {
    expect(floatText(divideIntegers(a, b))).toBe(text)
  })

  test('a quotient past the largest double raises', () => {
    expect(() => divideIntegers(10n ** 309n, 1n)).toThrow(PythonError)
    expect(() => divideIntegers(-(2n ** 1024n), 1n)).toThrow('OverflowError')
  })

  test('integers of other scripts, and the limit of 4,300 digits', () => {
    expect(parseInteger('-٣٥')).toBe(-35n)
    expect(parseInteger('+１２')).toBe(12n)
    expect(parseInteger('\u{1d7d7}')).toBe(9n)
    expect(parseInteger('9'.repeat(4300))).toBe(10n ** 4300n - 1n)
    expect(() => parseInteger('9'.repeat(4301))).toThrow('ValueError')
  })

  test('white space is what str.isspace says', () => {
    const codes = [9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000]
    for (let code = 0x2000; code <= 0x200a; code++) codes.push(code)
    const pattern = new RegExp(`^[${PYTHON_SPACE}]$`, 'u')
    const found = []
    for (let code = 0; code < 0x110000; code++) if (pattern.test(String.fromCodePoint(code))) found.push(code)
    expect(found).toEqual(codes.sort((a, b) => a - b))
    expect(stripPython('\x1c\x85 a b \ufeff\u3000')).toBe('a b \ufeff')
  })
})

describe('reference extraction', () => {
  test.each([
    ['first \\boxed{7} then \\boxed{\\frac{9}{2}}', '7'],
    ['\\boxed{\\frac{1}{2}} so \\text{done}\n\\boxed {3}', '\\frac{1}{2}} so \\text{done'],
    ['\\boxed{\\frac{3}\n{4}}', '\\frac{3'],
    ['\\boxed{}', ''],
    ['\\boxed{5', null],
    ['\\fbox{5}', null],
  ])('box of %j', (output, content) => {
    expect(boxedText(output)).toBe(content)
  })

  test.each([
    ['Final Answer: 6\nFinal  answer :\n\n 7 \n8', '7'],
    ['semifinal answer: 6', '6'],
    ['FinalAnswer: 6', null],
    ['Final Answer: ', null],
  ])('label of %j', (output, content) => {
    expect(labelledText(output, finalAnswerLabel)).toBe(content)
  })

  test('mixed numbers run together (spec 12.2)', () => {
    expect(normalise('intpart', '3\\frac{1}{2}')).toBe('30')
    expect(normalise('intpart', '1\\frac{4}{5}')).toBe('10')
    expect(normalise('intpart', '137 \\frac{1}{2}')).toBe('137')
  })
})

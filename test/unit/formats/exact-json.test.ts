/** Numbers of JSON texts: those that JSON.parse would change, and none inside texts. */
import { describe, expect, it } from 'vitest'
import { parseExactJson, quoteInexactNumbers } from '../../../src-main/engine/formats/exact-json'

describe('exact JSON', () => {
  it.each([
    ['[7.50, 7.5, 1e5, 100000, -0, 0, 0.1, 1E400]', '["7.50", 7.5, "1e5", 100000, "-0", 0, 0.1, "1E400"]'],
    ['[9007199254740992, 9007199254740993]', '[9007199254740992, "9007199254740993"]'],
    ['{"7.50": "7.50", "a\\"1.0": [1.0]}', '{"7.50": "7.50", "a\\"1.0": ["1.0"]}'],
    ['"1.0 \\\\" ', '"1.0 \\\\" '],
    ['[true, null, "\\\\\\"2.0"]', '[true, null, "\\\\\\"2.0"]'],
    ['2.0', '"2.0"'],
  ])('%s', (text, expected) => {
    expect(quoteInexactNumbers(text)).toBe(expected)
    expect(parseExactJson(text)).toEqual(JSON.parse(expected))
  })

  it('refuses what JSON.parse refuses', () => {
    for (const text of ['', '{', '[1,]', '01', '[1 2]', '"a']) expect(() => parseExactJson(text)).toThrow(SyntaxError)
  })
})

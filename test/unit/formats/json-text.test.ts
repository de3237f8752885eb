import { describe, expect, it } from 'vitest'
import { faultIn, parseJson } from '../../../src-main/engine/formats/json-text'

const told = (text: string): string => {
  try {
    parseJson(text)
    return 'nothing'
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError)
    return (error as Error).message
  }
}

describe('parseJson', () => {
  it('gives what JSON.parse gives, a byte order mark aside', () => {
    expect(parseJson('\uFEFF{"a": [1, "x\\u0041", null, true, -0.5e3]}')).toEqual({ a: [1, 'xA', null, true, -500] })
  })

  it.each([
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: a comma is missing before "b"'],
    ['{\r\n  "a": 1,\r\n}', 'line 2, column 9: a comma stands before the closing }'],
    ['[1, 2, ]', 'line 1, column 6: a comma stands before the closing ]'],
    ['{"a" 1}', 'line 1, column 6: a colon is missing before "1"'],
    ["{'a': 1}", `line 1, column 2: a name in double quotes is missing before "'"`],
    ['{\n a: 1}', 'line 2, column 2: a name in double quotes is missing before "a"'],
    ['{"a": tru}', 'line 1, column 7: "tru" is no value (a text stands in double quotes)'],
    ['{"a": 007}', 'line 1, column 7: "007" is no value (a text stands in double quotes)'],
    ['{"a": 1} x', 'line 1, column 10: "x" stands after the end'],
    ['{"a": [1, 2}', 'line 1, column 12: there is a } where a ] is missing'],
    ['{"a": [1,\n 2', 'line 2, column 3: the text ends, but a ] is missing'],
    ['', 'line 1, column 1: the text holds no value'],
    ['{"a": "b\n"}', 'line 1, column 7: a text is not closed by a double quote on its line'],
    ['{"a": "b', 'line 1, column 7: a text is not closed by a double quote'],
    [
      '{"a": "C:\\data"}',
      'line 1, column 10: a text holds a backslash that means nothing (a backslash itself is written \\\\)',
    ],
    ['{"a": "b\tc"}', 'line 1, column 9: a text holds the character "\\t", which is written \\t'],
    ['{ // what it is\n}', 'line 1, column 3: a name in double quotes is missing before "/"'],
    ['{"a": /* one */ 1}', 'line 1, column 7: there is a comment, which JSON does not have'],
  ])('%j: %s', (text, why) => {
    expect(told(text)).toBe(why)
  })

  it('finds a fault exactly where JSON.parse does, in texts with one sign put in, taken out or changed', () => {
    const whole = '{"a": [1, -2.5e+3, "x\\n\\u00e9 \\"y\\""], "b": {"c": null, "d": [true, false, [], {}]}, "e": 0}'
    const signs = [...'{}[]",:\\0123456789-+.eEtfnu /x\n\u0001']
    let faults = 0
    for (let at = 0; at <= whole.length; at++)
      for (const sign of ['', ...signs])
        for (const rest of [at, at + 1]) {
          const text = whole.slice(0, at) + sign + whole.slice(rest)
          let right = true
          try {
            JSON.parse(text)
          } catch {
            right = false
          }
          expect(faultIn(text) === null, text).toBe(right)
          if (!right) faults++
        }
    expect(faults).toBeGreaterThan(3000)
  })

  it('is not stopped by depth', () => {
    expect(told('['.repeat(200_000))).toBe('line 1, column 200001: the text ends, but a ] is missing')
  })
})

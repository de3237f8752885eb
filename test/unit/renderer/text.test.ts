import { describe, expect, it } from 'vitest'
import { seriesToCsv, toCsv } from '../../../src-renderer/lib/csv'
import { filterByQuery, matchScore } from '../../../src-renderer/lib/match'
import { hasMath, splitMath } from '../../../src-renderer/lib/math-text'

describe('splitMath', () => {
  const kinds = (text: string): string[] => splitMath(text).map((p) => (p.kind === 'math' ? `<${p.tex}>` : p.text))

  it('finds all four delimiters and keeps the source', () => {
    expect(kinds('a $x^2$ b \\(y\\) c $$z$$ d \\[w\\] e')).toEqual([
      'a ',
      '<x^2>',
      ' b ',
      '<y>',
      ' c ',
      '<z>',
      ' d ',
      '<w>',
      ' e',
    ])
    const parts = splitMath('$$z$$')
    expect(parts).toEqual([{ kind: 'math', source: '$$z$$', tex: 'z', display: true }])
    expect(
      splitMath('a $x$ b')
        .map((p) => (p.kind === 'math' ? p.source : p.text))
        .join(''),
    ).toBe('a $x$ b')
  })

  it('leaves money and unfinished mathematics alone', () => {
    expect(hasMath('She pays $5 and then $7 more.')).toBe(false)
    expect(hasMath('It costs $ 5$')).toBe(false)
    expect(hasMath('an open \\( bracket')).toBe(false)
    expect(hasMath('$$')).toBe(false)
    expect(kinds('\\$3 and $x$')).toEqual(['$3 and ', '<x>'])
  })

  it('typesets a bare box, braces balanced', () => {
    expect(kinds('so \\boxed{\\frac{3}{4}} it is')).toEqual(['so ', '<\\boxed{\\frac{3}{4}}>', ' it is'])
    expect(hasMath('\\boxed{open')).toBe(false)
  })

  it('does not reach over a paragraph', () => expect(hasMath('a $x\n\ny$ b')).toBe(false))
})

describe('csv', () => {
  it('quotes what needs quoting and leaves null empty', () => {
    expect(toCsv(['a,b', 'c'], [['say "x"', null]])).toBe('"a,b",c\r\n"say ""x""",\r\n')
  })
  it('joins series of different x', () => {
    const csv = seriesToCsv('step', [
      { label: 'one', x: [1, 3], y: [10, null] },
      { label: 'two', x: [2, 3], y: [5, 6] },
    ])
    expect(csv.split('\r\n')).toEqual(['step,one,two', '1,10,', '2,,5', '3,,6', ''])
  })
})

describe('search', () => {
  it('wants every word and prefers word starts', () => {
    expect(matchScore('Outer links', 'link out')).not.toBeNull()
    expect(matchScore('Outer links', 'outer x')).toBeNull()
    expect(filterByQuery(['the solver', 'resolve', 'solver'], 'sol', (t) => t)).toEqual([
      'solver',
      'the solver',
      'resolve',
    ])
    expect(filterByQuery(['b', 'a'], ' ', (t) => t)).toEqual(['b', 'a'])
  })
  it('takes brackets and dots as letters', () => expect(matchScore('a (b) c.', '(b)')).not.toBeNull())
})

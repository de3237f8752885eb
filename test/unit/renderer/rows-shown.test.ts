/** Filters, sorts and cells as a person sees them, and the columns that fit a window. */
import { describe, expect, it } from 'vitest'
import { cellForm, prettyJson } from '../../../src-renderer/lib/cell-form'
import { columnEnds, columnsInSight, usualWidths } from '../../../src-renderer/lib/column-layout'
import {
  conditionInWords,
  isNamedRequest,
  isPlain,
  makeCondition,
  namedRequest,
  plainOrder,
  requestOf,
  toggleSort,
} from '../../../src-renderer/lib/row-conditions'

describe('clicks on heads', () => {
  it('go from ascending to descending to none, and others go', () => {
    const once = toggleSort([{ column: 3, descending: true }], 1, false)
    expect(once).toEqual([{ column: 1, descending: false }])
    const twice = toggleSort(once, 1, false)
    expect(twice).toEqual([{ column: 1, descending: true }])
    expect(toggleSort(twice, 1, false)).toEqual([])
  })

  it('with Shift keep the others and their order', () => {
    const two = toggleSort([{ column: 3, descending: false }], 1, true)
    expect(two.map(({ column }) => column)).toEqual([3, 1])
    const changed = toggleSort(two, 3, true)
    expect(changed).toEqual([
      { column: 3, descending: true },
      { column: 1, descending: false },
    ])
    expect(toggleSort(changed, 3, true)).toEqual([{ column: 1, descending: false }])
  })
})

it('conditions are told in words, with a value only where they compare', () => {
  const columns = [{ name: 'level' }]
  expect(conditionInWords(makeCondition(0, 'more', '007'), columns)).toBe('level is more than “007”')
  expect(makeCondition(0, 'null', '007')).toEqual({ column: 0, kind: 'null' })
  expect(conditionInWords(makeCondition(0, 'blank', ''), columns)).toBe('level is blank')
  expect(isPlain(plainOrder)).toBe(true)
  expect(isPlain({ ...plainOrder, search: { text: 'a', matchCase: false } })).toBe(false)
})

it('a request is kept by the names of the columns, and comes back without those that are gone', () => {
  const request = {
    filter: [makeCondition(0, 'is', 'a "b"'), makeCondition(1, 'null', '')],
    search: { text: 'x', matchCase: true },
    sort: [
      { column: 1, descending: true },
      { column: 0, descending: false },
    ],
  }
  const kept: unknown = JSON.parse(JSON.stringify(namedRequest(request, [{ name: 'q' }, { name: 'n' }])))
  if (!isNamedRequest(kept)) throw new Error('not accepted')
  expect(requestOf(kept, [{ name: 'q' }, { name: 'n' }])).toEqual(request)
  expect(requestOf(kept, [{ name: 'new' }, { name: 'n' }])).toEqual({
    filter: [{ column: 1, kind: 'null' }],
    search: { text: 'x', matchCase: true },
    sort: [{ column: 1, descending: true }],
  })
  const wrong: unknown[] = [
    null,
    { ...kept, filter: [{ column: 'q', kind: 'like', value: '' }] },
    { ...kept, search: 'x' },
    { ...kept, sort: [{ column: 0, descending: true }] },
  ]
  expect(wrong.map(isNamedRequest)).toEqual([false, false, false, false])
})

describe('JSON in a cell', () => {
  it('gets lines and indents while numbers keep their digits and names that come twice stay', () => {
    expect(prettyJson('{"a":7.50,"a":[12345678901234567890,{}],"b":"x: [1, 2]\\""}')).toBe(
      '{\n  "a": 7.50,\n  "a": [\n    12345678901234567890,\n    {}\n  ],\n  "b": "x: [1, 2]\\""\n}',
    )
  })

  it('is told from other texts', () => {
    expect(cellForm('[1, 2]', 'text')).toBe('json')
    expect(cellForm('[not json', 'text')).toBe('text')
    expect(cellForm('$x^2$ is positive', 'text')).toBe('math')
    expect(cellForm('12', 'integer')).toBe('text')
    expect(cellForm(' \n', 'text')).toBe('nothing')
    expect(cellForm(null, 'text')).toBe('nothing')
  })
})

describe('columns', () => {
  it('that reach into sight are drawn, 300 of them or none', () => {
    const ends = columnEnds(Array.from({ length: 300 }, () => 100))
    expect(columnsInSight(ends, 0, 250)).toEqual({ first: 0, end: 3 })
    expect(columnsInSight(ends, 150, 250)).toEqual({ first: 1, end: 4 })
    expect(columnsInSight(ends, 29_900, 500)).toEqual({ first: 299, end: 300 })
    expect(columnsInSight([], 0, 500)).toEqual({ first: 0, end: 0 })
  })

  it('of text share what is left, within what can be read', () => {
    const columns = [
      { name: 'question', type: 'text' },
      { name: 'level', type: 'integer' },
      { name: 'answer', type: 'text' },
    ] as const
    const [question, level, answer] = usualWidths(columns, 1000)
    expect([question, answer]).toEqual([Math.floor((1000 - level) / 2), Math.floor((1000 - level) / 2)])
    expect(usualWidths(columns, 100)[0]).toBe(180)
  })
})

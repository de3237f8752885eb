import { describe, expect, it } from 'vitest'
import {
  noSelection,
  rowAfterKey,
  selectAll,
  selectOne,
  selectRange,
  toggleOne,
} from '../../../src-renderer/lib/selection'

const keys = ['a', 'b', 'c', 'd', 'e']
const rows = (selection: { selected: ReadonlySet<string> }): string => [...selection.selected].sort().join('')

describe('selection', () => {
  it('shift selects from the anchor in both directions', () => {
    const start = selectOne('c')
    const down = selectRange(keys, start, 'e')
    expect(rows(down)).toBe('cde')
    expect(rows(selectRange(keys, down, 'a'))).toBe('abc')
  })
  it('control takes rows in and out', () => {
    const two = toggleOne(selectOne('a'), 'd')
    expect(rows(two)).toBe('ad')
    expect(rows(toggleOne(two, 'a'))).toBe('d')
  })
  it('a range whose anchor has gone starts anew', () => {
    expect(rows(selectRange(['b', 'c'], selectOne('a'), 'c'))).toBe('c')
    expect(rows(selectAll(keys, noSelection))).toBe('abcde')
  })
})

describe('keys', () => {
  it.each([
    ['ArrowDown', 'b', 'c'],
    ['ArrowDown', 'e', 'e'],
    ['ArrowDown', null, 'a'],
    ['ArrowUp', null, 'e'],
    ['ArrowUp', 'a', 'a'],
    ['Home', 'd', 'a'],
    ['End', 'b', 'e'],
    ['PageDown', 'a', 'e'],
    ['PageUp', 'e', 'a'],
    ['x', 'a', null],
  ])('%s from %s leads to %s', (pressed, from, to) => expect(rowAfterKey(keys, from, pressed)).toBe(to))
  it('leads nowhere in an empty list', () => expect(rowAfterKey([], null, 'End')).toBeNull())
})

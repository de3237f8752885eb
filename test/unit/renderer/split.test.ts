/** A set in two parts: what is proposed, and why it cannot be split. */
import { expect, it } from 'vitest'
import { splitFault, usualHeldOut } from '../../../src-renderer/lib/split'

it('proposes a number that can be held out of any set of two rows or more', () => {
  for (const rows of [2, 9, 50, 100, 101, 1_000_000]) expect(splitFault(rows, usualHeldOut(rows), 42)).toBeNull()
  expect([10, 990, 5000].map(usualHeldOut)).toEqual([1, 99, 100])
})

it('says why not', () => {
  expect(splitFault(1, 1, 42)).toBe('One row cannot be split.')
  expect(splitFault(100, 100, 42)).toBe('Hold out 1 to 99 rows.')
  expect(splitFault(100, 2.5, 42)).toBe('Hold out 1 to 99 rows.')
  expect(splitFault(100, null, 42)).toBe('Hold out 1 to 99 rows.')
  expect(splitFault(2, 0, 42)).toBe('Hold out one of the two rows.')
  expect(splitFault(100, 10, -1)).toMatch(/^The seed is a whole number/)
  expect(splitFault(100, 10, 2 ** 32)).toMatch(/^The seed is a whole number/)
})

import { expect, it } from 'vitest'
import { runColours } from '../../../src-renderer/lib/run-colours'

const all = Array.from({ length: 20 }, (_, i) => `r${i}`)

it('a run keeps its colour in another company', () => {
  expect(runColours(['r2', 'r5'], all, 8)).toEqual([2, 5])
  expect(runColours(['r5', 'r7'], all, 8)).toEqual([5, 7])
})
it('two that would clash get two colours', () => {
  expect(runColours(['r1', 'r9', 'r2'], all, 8)).toEqual([1, 2, 3])
  expect(new Set(runColours(all.slice(3, 11), all, 8)).size).toBe(8)
})

import { describe, expect, it } from 'vitest'
import { wilson } from '../../../src-renderer/lib/wilson'

describe('wilson', () => {
  // The interval is defined by its ends: there the observed share is 1.96 standard errors away, the error taken at the end itself.
  it.each([
    [1, 10],
    [5, 10],
    [294, 300],
    [2, 5000],
  ])('%d of %d: both ends satisfy the equation that defines them', (right, total) => {
    const { value, low, high, n } = wilson(right, total)
    expect([value, n]).toEqual([right / total, total])
    for (const end of [low, high]) {
      expect(Math.abs(end - value) / Math.sqrt((end * (1 - end)) / total)).toBeCloseTo(1.959963984540054, 9)
    }
    expect(low).toBeLessThan(value)
    expect(high).toBeGreaterThan(value)
  })
  it('stays within 0 and 1 at the edges, where the other end is z² / (n + z²)', () => {
    const z2 = 1.959963984540054 ** 2
    expect(wilson(0, 10)).toMatchObject({ low: 0 })
    expect(wilson(0, 10).high).toBeCloseTo(z2 / (10 + z2), 12)
    expect(wilson(300, 300).low).toBeCloseTo(300 / (300 + z2), 12)
    expect(wilson(300, 300).high).toBeCloseTo(1, 12)
    expect(wilson(0, 0)).toEqual({ value: 0, low: 0, high: 1, n: 0 })
  })
})

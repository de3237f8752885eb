/** The counter-based stream against the published known answers of Philox4x32-10. */
import { describe, expect, it } from 'vitest'
import { philox4x32, rowStream } from '../../../src-main/engine/nn/row-stream'

describe('Philox4x32-10', () => {
  it.each([
    [
      [0, 0, 0, 0],
      [0, 0],
      [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
    ],
    [
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      [0xffffffff, 0xffffffff],
      [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    ],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    ],
  ] as const)('counter %j, key %j', (counter, key, expected) => {
    expect(philox4x32(counter, key)).toEqual(expected)
  })
})

describe('rowStream', () => {
  const first = (seed: number, sample: number, rollout: number, n = 4000) => {
    const stream = rowStream(seed, sample, rollout)
    return Array.from({ length: n }, () => stream.next())
  }

  it('is uniform on [0, 1)', () => {
    const values = first(42, 3, 1)
    for (const v of values) expect(v >= 0 && v < 1).toBe(true)
    // Mean 1/2 and variance 1/12 of 4000 draws, within five standard errors.
    const mean = values.reduce((s, v) => s + v, 0) / values.length
    const variance = values.reduce((s, v) => s + (v - mean) ** 2, 0) / values.length
    expect(Math.abs(mean - 0.5)).toBeLessThan((5 * Math.sqrt(1 / 12)) / Math.sqrt(4000))
    expect(Math.abs(variance - 1 / 12)).toBeLessThan((5 * Math.sqrt(1 / 180)) / Math.sqrt(4000))
  })

  it('repeats for the same row and differs between seeds, samples and rollouts', () => {
    const streams = [first(1, 2, 3, 8), first(2, 2, 3, 8), first(1, 3, 3, 8), first(1, 2, 4, 8), first(1, 3, 2, 8)]
    expect(first(1, 2, 3, 8)).toEqual(streams[0])
    expect(new Set(streams.flat()).size).toBe(40)
  })
})

import { describe, expect, it } from 'vitest'
import { decimate, lowerBound, smooth, upperBound } from '../../../src-renderer/lib/decimate'

describe('decimate', () => {
  const xs = Array.from({ length: 10000 }, (_, i) => i)
  const ys = xs.map((x) => Math.sin(x / 50))

  it('keeps every point where they fit', () => {
    expect(decimate([1, 2, 3], [4, null, 6], 0, 4, 100)).toEqual([
      { x: 1, y: 4 },
      { x: 2, y: null },
      { x: 3, y: 6 },
    ])
  })

  it('keeps a lone spike, the lowest and the highest value, and both ends', () => {
    const spiky = [...ys]
    spiky[5432] = 99
    const points = decimate(xs, spiky, 0, 9999, 200)
    expect(points.length).toBeLessThanOrEqual(200 * 5 + 2)
    expect(points).toContainEqual({ x: 5432, y: 99 })
    const values = points.map((p) => p.y as number)
    expect(Math.min(...values)).toBe(Math.min(...spiky))
    expect(points[0].x).toBe(0)
    expect(points.at(-1)?.x).toBe(9999)
    expect(points.map((p) => p.x)).toEqual([...points.map((p) => p.x)].sort((a, b) => a - b))
  })

  it('keeps gaps', () => {
    const gappy: (number | null)[] = [...ys]
    gappy[700] = null
    expect(decimate(xs, gappy, 0, 9999, 100).some((p) => p.y === null)).toBe(true)
  })

  it('shows one neighbour beyond each edge of a zoomed range', () => {
    const points = decimate(xs, ys, 100.5, 110.5, 400)
    expect(points[0].x).toBe(100)
    expect(points.at(-1)?.x).toBe(111)
  })
})

describe('bounds', () => {
  it('find the first value at or after, and after', () => {
    const xs = [1, 3, 3, 7]
    expect([lowerBound(xs, 3), upperBound(xs, 3)]).toEqual([1, 3])
    expect([lowerBound(xs, 0), upperBound(xs, 9)]).toEqual([0, 4])
  })
})

describe('smooth', () => {
  it('starts at the first value, follows the mean and keeps gaps', () => {
    const out = smooth([4, 4, null, 4, 0, 0, 0], 0.5)
    expect(out[0]).toBe(4)
    expect(out[2]).toBeNull()
    expect(out[3]).toBeCloseTo(4, 12)
    expect(out[6] as number).toBeLessThan(out[5] as number)
  })
})

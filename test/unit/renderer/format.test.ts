import { describe, expect, it } from 'vitest'
import {
  formatAgo,
  formatBytes,
  formatClock,
  formatCount,
  formatDuration,
  formatMeasure,
  formatNumber,
  formatPercent,
  formatRate,
  formatTick,
  formatValue,
  plural,
} from '../../../src-renderer/lib/format'

const plain = (text: string): string => text.replace(/[\u00a0\u202f]/g, ' ')

describe('durations', () => {
  it.each([
    [0.4, 'under 1 s'],
    [8.4, '8 s'],
    [59.6, '1 min'],
    [180, '3 min'],
    [3599, '1 h'],
    [4800, '1 h 20 min'],
    [7200, '2 h'],
    [187200, '2 d 4 h'],
    [-1, '–'],
    [Infinity, '–'],
  ])('%d s reads "%s"', (seconds, text) => {
    expect(plain(formatDuration(seconds))).toBe(text)
  })
  it('gives the exact clock for hover', () => {
    expect(formatClock(3722)).toBe('1:02:02')
    expect(formatClock(125)).toBe('2:05')
  })
})

describe('numbers', () => {
  it.each([
    [0, '0'],
    [0.01234, '0.0123'],
    [4.5678, '4.57'],
    [789.4, '789'],
    [123456, '123\u202f456'],
    [0.0000123, '1.23e−5'],
    [-2.5, '−2.50'],
    [Number.NaN, 'NaN'],
  ])('%d is written %s', (value, text) => expect(formatNumber(value)).toBe(text))
  it('writes whole values whole', () => {
    const values = [1, 12, 12345, -3, 0, 2.5, 12345.6, -0.25, 4e12]
    expect(values.map((value) => plain(formatValue(value)))).toEqual([
      '1',
      '12',
      '12 345',
      '−3',
      '0',
      '2.50',
      '12 346',
      '−0.250',
      '4.00e12',
    ])
  })
  it('writes axes with no more digits than they need', () => {
    const ticks = [0, 0.8, 0.25, 1, 1200, 0.0003, 50000, 500000, 1.5e6, -2e9].map((v) => plain(formatTick(v)))
    expect(ticks).toEqual(['0', '0.8', '0.25', '1', '1200', '3e−4', '50 k', '500 k', '1.5 M', '−2 G'])
  })
  it('groups counts and picks size units', () => {
    expect(plain(formatCount(1234567))).toBe('1 234 567')
    expect(plain(formatBytes(0))).toBe('0 B')
    expect(plain(formatBytes(1000))).toBe('1.0 kB')
    expect(plain(formatBytes(9.8 * 1024 ** 3))).toBe('9.8 GB')
    expect(formatPercent(0.98333)).toBe('98.3')
    expect([0, 0.653, 1, 2.5].map((value) => plain(formatMeasure(value)))).toEqual(['0 %', '65 %', '100 %', '2.50'])
    expect(plain(plural(1, 'run'))).toBe('1 run')
    expect(plain(plural(3, 'run'))).toBe('3 runs')
  })
  it('writes slow rates by the minute or hour', () => {
    expect(plain(formatRate(12.34, 'steps'))).toBe('12 steps/s')
    expect(plain(formatRate(0.07, 'steps'))).toBe('4.2 steps/min')
    expect(plain(formatRate(0.001, 'steps'))).toBe('3.6 steps/h')
  })
})

describe('relative times', () => {
  const now = Date.UTC(2026, 10, 30, 12)
  it.each([
    [3, 'just now'],
    [50, '1 min ago'],
    [119, '1 min ago'],
    [600, '10 min ago'],
    [7300, '2 h ago'],
    [90000, 'yesterday'],
    [4 * 86400, '4 days ago'],
  ])('%d s before now is "%s"', (seconds, text) => expect(plain(formatAgo(now - seconds * 1000, now))).toBe(text))
})

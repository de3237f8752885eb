/**
 * Intervals and tests against statsmodels 0.15.0 (`proportion_confint(method="wilson")`, `mcnemar(exact=True)`), scipy 1.17.1
 * (`binomtest`, `norm.interval`).
 */
import { describe, expect, test } from 'vitest'
import { mcnemar, pairedDifference, wilson } from '../../../src-main/engine/evaluation/statistics'

describe('wilson', () => {
  test.each([
    [0, 10, 0, 0.27753279986288926],
    [10, 10, 0.7224672001371106, 1],
    [7, 10, 0.39677814746114537, 0.8922087325936989],
    [81, 263, 0.2552885198782742, 0.36620957698280004],
    [15, 148, 0.06238639953073628, 0.16048724172330803],
    [1, 1, 0.2065493143772374, 1],
    [0, 1, 0, 0.7934506856227627],
    [196, 200, 0.9497129130941735, 0.9921955735836505],
    [5000, 10000, 0.49020206181540477, 0.5097979381845952],
  ])('%d of %d', (right, n, low, high) => {
    const interval = wilson(right, n)
    expect(interval.value).toBe(right / n)
    expect(interval.low).toBeCloseTo(low, 13)
    expect(interval.high).toBeCloseTo(high, 13)
  })

  test('no questions, and counts that are none', () => {
    expect(wilson(0, 0)).toEqual({ value: 0, low: 0, high: 1, n: 0 })
    expect(() => wilson(3, 2)).toThrow(RangeError)
    expect(() => wilson(0.5, 2)).toThrow(RangeError)
  })
})

describe('mcnemar', () => {
  test.each([
    [0, 0, 1],
    [1, 0, 1],
    [10, 0, 2 / 1024],
    [3, 1, 0.625],
    [10, 2, 0.03857421875],
    [12, 12, 1],
    [37, 21, 0.047940324071666984],
    [120, 80, 0.005685155996750306],
    [121, 59, 4.4344492637551645e-6],
    [600, 500, 0.0028195449914364284],
    [1500, 1200, 8.412086328628609e-9],
    [400, 100, 1.65962947521744e-43],
  ])('%d against %d', (first, second, p) => {
    expect(mcnemar(first, second) / p).toBeCloseTo(1, 9)
    expect(mcnemar(second, first) / p).toBeCloseTo(1, 9)
  })
})

describe('paired difference', () => {
  const outcomes = (both: number, onlyFirst: number, onlySecond: number, none: number) => {
    const row = (count: number, first: boolean, second: boolean) =>
      Array.from({ length: count }, () => ({ first, second }))
    const rows = [
      ...row(both, true, true),
      ...row(onlyFirst, true, false),
      ...row(onlySecond, false, true),
      ...row(none, false, false),
    ]
    return pairedDifference(
      rows.map(({ first }) => first),
      rows.map(({ second }) => second),
    )
  }

  // The normal interval of the mean of +1, -1 and 0, each outcome counted half a time more.
  test.each([
    [101, 121, 59, 33, 0.11561036727048438, 0.2767946960206549, 4.4344492637551645e-6],
    [0, 0, 0, 10, -0.1633303320450045, 0.1633303320450045, 1],
    [50, 7, 2, 41, -0.01099533181160963, 0.10903454749788413, 0.1796875],
    [200, 30, 30, 40, -0.0506881062087505, 0.0506881062087505, 1],
    [0, 5, 0, 0, 0.2779452477060862, 1, 0.0625],
  ])('both %d, first %d, second %d, none %d', (both, first, second, none, low, high, p) => {
    const difference = outcomes(both, first, second, none)
    expect(difference).toMatchObject({ n: both + first + second + none, onlyFirst: first, onlySecond: second })
    expect(difference.value).toBeCloseTo((first - second) / difference.n, 14)
    expect(difference.low).toBeCloseTo(low, 13)
    expect(difference.high).toBeCloseTo(high, 13)
    expect(difference.p / p).toBeCloseTo(1, 9)
  })

  test('needs the same questions', () => {
    expect(() => pairedDifference([true], [])).toThrow(RangeError)
  })
})

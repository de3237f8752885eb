/** What `npm test` reports: true counts, whatever a test runner does. */
import { describe, expect, it } from 'vitest'
import { closingLine, countVitest } from '../../../scripts/test-count.mjs'

const file = (status: string, ...tests: string[]) => ({
  name: '/x/a.test.ts',
  status,
  assertionResults: tests.map((one) => ({ status: one })),
})

describe('counting a vitest run', () => {
  it('counts tests, not files', () => {
    const report = { testResults: [file('passed', 'passed', 'passed'), file('failed', 'passed', 'failed', 'pending')] }
    expect(countVitest(report, 1)).toEqual({ passed: 3, failed: 1, skipped: 1, problems: [] })
  })

  it('counts a file that could not be loaded as a failure', () => {
    const count = countVitest({ testResults: [file('passed', 'passed'), file('failed')] }, 1)
    expect(count).toMatchObject({ passed: 1, failed: 1 })
    expect(count.problems[0]).toContain('/x/a.test.ts')
  })

  it('counts a hook that failed after its tests passed as a failure', () => {
    expect(countVitest({ testResults: [file('failed', 'passed')] }, 1)).toMatchObject({ passed: 1, failed: 1 })
  })

  it('counts a runner without a report, or with an error outside of tests, as a failure', () => {
    expect(countVitest(null, 139)).toMatchObject({ passed: 0, failed: 1 })
    expect(countVitest({ testResults: [file('passed', 'passed')] }, 1)).toMatchObject({ passed: 1, failed: 1 })
  })

  it('counts a run without tests as a failure', () => {
    expect(countVitest({ testResults: [] }, 0)).toMatchObject({ passed: 0, failed: 1 })
    expect(countVitest({ testResults: [file('passed', 'pending')] }, 0)).toMatchObject({
      passed: 0,
      failed: 1,
      skipped: 1,
    })
  })

  it('closes with the sums', () => {
    expect(
      closingLine([
        { passed: 3, failed: 0 },
        { passed: 2, failed: 1 },
      ]),
    ).toBe('5 passed, 1 failed')
  })
})

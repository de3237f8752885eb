// Counts what test runners did. A runner that crashed, a file that could not be loaded and a run without any test are failures.

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 * @typedef {{ testResults: { name: string, status: string, assertionResults: { status: string }[] }[] }} VitestReport
 */

/**
 * Counts of one vitest run from its JSON report (null when there is none) and its exit code.
 * @param {VitestReport | null} report
 * @param {number} exitCode
 * @returns {Counts & { problems: string[] }}
 */
export function countVitest(report, exitCode) {
  const problems = []
  let passed = 0
  let failed = 0
  let skipped = 0
  for (const file of report?.testResults ?? []) {
    let failedHere = 0
    for (const test of file.assertionResults) {
      if (test.status === 'passed') passed += 1
      else if (test.status === 'failed') failedHere += 1
      else skipped += 1
    }
    if (failedHere === 0 && file.status === 'failed') {
      failedHere = 1
      problems.push(`${file.name} failed outside of its tests`)
    }
    failed += failedHere
  }
  if (!report) problems.push(`the test runner ended without a report (exit code ${exitCode})`)
  else if (passed + failed === 0) problems.push('no test was run')
  else if (exitCode !== 0 && failed === 0)
    problems.push(`the test runner ended with exit code ${exitCode} although no test failed`)
  if (failed === 0 && problems.length > 0) failed = 1
  return { passed, failed, skipped, problems }
}

/**
 * The closing line of `npm test`.
 * @param {{ passed: number, failed: number }[]} counts
 */
export function closingLine(counts) {
  /** @param {'passed' | 'failed'} key */
  const sum = (key) => counts.reduce((total, one) => total + one[key], 0)
  return `${sum('passed')} passed, ${sum('failed')} failed`
}

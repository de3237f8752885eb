/** Collects what is wrong with a file: the first of each kind are listed, all are counted. */
import type { DataProblem, ProblemKind } from './types'

/** Listed of each kind; a file can have a million faulty lines. */
const mostListed = 100

export class ProblemList {
  private readonly listed: DataProblem[] = []
  private readonly counts = new Map<ProblemKind, number>()
  private leftOutRows = 0

  add(problem: DataProblem): void {
    const count = (this.counts.get(problem.kind) ?? 0) + 1
    this.counts.set(problem.kind, count)
    if (count <= mostListed) this.listed.push(problem)
  }

  /** A problem that costs its row. */
  leaveOut(problem: DataProblem): void {
    this.leftOutRows++
    this.add(problem)
  }

  /** Rows of the file that could not be read. */
  get leftOut(): number {
    return this.leftOutRows
  }

  all(): DataProblem[] {
    const more = [...this.counts].flatMap(([kind, count]) =>
      count > mostListed
        ? [{ kind, message: `${count - mostListed} more problems of the kind "${kind}" are not listed.` }]
        : [],
    )
    return [...this.listed, ...more]
  }
}

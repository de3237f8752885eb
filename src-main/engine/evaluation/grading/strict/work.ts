/** A bound on the work of one comparison, in steps, so that no answer can hold up an evaluation. */

/** The bound was reached; the comparison has no verdict. */
export class OutOfWork extends Error {}

export class Work {
  /** One step is about a microsecond. */
  constructor(private left = 1_000_000) {}

  /** Throws OutOfWork. */
  spend(steps: number) {
    this.left -= steps
    if (this.left < 0) throw new OutOfWork()
  }
}

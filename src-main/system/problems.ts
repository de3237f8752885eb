/** What went wrong and has not been seen by a person yet: it outlives the page, and what happens before there is one. */
import type { StudioError } from '../bridge/contract'

const most = 20

export class Problems {
  private known: StudioError[] = []

  /** Oldest first. */
  get list(): StudioError[] {
    return [...this.known]
  }

  /** The same problem twice is one; of too many the newest are kept. */
  add(problem: StudioError): void {
    if (!this.known.some((other) => same(other, problem))) this.known = [...this.known, problem].slice(-most)
  }

  dismiss(problem: StudioError): void {
    this.known = this.known.filter((other) => !same(other, problem))
  }

  /** Another workspace has problems of its own. */
  clear(): void {
    this.known = []
  }
}

function same(a: StudioError, b: StudioError): boolean {
  return a.what === b.what && a.why === b.why
}

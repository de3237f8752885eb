/**
 * Errors that are meant for a person: what happened, why, and what to do next.
 * Everything that refuses user input throws this class; any other error class is a defect of ours.
 */
export class UserError extends Error {
  /** One sentence: what could not be done. */
  readonly what: string
  /** One sentence: the cause, naming the file, field or value. */
  readonly why: string
  /** One sentence: what the person can do now. */
  readonly next: string

  constructor(parts: { what: string; why: string; next: string }, options?: ErrorOptions) {
    super(`${parts.what} ${parts.why} ${parts.next}`.trim(), options)
    this.name = 'UserError'
    this.what = parts.what
    this.why = parts.why
    this.next = parts.next
  }
}

/** A command line that does not fit: the message and how it should look. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly usage: string,
  ) {
    super(message)
    this.name = 'UsageError'
  }
}

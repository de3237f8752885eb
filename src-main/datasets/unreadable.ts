/** The error of a data file that cannot be read. */
import { UserError } from '../engine/errors'

/** `why` goes on after the file's name. */
export function unreadable(file: string, why: string, next: string, cause?: unknown): UserError {
  return new UserError({ what: 'The data file cannot be read.', why: `${file}: ${why}.`, next }, { cause })
}

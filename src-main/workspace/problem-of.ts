/** Why one entry of a list cannot be used: whatever went wrong with it, the others stay. */
import type { StudioError } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { codeOf } from '../engine/formats/disk-errors'

/** `what`: what to say where it is no error for a person. `onDefect` hears of errors that are ours, not the disk's. */
export function problemOf(error: unknown, what: string, onDefect: (error: unknown) => void): StudioError {
  if (error instanceof UserError) {
    const { what: told, why, next } = error
    return { what: told, why, next }
  }
  if (codeOf(error) === '') onDefect(error)
  return {
    what,
    why: `${error instanceof Error ? error.message : String(error)}.`,
    next: 'Put right what is named, such as permissions, or move the folder away.',
  }
}

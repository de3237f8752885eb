/** The column that tells how many rounds a row needs. */
import { UserError } from '../errors'
import { textOf } from '../styles/row-prompts'

/** A whole number from 1; more than `most` counts as that many. */
export function neededRounds(value: unknown, column: string, row: number, most: number): number {
  const n = Number(textOf(value))
  if (!Number.isInteger(n) || n < 1)
    throw new UserError({
      what: 'The number of rounds that a row needs cannot be read.',
      why: `Row ${row} has ${JSON.stringify(value)} in the column "${column}".`,
      next: 'Put a whole number from 1 there, or train without this column.',
    })
  return Math.min(n, most)
}

/** A set in two parts: rows to train on, and rows held out by a seed. */
import { formatCount } from './format'

export const largestSeed = 0xffffffff

/** A tenth of the rows, at most 100. */
export function usualHeldOut(rows: number): number {
  return Math.max(1, Math.min(100, Math.floor(rows / 10)))
}

/** Why `rows` cannot be split so; null where they can. */
export function splitFault(rows: number, heldOut: number | null, seed: number | null): string | null {
  if (rows < 2) return 'One row cannot be split.'
  if (heldOut === null || !Number.isInteger(heldOut) || heldOut < 1 || heldOut >= rows)
    return rows === 2 ? 'Hold out one of the two rows.' : `Hold out 1 to ${formatCount(rows - 1)} rows.`
  if (seed === null || !Number.isInteger(seed) || seed < 0 || seed > largestSeed)
    return `The seed is a whole number from 0 to ${formatCount(largestSeed)}.`
  return null
}

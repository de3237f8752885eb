/**
 * What the last look at a model's files found, kept in its folder: which were damaged, and the checksums of those for which no hub gives
 * one, as they were at the first look.
 */
import path from 'node:path'
import { z } from 'zod'
import { UserError } from '../engine/errors'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import { stateOf } from '../hub/download/files-there'
import { readJson } from './files'

const whole = z.number().int().nonnegative()
const fileCheck = z.strictObject({
  format: z.literal('recursivemas-check/1'),
  /** When the last look ended, ms. */
  at: z.number(),
  /** Noted here because nobody else says what these files should be. */
  noted: z.array(z.strictObject({ path: z.string(), size: whole, sha256: z.string().regex(/^[0-9a-f]{64}$/) })),
  /** Each with what stood in its place: bytes and time of last change, null where nothing did. */
  damaged: z.array(
    z.strictObject({ path: z.string(), found: z.strictObject({ size: z.number(), changed: z.number() }).nullable() }),
  ),
})
export type FileCheck = z.infer<typeof fileCheck>

export const checkName = '.recursivemas-check.json'

/** Of folders that nobody may write to, while the app runs. */
const unwritten = new Map<string, FileCheck>()

/** null: nobody has looked yet, or what is there cannot be understood: then another look writes it anew. */
export async function readCheck(folder: string): Promise<FileCheck | null> {
  const known = unwritten.get(folder)
  if (known) return known
  return readJson(path.join(folder, checkName), fileCheck).catch((error: unknown) => {
    if (error instanceof UserError) return null
    throw error
  })
}

/** In force also where the folder cannot be written to; then it is forgotten when the app ends. */
export async function writeCheck(folder: string, check: FileCheck): Promise<void> {
  unwritten.delete(folder)
  await writeJsonWhole(path.join(folder, checkName), check).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error
    unwritten.set(folder, check)
  })
}

/** The files that the look found damaged and that have not changed since. */
export async function stillDamaged(folder: string, check: FileCheck): Promise<string[]> {
  const same = await Promise.all(
    check.damaged.map(async ({ path: file, found }) => {
      const now = await stateOf(path.join(folder, file))
      return now?.size === found?.size && now?.changed === found?.changed
    }),
  )
  return check.damaged.filter((_, i) => same[i]).map(({ path: file }) => file)
}

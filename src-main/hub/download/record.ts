/** What a folder was downloaded from, kept in it from the first byte on: repository, commit, licence, files with checksums. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../engine/errors'
import { writeJsonWhole } from '../../engine/formats/atomic-files'
import { isSafePath, recordName } from '../safe-path'

const record = z.object({
  format: z.literal('recursivemas-hub/1'),
  endpoint: z.string(),
  kind: z.enum(['model', 'dataset']),
  name: z.string(),
  /** As it was asked for. */
  revision: z.string(),
  /** What it was pinned to. */
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  licence: z.string().nullable(),
  gated: z.boolean(),
  /** Whether every file is there and verified. */
  complete: z.boolean(),
  /** Paths of files that were complete before the download that is under way began: cancelling it leaves them. */
  kept: z.array(z.string().refine(isSafePath)).optional(),
  files: z.array(
    z.object({
      path: z.string().refine(isSafePath),
      size: z.number().int().nonnegative(),
      checksum: z.object({ kind: z.enum(['sha256', 'git-sha1']), hex: z.string() }),
      /** It was there before the download, so that cancelling leaves it. */
      foundThere: z.boolean(),
      /** Its time of last change when its bytes were last checked, ms; null: not checked yet. */
      verifiedAt: z.number().nullable().default(null),
    }),
  ),
})

export type DownloadRecord = z.infer<typeof record>

/** null where the folder has none. A UserError where it cannot be understood. */
export async function readDownloadRecord(folder: string): Promise<DownloadRecord | null> {
  const path = join(folder, recordName)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
  try {
    return record.parse(JSON.parse(text))
  } catch (error) {
    throw new UserError(
      {
        what: 'The folder cannot be used.',
        why: `${path} is damaged.`,
        next: 'Remove that file, or choose another folder.',
      },
      { cause: error },
    )
  }
}

export async function writeDownloadRecord(folder: string, content: DownloadRecord): Promise<void> {
  await writeJsonWhole(join(folder, recordName), content)
}

/** The list of downloads as it outlives the app: downloads.json in the workspace. */
import { rename } from 'node:fs/promises'
import { z } from 'zod'
import { downloadId, repositoryKind, repositoryName, revision } from '../bridge/model-views'
import { studioError } from '../bridge/views'
import { UserError } from '../engine/errors'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import { exists, readJson } from './files'

/** One name, whatever system the list was written on. */
export const isFolderName = (name: string): boolean =>
  !/[/\\]/.test(name) && name !== '' && name !== '.' && name !== '..'

const listed = z.strictObject({
  id: downloadId,
  kind: repositoryKind,
  name: repositoryName,
  revision,
  commit: z.string().nullable(),
  /** Its folder's name in the library. */
  folder: z.string().refine(isFolderName),
  /** A repair: paths of files that are fetched anew. */
  replace: z.array(z.string()).optional(),
  /** What is under way when the app ends is paused at the next start. */
  state: z.enum(['paused', 'failed', 'done']),
  bytes: z.number(),
  total: z.number().nullable(),
  error: studioError.nullable(),
  created: z.number(),
  ended: z.number().nullable(),
})
export type ListedDownload = z.infer<typeof listed>

const file = z.strictObject({ format: z.literal('recursivemas-downloads/1'), downloads: z.array(listed) })

/**
 * A list that cannot be understood is set aside (`path`.damaged) and told to `onProblem`: what came in lies in the library all the same.
 * Throws where the file cannot be read.
 */
export async function readDownloads(path: string, onProblem: (error: unknown) => void): Promise<ListedDownload[]> {
  if (!(await exists(path))) return []
  try {
    return (await readJson(path, file)).downloads
  } catch (cause) {
    if (!(cause instanceof UserError)) throw cause
    const aside = `${path}.damaged`
    await rename(path, aside)
    onProblem(
      new UserError(
        {
          what: 'The list of downloads could not be read.',
          why: `${cause.why} It is now called ${aside}.`,
          next: 'Start downloads that were not finished again: what came in of them is used.',
        },
        { cause },
      ),
    )
    return []
  }
}

export function writeDownloads(path: string, downloads: readonly ListedDownload[]): Promise<void> {
  return writeJsonWhole(path, { format: 'recursivemas-downloads/1', downloads })
}

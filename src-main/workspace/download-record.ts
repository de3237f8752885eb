/** The list of downloads as it outlives the app: downloads.json in the workspace. */
import { z } from 'zod'
import { downloadId, repositoryKind, repositoryName, revision } from '../bridge/model-views'
import { studioError } from '../bridge/views'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import { exists, readJson } from './files'

const listed = z.strictObject({
  id: downloadId,
  kind: repositoryKind,
  name: repositoryName,
  revision,
  commit: z.string().nullable(),
  /** Its folder's name in the library. */
  folder: z.string(),
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

/** Throws UserError where the file cannot be read. */
export async function readDownloads(path: string): Promise<ListedDownload[]> {
  return (await exists(path)) ? (await readJson(path, file)).downloads : []
}

export function writeDownloads(path: string, downloads: readonly ListedDownload[]): Promise<void> {
  return writeJsonWhole(path, { format: 'recursivemas-downloads/1', downloads })
}

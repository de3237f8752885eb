/** Which files of a plan a folder holds already, by their checksums. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../engine/errors'
import type { RepositoryFile } from '../repository'
import { hasChecksum } from './checksums'
import { removePartial } from './partial-file'
import type { DownloadRecord } from './record'

export interface There {
  readonly folder: string
  readonly files: readonly RepositoryFile[]
  readonly record: DownloadRecord | null
  /** Reads every file again; without it those are taken as they were that have the size and time of their last check. */
  readonly readAll: boolean
  readonly signal: AbortSignal
}

/** By path, when each was last changed, ms. A UserError names a file with other content than the hub's. */
export async function filesThere({ folder, files, record, readAll, signal }: There): Promise<Map<string, number>> {
  const known = new Map(record?.files.map((file) => [file.path, file]))
  const found = new Map<string, number>()
  for (const { path, size, checksum } of files) {
    const target = join(folder, path)
    const there = await stateOf(target)
    if (there === null) continue
    const before = known.get(path)
    const unchanged =
      !readAll && before?.verifiedAt === there.changed && before.size === size && before.checksum.hex === checksum.hex
    if (there.size !== size || !(unchanged || (await hasChecksum(target, size, checksum, { signal }))))
      throw new UserError({
        what: `${path} could not be downloaded.`,
        why: `${folder} holds a file of this name with other content.`,
        next: 'Move it away, or choose another folder.',
      })
    await removePartial(target)
    found.set(path, there.changed)
  }
  return found
}

/** Bytes (-1 for what is no file) and time of last change, ms; null where nothing is there. */
export async function stateOf(path: string): Promise<{ size: number; changed: number } | null> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  return info && { size: info.isFile() ? info.size : -1, changed: info.mtimeMs }
}

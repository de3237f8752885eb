/**
 * Turns the operating system's complaints about writing (full disk, read-only folder, no permission) into errors for a
 * person, with the folder and the space that is left on its volume. Also the check at a job's start.
 */
import { randomBytes } from 'node:crypto'
import { access, constants, open, rm, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { UserError } from '../errors'
import { makeFolder, takesNoFolders } from './make-folder'

export interface WritingTo {
  /** The folder that was being written to. */
  readonly folder: string
  /** What could not be done, without a full stop: "The checkpoint of step 500 could not be saved". */
  readonly doing: string
}

/** A writing error already explained; whoever knows more of the errand explains its `origin` again. */
class DiskError extends UserError {
  constructor(
    parts: ConstructorParameters<typeof UserError>[0],
    readonly origin: unknown,
  ) {
    super(parts, { cause: origin })
  }
}

/** A UserError for the errors that a full, read-only or forbidden folder gives; every other error as it is. */
export async function asDiskError(error: unknown, { folder, doing }: WritingTo): Promise<unknown> {
  const origin = error instanceof DiskError ? error.origin : error
  const cause = causes[codeOf(origin)]
  if (!cause) return error
  const free = await freeBytes(folder)
  const left = free === null ? '' : ` (${formatBytes(free)} free on its volume)`
  return new DiskError({ what: `${doing}.`, why: `${cause.why} ${folder}${left}.`, next: cause.next }, origin)
}

/** Runs an action that writes into a folder, with disk errors explained. */
export async function explainingDiskErrors<T>(to: WritingTo, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    throw await asDiskError(error, to)
  }
}

/**
 * Makes an output folder and proves that it can be written to, with at least `needBytes` of free space. Returns the topmost folder
 * that was made for it (`takeBackFolder` takes it away again), null where the folder was there.
 */
export async function prepareOutputFolder(
  folder: string,
  { needBytes = 0 }: { needBytes?: number } = {},
): Promise<string | null> {
  const to = { folder, doing: 'The output folder cannot be used' }
  const topmost = await explainingDiskErrors(to, async () => makeFolder(folder))
  try {
    await explainingDiskErrors(to, () => tryWriting(folder))
    const free = await freeBytes(folder)
    if (free !== null && free < needBytes)
      throw new UserError({
        what: 'There is too little disk space.',
        why: `${folder} needs about ${formatBytes(needBytes)}, but its volume has ${formatBytes(free)} free.`,
        next: 'Free some space or choose a folder on another volume.',
      })
  } catch (error) {
    await takeBackFolder(folder, topmost)
    throw error
  }
  return topmost
}

async function tryWriting(folder: string): Promise<void> {
  const probe = join(folder, `.probe-${randomBytes(4).toString('hex')}`)
  try {
    const handle = await open(probe, 'wx')
    try {
      await handle.write('probe')
      await handle.sync()
    } finally {
      await handle.close()
    }
  } finally {
    await rm(probe, { force: true })
  }
}

/** Takes empty folders away again, from `folder` up to `topmost`; stops at the first one that holds something. */
export async function takeBackFolder(folder: string, topmost: string | null): Promise<void> {
  if (topmost === null) return
  for (let at = resolve(folder); ; at = dirname(at)) {
    const gone = await rmdir(at).then(
      () => true,
      () => false,
    )
    if (!gone || at === topmost) return
  }
}

/** Free bytes for ordinary users on the volume of a path (or of its nearest existing parent); null where unknown. */
export async function freeBytes(path: string): Promise<number | null> {
  for (let at = resolve(path); ; at = dirname(at)) {
    try {
      const { bavail, bsize } = await statfs(at)
      return bavail * bsize
    } catch {
      if (at === dirname(at)) return null
    }
  }
}

/** A size for people: powers of 1024, three significant digits. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${units[power]}`
}

/** The file's size, or a UserError that tells a missing file from one that may not be read. `kind`: "weights file". */
export async function readableFileSize(file: string, kind: string): Promise<number> {
  try {
    const info = await stat(file)
    if (info.isDirectory())
      throw new UserError({ what: `The ${kind} cannot be read.`, why: `${file} is a folder.`, next: 'Choose a file.' })
    await access(file, constants.R_OK)
    return info.size
  } catch (error) {
    throw asReadError(error, file, kind)
  }
}

/** A UserError for a file that is missing or forbidden; every other error as it is. */
export function asReadError(error: unknown, file: string, kind: string): unknown {
  const code = codeOf(error)
  const what = `The ${kind} cannot be read.`
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new UserError(
      { what, why: `${file} does not exist.`, next: 'Check the path, or get the file again.' },
      { cause: error },
    )
  if (code === 'EACCES' || code === 'EPERM')
    return new UserError(
      { what, why: `There is no permission to read ${file}.`, next: 'Change its permissions.' },
      { cause: error },
    )
  if (code === 'ELOOP')
    return new UserError(
      { what, why: `${file} is a link that leads nowhere.`, next: 'Get the file again.' },
      { cause: error },
    )
  return error
}

export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

const causes: Record<string, { why: string; next: string } | undefined> = {
  ENOSPC: { why: 'The disk is full:', next: 'Free some space and resume.' },
  EDQUOT: { why: 'The disk quota is used up:', next: 'Free some space or ask for a larger quota, then resume.' },
  EROFS: { why: 'The volume is read-only:', next: 'Choose a folder that can be written to.' },
  EACCES: { why: 'There is no permission to write to', next: 'Choose another folder or change its permissions.' },
  EPERM: { why: 'Writing is not permitted in', next: 'Choose another folder or change its permissions.' },
  ENOTDIR: { why: 'A part of the path is a file, not a folder:', next: 'Choose another folder.' },
  EEXIST: { why: 'A file stands where a folder is needed:', next: 'Choose another folder or move that file away.' },
  [takesNoFolders]: { why: 'No folder can be made at', next: 'Choose a folder on a disk.' },
  EIO: { why: 'The volume reports a hardware error:', next: 'Check the disk and choose another folder.' },
}

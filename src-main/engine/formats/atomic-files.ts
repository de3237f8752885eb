/**
 * Files and folders that appear under their final name only when they are complete: written beside it under a temporary
 * name, flushed to the disk, renamed. A crash leaves at most a temporary that `removeLeftovers` takes away.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { UserError } from '../errors'
import { explainingDiskErrors } from './disk-errors'
import { makeFolder } from './make-folder'

/** Temporary names start so; nothing else of ours does. */
const temporaryPrefix = '.incomplete-'

export type Chunk = Uint8Array | string

/** Writes a whole file; the folder is made when it is missing. Disk trouble becomes a UserError. */
export async function writeFileWhole(
  path: string,
  chunks: Chunk | Iterable<Chunk> | AsyncIterable<Chunk>,
): Promise<void> {
  const target = resolve(path)
  const folder = dirname(target)
  await explainingDiskErrors({ folder, doing: `${basename(target)} could not be written` }, async () => {
    makeFolder(folder)
    const temporary = temporaryName(folder, basename(target))
    try {
      await writeAndSync(temporary, chunks)
      await rename(temporary, target)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    await syncFolder(folder)
  })
}

/** Writes a value as readable JSON: indent 2, ending in a newline. */
export async function writeJsonWhole(path: string, value: unknown): Promise<void> {
  await writeFileWhole(path, JSON.stringify(value, null, 2) + '\n')
}

/**
 * Makes a whole folder: `fill` writes into a temporary folder, which then takes the final name. A folder that stands
 * there already is replaced only if it is empty or `replaces` says so of its file names; else it is a UserError.
 */
export async function writeFolderWhole(
  folder: string,
  fill: (temporary: string) => Promise<void>,
  { replaces = () => false }: { replaces?: (names: readonly string[]) => boolean } = {},
): Promise<void> {
  const target = resolve(folder)
  const names = await readdir(target).catch(() => [])
  if (names.length > 0 && !replaces(names))
    throw new UserError({
      what: `${basename(target)} could not be written.`,
      why: `${target} already holds other files.`,
      next: 'Choose an empty or a new folder.',
    })
  const parent = dirname(target)
  await explainingDiskErrors(
    { folder: parent, doing: `The folder ${basename(target)} could not be written` },
    async () => {
      makeFolder(parent)
      const temporary = temporaryName(parent, basename(target))
      try {
        await mkdir(temporary)
        await fill(temporary)
        await syncFolder(temporary)
        await takeName(temporary, target, parent)
      } catch (error) {
        await rm(temporary, { recursive: true, force: true })
        throw error
      }
      await syncFolder(parent)
    },
  )
}

/** Removes a folder so that a crash halfway never leaves part of it under its name. */
export async function removeFolderWhole(folder: string): Promise<void> {
  const target = resolve(folder)
  const aside = temporaryName(dirname(target), basename(target))
  await rename(target, aside)
  await rm(aside, { recursive: true, force: true })
}

/** Takes away temporaries that a crash left in a folder. Only for a folder with a single writer. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => []))
    if (name.startsWith(temporaryPrefix)) await rm(join(folder, name), { recursive: true, force: true })
}

async function takeName(temporary: string, target: string, parent: string): Promise<void> {
  const old = temporaryName(parent, `old-${basename(target)}`)
  const replaced = await rename(target, old).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
  try {
    await rename(temporary, target)
  } catch (error) {
    if (replaced) await rename(old, target)
    throw error
  }
  if (replaced) await rm(old, { recursive: true, force: true })
}

async function writeAndSync(path: string, chunks: Chunk | Iterable<Chunk> | AsyncIterable<Chunk>): Promise<void> {
  const handle = await open(path, 'wx')
  try {
    for await (const chunk of typeof chunks === 'string' || chunks instanceof Uint8Array ? [chunks] : chunks)
      await writeAll(handle, typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** One write call may take only part of the bytes (and at most 2 GiB). */
async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  const most = 1 << 30
  for (let done = 0; done < bytes.length;)
    done += (await handle.write(bytes, done, Math.min(most, bytes.length - done))).bytesWritten
}

/** Makes a rename last through a power failure; Windows has no such call for folders and needs none. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function temporaryName(folder: string, name: string): string {
  return join(folder, `${temporaryPrefix}${name}-${process.pid}-${randomBytes(4).toString('hex')}`)
}

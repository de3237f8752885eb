/** The few ways in which main touches files: checked JSON, sizes, and places that stay inside their folder. */
import { open, readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import type { z } from 'zod'
import { UserError } from '../engine/errors'
import { checkJson } from '../engine/formats/schema-faults'

/** Reads and checks a JSON file. Throws UserError naming the file and the fault; a missing file too. */
export async function readJson<T extends z.ZodType>(file: string, schema: T): Promise<z.output<T>> {
  const refusal = (why: string, cause?: unknown) =>
    new UserError(
      {
        what: `${file} cannot be read.`,
        why: `${why}.`,
        next: 'Restore the file from a copy, or move it away; it was left as it is.',
      },
      { cause },
    )
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw refusal((error as Error).message, error)
  })
  const checked = checkJson(schema, text)
  if (checked.ok) return checked.data
  throw refusal(checked.why)
}

export async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}

/** Bytes; null where there is no such file. */
export async function fileSize(file: string): Promise<number | null> {
  return stat(file).then(
    (s) => (s.isFile() ? s.size : null),
    () => null,
  )
}

/** When it was last changed, ms; null where nothing is there. */
export async function changedAt(file: string): Promise<number | null> {
  return stat(file).then(
    (s) => s.mtimeMs,
    () => null,
  )
}

/** Names of sub-folders, sorted; none where the folder is not there. */
export async function subFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/** Bytes of all files below a folder (links are not followed); 0 where it is not there. */
export async function folderBytes(folder: string): Promise<number> {
  let bytes = 0
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const full = path.join(folder, entry.name)
    if (entry.isDirectory()) bytes += await folderBytes(full)
    else if (entry.isFile())
      bytes += await stat(full).then(
        (s) => s.size,
        () => 0,
      )
  }
  return bytes
}

/** Makes the contents of all files below a folder last through a power failure. */
export async function flushFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name)
    if (entry.isDirectory()) await flushFiles(full)
    else if (entry.isFile()) {
      // Windows flushes only what is open for writing; elsewhere a copy of a read-only file may not be.
      const handle = await open(full, process.platform === 'win32' ? 'r+' : 'r')
      try {
        await handle.sync()
      } finally {
        await handle.close()
      }
    }
  }
}

/** Joins names to a folder and refuses what would leave it, whatever the names hold. */
export function inside(folder: string, ...names: string[]): string {
  const root = path.resolve(folder)
  const full = path.resolve(root, ...names)
  if (full !== root && full.startsWith(root + path.sep)) return full
  throw new UserError({
    what: 'The request names a place outside its folder.',
    why: `"${names.join('/')}" is not inside ${root}.`,
    next: 'Use a name from the list.',
  })
}

/**
 * Makes folders one level at a time. Node's own recursive mkdir never returns where a file system answers "no such file" to every new
 * folder, as /proc does.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** The code of the error of a place that takes no new folders. */
export const takesNoFolders = 'TAKES_NO_FOLDERS'

/** Makes a folder and what is missing above it. Returns the topmost one that was made, null where the folder was there. */
export function makeFolder(folder: string): string | null {
  const missing: string[] = []
  for (let at = resolve(folder); !exists(at) && dirname(at) !== at; at = dirname(at)) missing.push(at)
  let topmost: string | null = null
  for (const at of missing.reverse()) if (makeOne(at)) topmost ??= at
  // a file in the folder's place
  if (missing.length === 0) makeOne(resolve(folder))
  return topmost
}

/** False where it is there already, perhaps since a moment. Its parent exists. */
function makeOne(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return false
    if (code === 'ENOENT' && exists(dirname(folder)))
      throw Object.assign(new Error(`${dirname(folder)} takes no new folders`, { cause: error }), {
        code: takesNoFolders,
      })
    throw error
  }
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // what cannot be looked at (no permission, a file as a parent) is told by making it
    return false
  }
}

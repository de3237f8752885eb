/** Paths in a repository are a stranger's: only those that stay inside the folder are taken. */
import { UserError } from '../engine/errors'

/** Endings and names that the downloader itself uses. */
export const partialEnding = '.partial'
export const sidecarEnding = '.partial.json'
export const recordName = '.recursivemas-hub.json'
export const lockName = '.recursivemas-hub.lock'

export function isSafePath(path: string): boolean {
  return (
    path.length > 0 &&
    path.length <= 1000 &&
    !/[\p{Cc}\\:]/u.test(path) &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= 200) &&
    !path.endsWith(partialEnding) &&
    !path.endsWith(sidecarEnding) &&
    path !== recordName &&
    path !== lockName
  )
}

export function checkedPath(path: string): string {
  if (isSafePath(path)) return path
  throw new UserError({
    what: 'A file of the repository cannot be saved.',
    why: `Its path ${JSON.stringify(path.slice(0, 200))} is not one inside a folder.`,
    next: 'Do not trust this repository.',
  })
}

/** Small volumes for tests of full and read-only disks. Only root may mount one; Linux only. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export interface Volume {
  folder: string
  remove(): void
}

/**
 * An empty file system in memory.
 * @param options of mount(8) for tmpfs, such as `size=64k` or `size=64k,ro`
 * @param folder where it is mounted, made where it is missing; by default a new one among the temporary files
 * @returns null where none may be mounted
 */
export function mountVolume(options: string, folder?: string): Volume | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null
  const place = folder ?? mkdtempSync(path.join(tmpdir(), 'volume-'))
  mkdirSync(place, { recursive: true })
  const forget = (): void => {
    if (folder === undefined) rmdirSync(place)
  }
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', place], { stdio: 'ignore' })
  } catch {
    forget()
    return null
  }
  const remove = (): void => {
    execFileSync('umount', [place])
    forget()
  }
  return { folder: place, remove }
}

/** Lets nobody write to a mounted volume any more, root included. */
export function closeVolume({ folder }: Volume): void {
  execFileSync('mount', ['-o', 'remount,ro', folder], { stdio: 'ignore' })
}

/** Whether a file on the disk is what the hub says: sha256, or git's SHA-1 of a blob. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Checksum } from '../repository'

/** Reads the whole file, telling `onBytes` how many were read. Throws the operating system's errors, and the signal's reason. */
export async function hasChecksum(
  path: string,
  size: number,
  { kind, hex }: Checksum,
  { signal, onBytes }: { signal?: AbortSignal; onBytes?: (read: number) => void } = {},
): Promise<boolean> {
  const hash = createHash(kind === 'sha256' ? 'sha256' : 'sha1')
  if (kind === 'git-sha1') hash.update(`blob ${size}\0`)
  let read = 0
  for await (const piece of createReadStream(path, { highWaterMark: 4 << 20, signal }) as AsyncIterable<Buffer>) {
    hash.update(piece)
    read += piece.length
    onBytes?.(read)
  }
  return hash.digest('hex') === hex
}

/** Whether a file on the disk is what the hub says: sha256, or git's SHA-1 of a blob. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Checksum } from '../repository'

interface Reading {
  readonly signal?: AbortSignal
  /** Is told how many bytes were read. */
  readonly onBytes?: (read: number) => void
}

export async function hasChecksum(
  path: string,
  size: number,
  { kind, hex }: Checksum,
  reading?: Reading,
): Promise<boolean> {
  return (await checksumOf(path, size, kind, reading)) === hex
}

/** In hexadecimal digits; reads the whole file. Throws the operating system's errors, and the signal's reason. */
export async function checksumOf(
  path: string,
  size: number,
  kind: Checksum['kind'],
  { signal, onBytes }: Reading = {},
): Promise<string> {
  const hash = createHash(kind === 'sha256' ? 'sha256' : 'sha1')
  if (kind === 'git-sha1') hash.update(`blob ${size}\0`)
  let read = 0
  for await (const piece of createReadStream(path, { highWaterMark: 4 << 20, signal }) as AsyncIterable<Buffer>) {
    hash.update(piece)
    read += piece.length
    onBytes?.(read)
  }
  return hash.digest('hex')
}

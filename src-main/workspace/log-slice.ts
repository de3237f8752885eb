/** Parts of a run's log.txt by byte offsets, cut at whole characters. */
import { open } from 'node:fs/promises'
import type { LogSlice } from '../bridge/contract'

/** From `from`, or (null) the last `limit` bytes; empty where the file is not there. */
export async function logSlice(file: string, from: number | null, limit: number): Promise<LogSlice> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!handle) return { text: '', from: 0, to: 0, size: 0 }
  try {
    const { size } = await handle.stat()
    const start = Math.min(from ?? Math.max(0, size - limit), size)
    const buffer = Buffer.alloc(Math.min(limit, size - start))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start)
    const bytes = buffer.subarray(0, bytesRead)
    const head = from === null && start > 0 ? continuationBytes(bytes) : 0
    const tail = start + bytesRead < size ? incompleteTail(bytes) : 0
    const to = bytesRead - tail
    return { text: bytes.toString('utf8', head, to), from: start + head, to: start + to, size }
  } finally {
    await handle.close()
  }
}

/** The last lines of a file, or null where it has none. */
export async function lastLines(file: string, count: number): Promise<string | null> {
  const { text } = await logSlice(file, null, 16_384)
  const lines = text.trimEnd().split('\n').slice(-count)
  return lines.join('\n') || null
}

/** Bytes at the start that belong to a character before. */
function continuationBytes(bytes: Buffer): number {
  let n = 0
  while (n < Math.min(3, bytes.length) && (bytes[n] & 0xc0) === 0x80) n++
  return n
}

/** Bytes at the end of a character that goes on after them. */
function incompleteTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? back : 0
  }
  return 0
}

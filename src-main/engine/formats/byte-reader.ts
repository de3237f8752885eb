/** Reading exact ranges of bytes from an open file. */
import { type FileHandle, open } from 'node:fs/promises'
import { asReadError } from './disk-errors'

/** Exactly `length` bytes from `offset`; null when the file ends earlier. */
export async function readRange(
  handle: FileHandle,
  offset: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const bytes = new Uint8Array(length)
  // One read call gives at most 2 GiB.
  const most = 1 << 30
  for (let done = 0; done < length;) {
    const { bytesRead } = await handle.read(bytes, done, Math.min(most, length - done), offset + done)
    if (bytesRead === 0) return null
    done += bytesRead
  }
  return bytes
}

/** Opens a file for the time of an action; a missing or forbidden file is a UserError. */
export async function withFile<T>(file: string, kind: string, action: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw asReadError(error, file, kind)
  })
  try {
    return await action(handle)
  } finally {
    await handle.close()
  }
}

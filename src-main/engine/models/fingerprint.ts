/** Whether two model folders are the same: by where their bytes lie, and by what they hold. */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { open, readFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { WeightIndex } from '../formats/model-weights'

/** Equal for folders whose agents compute the same from the same files: through links, hard links, or a hub's cache. */
export async function weightsIdentity(folder: string, { files, tensors }: WeightIndex): Promise<string> {
  const ids = files.map((file) => {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  })
  return JSON.stringify([await configText(folder), ids.sort(), [...tensors.keys()].sort()])
}

/** Weights up to this size are hashed whole, bytes: a quarter of a second. */
const wholeBytes = 128 * 2 ** 20
/** Of larger ones so many bytes at the beginning, in the middle and at the end of each tensor. */
const sampleBytes = 4096

/**
 * Equal for folders that hold the same config and weights, wherever they lie and however they are split into files. Hashing gigabytes
 * would take longer than it is worth: training a model moves every part of each tensor that it moves.
 */
export async function modelFingerprint(
  folder: string,
  { tensors, bytes }: WeightIndex,
  device: string,
  wholeUpTo = wholeBytes,
): Promise<string> {
  const hash = createHash('sha256').update(await configText(folder))
  const opened = new Map<string, FileHandle>()
  try {
    for (const name of [...tensors.keys()].sort()) {
      const { file, dtype, shape, offset, length } = tensors.get(name)!
      hash.update(JSON.stringify([name, dtype, shape, length]))
      const handle = opened.get(file) ?? (await open(file))
      opened.set(file, handle)
      for (const [from, size] of bytes <= wholeUpTo ? [[0, length]] : samples(length)) {
        const piece = Buffer.allocUnsafe(size)
        const { bytesRead } = await handle.read(piece, 0, size, offset + from)
        hash.update(piece.subarray(0, bytesRead))
      }
    }
  } finally {
    for (const handle of opened.values()) await handle.close()
  }
  return hash.update(device).digest('hex').slice(0, 32)
}

function samples(length: number): [from: number, size: number][] {
  if (length <= 3 * sampleBytes) return [[0, length]]
  const last = length - sampleBytes
  return [0, Math.floor(last / 2), last].map((from) => [from, sampleBytes])
}

function configText(folder: string): Promise<string> {
  return readFile(join(folder, 'config.json'), 'utf8')
}

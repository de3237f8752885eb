/** One look at a model's files: every one is read and compared with its checksum. */
import path from 'node:path'
import type { VerifyOutcome } from '../bridge/contract'
import { checksumOf } from '../hub/download/checksums'
import { stateOf } from '../hub/download/files-there'
import type { DownloadRecord } from '../hub/download/record'
import type { FileCheck } from './model-check'
import { modelFiles } from './model-files'

export interface Look {
  readonly signal: AbortSignal
  /** Bytes read, of all. */
  readonly onProgress: (bytes: number, total: number) => void
}

type Known = Pick<DownloadRecord['files'][number], 'path' | 'size' | 'checksum'>

/**
 * `published`: what a hub says of the files; null: no hub does, and what an earlier look noted of them counts. Throws the operating
 * system's errors, and the signal's reason.
 */
export async function checkFiles(
  folder: string,
  published: readonly Known[] | null,
  noted: FileCheck['noted'],
  { signal, onProgress }: Look,
): Promise<{ outcome: VerifyOutcome; check: FileCheck }> {
  const known = published ?? noted.map(asKnown)
  const names = new Set(known.map((file) => file.path))
  const others = published ? [] : (await modelFiles(folder)).filter((file) => !names.has(file.path))
  const total = [...known, ...others].reduce((n, { size }) => n + size, 0)
  let done = 0
  const digest = (file: string, size: number, kind: Known['checksum']['kind']): Promise<string> => {
    const onBytes = (read: number) => onProgress(done + read, total)
    return checksumOf(path.join(folder, ...file.split('/')), size, kind, { signal, onBytes })
  }
  const damaged: FileCheck['damaged'] = []
  for (const { path: file, size, checksum } of known) {
    const found = await stateOf(path.join(folder, ...file.split('/')))
    const right = found?.size === size && (await digest(file, size, checksum.kind)) === checksum.hex
    if (!right) damaged.push({ path: file, found })
    onProgress((done += size), total)
  }
  const fresh: FileCheck['noted'] = []
  for (const { path: file, size } of others) {
    fresh.push({ path: file, size, sha256: await digest(file, size, 'sha256') })
    onProgress((done += size), total)
  }
  return {
    outcome: { checked: known.length, damaged: damaged.map((file) => file.path), noted: fresh.length },
    check: { format: 'recursivemas-check/1', at: Date.now(), noted: published ? [] : [...noted, ...fresh], damaged },
  }
}

function asKnown({ path: file, size, sha256 }: FileCheck['noted'][number]): Known {
  return { path: file, size, checksum: { kind: 'sha256', hex: sha256 } }
}

/**
 * The header of a .safetensors file, checked before anything is read from it: a length, JSON, then the tensors' bytes.
 * Every later stage may rely on locations lying inside the file, with sizes that agree with shape and dtype.
 */
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { UserError } from '../errors'
import { readRange, withFile } from './byte-reader'
import { asReadError, formatBytes, readableFileSize } from './disk-errors'
import { type Dtype, dtypeBytes, elementCount, isDtype } from './dtypes'

/** Where a tensor's bytes lie. */
export interface TensorLocation {
  readonly name: string
  /** Real path, symbolic links resolved. */
  readonly file: string
  /** From the start of the file, in bytes. */
  readonly offset: number
  /** In bytes. */
  readonly length: number
  readonly dtype: Dtype
  readonly shape: readonly number[]
}

export interface SafetensorsHeader {
  /** In the order of the file's header. */
  readonly tensors: ReadonlyMap<string, TensorLocation>
  readonly metadata: Readonly<Record<string, string>>
}

/** The format's own limit. */
const longestHeader = 100_000_000

/** Reads and checks a header. UserErrors name the file and, where there is one, the tensor. */
export async function readSafetensorsHeader(path: string): Promise<SafetensorsHeader> {
  const file = await realpath(resolve(path)).catch((error: unknown) => {
    throw asReadError(error, path, 'weights file')
  })
  const size = await readableFileSize(file, 'weights file')
  const json = await withFile(file, 'weights file', async (handle) => {
    const start = size >= 8 ? await readRange(handle, 0, 8) : null
    if (!start) throw broken(file, `it has only ${size} bytes`)
    const length = new DataView(start.buffer).getBigUint64(0, true)
    if (length > longestHeader || length < 2n)
      throw broken(file, `its header claims ${length} bytes, which no safetensors file has`)
    if (8 + Number(length) > size) throw truncated(file, 8 + Number(length), size)
    const bytes = await readRange(handle, 8, Number(length))
    if (!bytes) throw truncated(file, 8 + Number(length), size)
    return bytes
  })
  return checkHeader(file, size, 8 + json.length, parseHeader(file, json))
}

function parseHeader(file: string, json: Uint8Array): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json))
  } catch (error) {
    throw broken(file, `its header is not JSON (${(error as Error).message})`)
  }
  if (!isRecord(parsed)) throw broken(file, 'its header is not a JSON object')
  return parsed
}

function checkHeader(
  file: string,
  size: number,
  dataStart: number,
  header: Record<string, unknown>,
): SafetensorsHeader {
  const tensors = new Map<string, TensorLocation>()
  let metadata: Record<string, string> = {}
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') metadata = checkMetadata(file, entry)
    else tensors.set(name, checkEntry(file, dataStart, name, entry))
  }
  checkCoverage(file, size, dataStart, [...tensors.values()])
  return { tensors, metadata }
}

function checkMetadata(file: string, entry: unknown): Record<string, string> {
  if (!isRecord(entry) || !Object.values(entry).every((v) => typeof v === 'string'))
    throw broken(file, '__metadata__ is not a list of texts')
  return { ...(entry as Record<string, string>) }
}

function checkEntry(file: string, dataStart: number, name: string, entry: unknown): TensorLocation {
  const wrong = (why: string): UserError => broken(file, `tensor "${name}": ${why}`)
  if (!isRecord(entry)) throw wrong('its entry is not an object')
  const { dtype, shape, data_offsets: offsets } = entry
  if (!isDtype(dtype)) throw wrong(`the type ${JSON.stringify(dtype)} is not known`)
  if (!Array.isArray(shape) || !shape.every(isCount))
    throw wrong(`the shape ${JSON.stringify(shape)} is not a list of sizes`)
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount) || offsets[0] > offsets[1])
    throw wrong(`the place ${JSON.stringify(offsets)} is not a start and an end`)
  const length = offsets[1] - offsets[0]
  const expected = elementCount(shape) * dtypeBytes[dtype]
  if (length !== expected)
    throw wrong(`${dtype} of shape [${shape.join(', ')}] takes ${expected} bytes, but ${length} are given`)
  return { name, file, offset: dataStart + offsets[0], length, dtype, shape }
}

/** Tensors lie one after the other without gap or overlap and end where the file ends, as the format demands. */
function checkCoverage(file: string, size: number, dataStart: number, tensors: readonly TensorLocation[]): void {
  const byPlace = [...tensors].sort((a, b) => a.offset - b.offset || a.length - b.length)
  const end = byPlace.reduce((most, t) => Math.max(most, t.offset + t.length), dataStart)
  if (end > size) throw truncated(file, end, size)
  let at = dataStart
  let before = ''
  for (const t of byPlace) {
    if (t.offset < at) throw broken(file, `tensor "${t.name}" overlaps "${before}"`)
    if (t.offset > at) throw broken(file, `there is a gap of ${t.offset - at} bytes in front of tensor "${t.name}"`)
    at = t.offset + t.length
    before = t.name
  }
  if (at < size) throw broken(file, `${size - at} bytes follow its last tensor`)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function broken(file: string, why: string): UserError {
  return new UserError({
    what: 'A weights file is damaged or not in safetensors format.',
    why: `${file}: ${why}.`,
    next: 'Get the file again.',
  })
}

function truncated(file: string, needs: number, size: number): UserError {
  return new UserError({
    what: 'A weights file is incomplete.',
    why: `${file} should have ${needs} bytes but has ${size} (${formatBytes(needs - size)} are missing).`,
    next: 'Get the file again; the download or copy was cut short.',
  })
}

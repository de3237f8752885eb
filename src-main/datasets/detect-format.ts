/** What a file holds, by its first bytes; its extension only decides between forms that look alike. */
import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import { asReadError, readableFileSize } from '../engine/formats/disk-errors'
import type { DataFormat } from './types'
import { unreadable } from './unreadable'

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1'

export interface Detected {
  readonly format: DataFormat
  readonly encoding: Encoding
  /** Bytes of a byte order mark. */
  readonly skip: number
  readonly size: number
  /** What the extension promises, where that is something else. */
  readonly promised: string | null
}

const byExtension: Readonly<Record<string, DataFormat>> = {
  '.json': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.parquet': 'parquet',
}

/** `encoding`: what the person says. Throws UserError for a file that is missing, empty, packed or of an unknown kind. */
export async function detectFormat(file: string, encoding?: Encoding): Promise<Detected> {
  const size = await readableFileSize(file, 'data file')
  if (size === 0) throw unreadable(file, 'it is empty', 'Choose a file with rows.')
  const head = await firstBytes(file, 64 * 1024)
  const extension = extname(file).toLowerCase()
  const promised = Object.hasOwn(byExtension, extension) ? byExtension[extension] : null
  const found = (format: DataFormat, text: { encoding: Encoding; skip: number }): Detected => ({
    ...text,
    format,
    size,
    promised: promised !== null && promised !== format ? promised : null,
  })
  if (head.subarray(0, 4).equals(Buffer.from('PAR1'))) return found('parquet', { encoding: 'utf-8', skip: 0 })
  refusePacked(file, head)
  const text = encodingOf(head, encoding)
  const start = decodeHead(head, text)
  const format = textFormat(start, promised)
  if (format !== null) return found(format, text)
  const trimmed = start.trimStart()
  if (promised === 'parquet')
    throw unreadable(file, 'it is no parquet file (it does not start with "PAR1")', 'Get the file again.')
  if (trimmed === '') throw unreadable(file, 'it holds white space only', 'Choose a file with rows.')
  throw unreadable(
    file,
    promised === 'json' || promised === 'jsonl'
      ? `it is not JSON (it starts with ${JSON.stringify(trimmed.slice(0, 12))})`
      : `it is none of json, jsonl, csv and parquet (its name ends in ${extension === '' ? 'nothing' : `"${extension}"`})`,
    'Choose a file of one of these kinds, or correct its name.',
  )
}

/** null: nothing that can be read. */
function textFormat(start: string, promised: DataFormat | null): DataFormat | null {
  const trimmed = start.trimStart()
  if (trimmed === '') return null
  if (trimmed.startsWith('[')) return promised === 'csv' && !looksLikeList(trimmed) ? 'csv' : 'json'
  if (trimmed.startsWith('{')) {
    const line = trimmed.slice(0, trimmed.search(/\r?\n|$/))
    if (promised === 'jsonl') return promised
    if (promised === 'json')
      return isJson(line) && trimmed.slice(line.length).trimStart().startsWith('{') ? 'jsonl' : 'json'
    if (isJson(line)) return 'jsonl'
    return promised === 'csv' ? 'csv' : 'json'
  }
  return promised === 'csv' ? 'csv' : promised === null && /^.*[,;\t].*\n/.test(trimmed) && isText(start) ? 'csv' : null
}

function looksLikeList(text: string): boolean {
  return /^\[\s*(\{|\])/.test(text)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function isText(start: string): boolean {
  return !start.includes('\0')
}

const packed: readonly { readonly magic: readonly number[]; readonly name: string; readonly next: string }[] = [
  { magic: [0x1f, 0x8b], name: 'packed with gzip', next: 'Unpack it first.' },
  { magic: [0x28, 0xb5, 0x2f, 0xfd], name: 'packed with zstd', next: 'Unpack it first.' },
  {
    magic: [0x50, 0x4b, 0x03, 0x04],
    name: 'a zip file or a spreadsheet',
    next: 'Unpack it, or save the sheet as CSV (UTF-8).',
  },
]

function refusePacked(file: string, head: Buffer): void {
  for (const { magic, name, next } of packed)
    if (head.subarray(0, magic.length).equals(Buffer.from(magic))) throw unreadable(file, `it is ${name}`, next)
}

function encodingOf(head: Buffer, said: Encoding | undefined): { encoding: Encoding; skip: number } {
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', skip: 2 }
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', skip: 2 }
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: 'utf-8', skip: 3 }
  if (said !== undefined) return { encoding: said, skip: 0 }
  // the first character of every known form is an ASCII one
  if (head.length >= 4 && head[0] !== 0 && head[1] === 0) return { encoding: 'utf-16le', skip: 0 }
  if (head.length >= 4 && head[0] === 0 && head[1] !== 0) return { encoding: 'utf-16be', skip: 0 }
  return { encoding: 'utf-8', skip: 0 }
}

function decodeHead(head: Buffer, { encoding, skip }: { encoding: Encoding; skip: number }): string {
  return new TextDecoder(encoding).decode(head.subarray(skip))
}

async function firstBytes(file: string, count: number): Promise<Buffer> {
  try {
    const handle = await open(file, 'r')
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw asReadError(error, file, 'data file')
  }
}

/** The raw rows of a data file: a JSON array, a JSON object with a field of rows, or JSON lines. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import { UserError } from '../errors'
import { asReadError, formatBytes, readableFileSize } from '../formats/disk-errors'
import { parseExactJson } from '../formats/exact-json'

export interface RawRow {
  /** Of a .jsonl file the line, of a .json file the place in its list; from 1. */
  readonly number: number
  /** A number that JSON.parse would change (7.50, big integers) is the text that stands in the file. */
  readonly values: Readonly<Record<string, unknown>>
}

export interface RawFile {
  readonly format: 'json' | 'jsonl'
  /** Of the file's bytes. */
  readonly sha256: string
  readonly rows: readonly RawRow[]
}

/** JavaScript texts end near 512 MiB; JSON lines are read line by line and have no such limit. */
const longestText = 500 * 2 ** 20

/** Reads all rows. `field` is only for JSON objects; default "data". UserErrors name the line, row or field that is wrong. */
export async function readRawRows(file: string, field: string | undefined): Promise<RawFile> {
  const size = await readableFileSize(file, 'data file')
  const extension = extname(file).toLowerCase()
  if (extension !== '.json' && extension !== '.jsonl')
    throw new UserError({
      what: 'The data file cannot be read.',
      why: `${file} ends in ${extension ? `"${extension}"` : 'nothing'}; .json and .jsonl are known.`,
      next: 'Convert it to one of them.',
    })
  return extension === '.json' ? readJson(file, size, field) : readJsonLines(file)
}

async function readJson(file: string, size: number, field: string | undefined): Promise<RawFile> {
  if (size > longestText)
    throw unreadable(
      file,
      `it has ${formatBytes(size)}, and .json files over ${formatBytes(longestText)} cannot be read`,
      'Convert it to .jsonl, which has no limit.',
    )
  const pieces: Buffer[] = []
  const sha256 = await readPieces(file, (piece) => pieces.push(piece))
  const text = decode(file, Buffer.concat(pieces), null)
  if (text.trim() === '') throw unreadable(file, 'it is empty', 'Choose a file with rows.')
  let value: unknown
  try {
    value = parseExactJson(text)
  } catch (error) {
    const jsonLines = /^\s*\{.*\}\s*\n\s*\{/.test(text)
    throw unreadable(
      file,
      `it is not JSON (${(error as Error).message})`,
      jsonLines ? 'It looks like one row a line: rename it to .jsonl.' : 'Correct the file.',
    )
  }
  const rows = rowList(file, value, field).map((row, i) => ({
    number: i + 1,
    values: asRow(file, row, `row ${i + 1}`),
  }))
  return { format: 'json', sha256, rows }
}

function rowList(file: string, value: unknown, field: string | undefined): readonly unknown[] {
  if (Array.isArray(value)) {
    if (field === undefined) return value
    throw unreadable(file, `it is a plain list, so it has no field "${field}"`, 'Leave the field out.')
  }
  if (typeof value !== 'object' || value === null)
    throw unreadable(file, 'it is neither a list nor an object with a list', 'Correct the file.')
  const name = field ?? 'data'
  const rows = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
  if (Array.isArray(rows)) return rows
  const lists = Object.entries(value).flatMap(([key, entry]) => (Array.isArray(entry) ? [`"${key}"`] : []))
  throw unreadable(
    file,
    rows === undefined ? `it has no field "${name}"` : `its field "${name}" is no list`,
    lists.length > 0
      ? `Name the field that holds the rows: ${lists.join(', ')}.`
      : 'Choose a file that holds a list of rows.',
  )
}

async function readJsonLines(file: string): Promise<RawFile> {
  const rows: RawRow[] = []
  let held: Buffer[] = []
  let number = 0
  const takeLine = (bytes: Buffer): void => {
    number++
    const text = decode(file, bytes, number).trim()
    if (text === '') return
    let value: unknown
    try {
      value = parseExactJson(text)
    } catch (error) {
      throw unreadable(
        file,
        `line ${number} is not JSON (${(error as Error).message})`,
        `Correct or remove line ${number}.`,
      )
    }
    rows.push({ number, values: asRow(file, value, `line ${number}`) })
  }
  const sha256 = await readPieces(file, (piece) => {
    let start = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      takeLine(Buffer.concat([...held, piece.subarray(start, end)]))
      held = []
      start = end + 1
    }
    held.push(piece.subarray(start))
  })
  if (held.some((piece) => piece.length > 0)) takeLine(Buffer.concat(held))
  return { format: 'jsonl', sha256, rows }
}

/** Hands over the file piece by piece; returns the hash of all. */
async function readPieces(file: string, take: (piece: Buffer) => void): Promise<string> {
  const hash = createHash('sha256')
  const stream = createReadStream(file) as AsyncIterable<Buffer>
  try {
    for await (const piece of stream) {
      hash.update(piece)
      take(piece)
    }
  } catch (error) {
    throw asReadError(error, file, 'data file')
  }
  return hash.digest('hex')
}

/** UTF-8, a byte order mark at the start of the file taken off. */
function decode(file: string, bytes: Buffer, line: number | null): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: line !== null && line !== 1 }).decode(bytes)
  } catch {
    const where = line === null ? 'it' : `line ${line}`
    throw unreadable(file, `${where} is not UTF-8 text`, 'Save the file as UTF-8.')
  }
}

function asRow(file: string, value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw unreadable(file, `${where} is not an object with named columns`, `Correct or remove ${where}.`)
}

function unreadable(file: string, why: string, next: string): UserError {
  return new UserError({ what: 'The data file cannot be read.', why: `${file}: ${why}.`, next })
}

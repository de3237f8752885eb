/** The rows of a text file, piece by piece: cells and where they stand; what costs a row goes to the problem list. */
import { isUtf8 } from 'node:buffer'
import { brokenText } from './broken-text'
import type { Detected } from './detect-format'
import { splitCsv } from './csv-records'
import { JsonListReader } from './json-list'
import { parseJsonRow } from './json-row'
import type { ProblemList } from './problem-list'
import { textPieces } from './text-pieces'
import { type Cell, type DataFormat, type Place, placeName } from './types'
import { unreadable } from './unreadable'

export interface SourceRow {
  readonly place: Place
  readonly cells: ReadonlyMap<string, Cell | null>
}

export interface RowSource {
  readonly file: string
  readonly detected: Detected
  readonly field: string | undefined
  readonly problems: ProblemList
  readonly onBytes: (done: number) => void
  readonly signal?: AbortSignal
}

/** A .json file turned out to hold one object a line. */
export class IsJsonLines extends Error {}

/** The rows of one piece at a time. Throws UserError, IsJsonLines. */
export function sourceRows(source: RowSource, format: Exclude<DataFormat, 'parquet'>): AsyncGenerator<SourceRow[]> {
  switch (format) {
    case 'json':
      return jsonRows(source)
    case 'jsonl':
      return jsonLines(source)
    case 'csv':
      return csvRows(source)
    default:
      throw new Error(`no rows of ${String(format satisfies never)}`)
  }
}

async function* jsonRows({ file, detected, field, problems, onBytes, signal }: RowSource): AsyncGenerator<SourceRow[]> {
  let rows: SourceRow[] = []
  let number = 0
  const reader = new JsonListReader(field ?? 'data', (bytes) => {
    const place: Place = { row: ++number }
    const row = readJson(bytes, place, problems)
    if (typeof row === 'string') throw unreadable(file, `${placeName(place)} ${row}`, 'Correct the file.')
    if (row !== null) rows.push(row)
  })
  for await (const piece of textPieces(file, detected, onBytes, signal)) {
    const goOn = reader.push(piece)
    if (field !== undefined && reader.isPlainList)
      throw unreadable(file, `it is a plain list, so it has no field "${field}"`, 'Leave the field out.')
    if (rows.length > 0) yield rows
    rows = []
    if (!goOn) break
  }
  const end = reader.finish()
  switch (end.kind) {
    case 'list':
      return
    case 'several-values':
      throw new IsJsonLines()
    case 'wrong':
      throw unreadable(file, `it is not JSON: ${end.why}`, 'Correct the file, or get it again.')
    case 'no-list': {
      const name = field ?? 'data'
      throw unreadable(
        file,
        end.present ? `its field "${name}" is no list` : `it has no field "${name}"`,
        end.lists.length > 0
          ? `Name the field that holds the rows: ${end.lists.map((list) => `"${list}"`).join(', ')}.`
          : 'Choose a file that holds a list of rows.',
      )
    }
  }
}

async function* jsonLines({ file, detected, problems, onBytes, signal }: RowSource): AsyncGenerator<SourceRow[]> {
  let rows: SourceRow[] = []
  let held: Buffer[] = []
  let heldBytes = 0
  let line = 0
  const takeLine = (bytes: Buffer): void => {
    line++
    if (isBlank(bytes)) return
    const place: Place = { line }
    const row = readJson(bytes, place, problems)
    if (typeof row === 'string')
      problems.leaveOut({
        kind: isUtf8(bytes) ? 'syntax' : 'encoding',
        line,
        message: `Line ${line} ${row}; it is left out.`,
      })
    else if (row !== null) rows.push(row)
  }
  for await (const piece of textPieces(file, detected, onBytes, signal)) {
    let start = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      const last = piece.subarray(start, end)
      takeLine(held.length === 0 ? last : Buffer.concat([...held, last]))
      held = []
      heldBytes = 0
      start = end + 1
    }
    held.push(piece.subarray(start))
    heldBytes += piece.length - start
    if (heldBytes > longestLine) throw unreadable(file, `line ${line + 1} is too long to read`, 'Split the line.')
    if (rows.length > 0) yield rows
    rows = []
  }
  if (heldBytes > 0) takeLine(Buffer.concat(held))
  if (rows.length > 0) yield rows
}

async function* csvRows({ file, detected, problems, onBytes, signal }: RowSource): AsyncGenerator<SourceRow[]> {
  let names: readonly string[] | null = null
  let rows: SourceRow[] = []
  const records = splitCsv(file, (fields, line, fault) => {
    if (names === null) {
      if (fault !== null) throw unreadable(file, `its first line ${fault.message}`, 'Correct the file.')
      names = columnNames(fields, problems)
      return
    }
    if (fault !== null)
      problems.leaveOut({ kind: fault.kind, line, message: `Line ${line} ${fault.message}; it is left out.` })
    else if (fields.length !== names.length)
      problems.leaveOut({
        kind: 'column-count',
        line,
        message: `Line ${line} has ${fields.length} fields where the first line names ${names.length} columns; it is left out.`,
      })
    else
      rows.push({
        place: { line },
        cells: new Map(names.map((name, i): [string, Cell] => [name, { type: 'text', text: fields[i] }])),
      })
  })
  for await (const piece of textPieces(file, detected, onBytes, signal)) {
    records.push(piece)
    if (rows.length > 0) yield rows
    rows = []
  }
  records.finish()
  if (rows.length > 0) yield rows
}

const longestLine = 500 * 2 ** 20

function columnNames(fields: readonly string[], problems: ProblemList): string[] {
  const names = new Set<string>()
  for (const [i, field] of fields.entries()) {
    const wish = field === '' ? `column_${i + 1}` : field
    let name = wish
    for (let n = 2; names.has(name); n++) name = `${wish}_${n}`
    if (name !== wish)
      problems.add({
        kind: 'duplicate-key',
        line: 1,
        message: `Two columns are named "${wish}"; the later one is called "${name}" here.`,
      })
    names.add(name)
  }
  return [...names]
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 32 && byte !== 9 && byte !== 13) return false
  return true
}

/** The row; null where it was left out and listed; a text: what is wrong with it ("is not JSON ..."). */
function readJson(bytes: Buffer, place: Place, problems: ProblemList): SourceRow | string | null {
  if (!isUtf8(bytes)) return brokenText(bytes)
  let row: ReturnType<typeof parseJsonRow>
  try {
    row = parseJsonRow(bytes.toString())
  } catch (error) {
    return `is not JSON (${shortened((error as Error).message)})`
  }
  const where = placeName(place)
  const Where = where[0].toUpperCase() + where.slice(1)
  if (row === null) {
    problems.leaveOut({
      kind: 'not-a-row',
      ...place,
      message: `${Where} is not an object with named columns; it is left out.`,
    })
    return null
  }
  for (const [name, cell] of row.cells)
    if (!isWhole(name) || (cell !== null && !isWhole(cell.text))) {
      problems.leaveOut({
        kind: 'encoding',
        ...place,
        message: `${Where} holds half a character (a lone surrogate) in "${name}"; it is left out.`,
      })
      return null
    }
  if (row.duplicates.length > 0)
    problems.add({
      kind: 'duplicate-key',
      ...place,
      message: `${Where} has "${row.duplicates[0]}" more than once; the last one counts.`,
    })
  return { place, cells: row.cells }
}

const isWhole = (text: string): boolean => text.isWellFormed()

function shortened(message: string): string {
  return message.length > 160 ? `${message.slice(0, 160)}...` : message
}

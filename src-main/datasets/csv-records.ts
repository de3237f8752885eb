/** Comma-separated text -> records, in a stream of any length (RFC 4180; CRLF or LF; separator by the first line). */
import { isUtf8 } from 'node:buffer'
import { brokenText } from './broken-text'
import { unreadable } from './unreadable'

export interface CsvReader {
  push(piece: Buffer): void
  /** Throws UserError where a quoted text is not closed. */
  finish(): void
}

/** `line`: where the record starts; `fault`: why its fields are not to be used. */
export type TakeRecord = (fields: readonly string[], line: number, fault: RecordFault | null) => void

export interface RecordFault {
  readonly kind: 'syntax' | 'encoding'
  /** After the line's name. */
  readonly message: string
}

const enum State {
  FieldStart,
  Plain,
  Quoted,
  QuoteInQuoted,
}

/** Bytes of a first line in which the separator is looked for. */
const longestNames = 16 * 2 ** 20
const longestRecord = 500 * 2 ** 20

export function splitCsv(file: string, take: TakeRecord): CsvReader {
  let separator: number | null = null
  let state = State.FieldStart
  let held: Buffer[] = []
  let heldBytes = 0
  let line = 1
  let recordLine = 1
  let strayQuote = false
  /** Whether the first record names one column only; null before it. */
  let single: boolean | null = null
  let before: Buffer[] = []
  let beforeBytes = 0

  const record = (bytes: Buffer): void => {
    const fields = isUtf8(bytes) ? fieldsOf(bytes.toString(), separator!) : []
    const fault: RecordFault | null = !isUtf8(bytes)
      ? { kind: 'encoding', message: brokenText(bytes) }
      : strayQuote
        ? { kind: 'syntax', message: 'has text after a closing quote' }
        : null
    // a line without anything is no row, unless its only column may be blank
    if (bytes.length > 0 || single === true) {
      single ??= fields.length === 1
      take(fields, recordLine, fault)
    }
    strayQuote = false
  }

  const scan = (piece: Buffer): void => {
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]
      if (byte === 10) line++
      switch (state) {
        case State.Quoted:
          if (byte === 34) state = State.QuoteInQuoted
          continue
        case State.QuoteInQuoted:
          if (byte === 34) {
            state = State.Quoted
            continue
          }
          if (byte !== separator && byte !== 10 && byte !== 13) strayQuote = true
          state = State.Plain
          break
        case State.FieldStart:
          if (byte === 34) {
            state = State.Quoted
            continue
          }
          state = State.Plain
          break
        default:
      }
      if (byte === separator) state = State.FieldStart
      else if (byte === 10) {
        hold(piece.subarray(from, at))
        record(withoutReturn(held.length === 1 ? held[0] : Buffer.concat(held)))
        held = []
        heldBytes = 0
        from = at + 1
        recordLine = line
        state = State.FieldStart
      }
    }
    if (from < piece.length) hold(piece.subarray(from))
  }

  const hold = (bytes: Buffer): void => {
    heldBytes += bytes.length
    if (heldBytes > longestRecord)
      throw state === State.Quoted
        ? notClosed()
        : unreadable(file, `line ${recordLine} is too long to read`, 'Choose a file with one row a line.')
    held.push(bytes)
  }

  /** The first line is there, or all that is looked at of it. */
  const decide = (): void => {
    const start = Buffer.concat(before)
    before = []
    separator = separatorOf(start)
    scan(start)
  }

  const notClosed = () =>
    unreadable(file, `the quoted text that starts in line ${recordLine} is never closed`, 'Add the missing quote.')

  return {
    push(piece) {
      if (separator !== null) return scan(piece)
      before.push(piece)
      beforeBytes += piece.length
      if (piece.includes(10) || beforeBytes > longestNames) decide()
    },
    finish() {
      if (separator === null) decide()
      if (state === State.Quoted) throw notClosed()
      if (heldBytes > 0) record(withoutReturn(Buffer.concat(held)))
    },
  }
}

function withoutReturn(bytes: Buffer): Buffer {
  return bytes.at(-1) === 13 ? bytes.subarray(0, -1) : bytes
}

/** The separator that the first line has most of, outside quotes; a comma where it has none. */
function separatorOf(text: Buffer): number {
  const counts = new Map([44, 59, 9, 124].map((byte) => [byte, 0]))
  let quoted = false
  for (const byte of text) {
    if (byte === 34) quoted = !quoted
    else if (!quoted && byte === 10) break
    else if (!quoted && counts.has(byte)) counts.set(byte, counts.get(byte)! + 1)
  }
  return [...counts].reduce((best, next) => (next[1] > best[1] ? next : best))[0]
}

function fieldsOf(record: string, separatorByte: number): string[] {
  const separator = String.fromCharCode(separatorByte)
  const fields: string[] = []
  for (let at = 0; ;) {
    if (record[at] === '"') {
      let end = record.indexOf('"', at + 1)
      while (end >= 0 && record[end + 1] === '"') end = record.indexOf('"', end + 2)
      if (end < 0) end = record.length
      fields.push(record.slice(at + 1, end).replaceAll('""', '"'))
      at = record.indexOf(separator, end + 1)
      if (at < 0) return fields
      at++
      continue
    }
    const end = record.indexOf(separator, at)
    fields.push(record.slice(at, end < 0 ? record.length : end))
    if (end < 0) return fields
    at = end + 1
  }
}

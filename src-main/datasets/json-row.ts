/** One JSON object -> its cells, with numbers and nested values as they stand in the text. */
import { endOfNumber, endOfString } from '../engine/formats/exact-json'
import type { Cell } from './types'

export interface JsonRow {
  /** null: the value is null. */
  readonly cells: ReadonlyMap<string, Cell | null>
  /** Keys that stand there more than once; the last value counts. */
  readonly duplicates: readonly string[]
}

/** Throws SyntaxError where the text is not JSON; null where it is, but not an object. */
export function parseJsonRow(text: string): JsonRow | null {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const cells = new Map<string, Cell | null>()
  const duplicates: string[] = []
  let at = skipSpace(text, text.indexOf('{') + 1)
  while (text.charCodeAt(at) === quote) {
    const keyEnd = endOfString(text, at)
    const key = stringValue(text, at, keyEnd)
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = endOfValue(text, start)
    if (cells.has(key)) duplicates.push(key)
    cells.set(key, cellOf(text, start, end))
    at = skipSpace(text, end)
    if (text.charCodeAt(at) !== comma) break
    at = skipSpace(text, at + 1)
  }
  return { cells, duplicates }
}

const quote = 34
const comma = 44

function cellOf(text: string, start: number, end: number): Cell | null {
  switch (text[start]) {
    case '"':
      return { type: 'text', text: stringValue(text, start, end) }
    case '{':
      return { type: 'object', text: text.slice(start, end) }
    case '[':
      return { type: 'list', text: text.slice(start, end) }
    case 't':
    case 'f':
      return { type: 'boolean', text: text.slice(start, end) }
    case 'n':
      return null
    default: {
      const literal = text.slice(start, end)
      return { type: /^-?\d+$/.test(literal) ? 'integer' : 'number', text: literal }
    }
  }
}

function stringValue(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner
}

/** The text is valid JSON, so only the ends have to be found. */
function endOfValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfString(text, start)
  if (first === '{' || first === '[') return endOfNested(text, start)
  if (first === 't' || first === 'n') return start + 4
  if (first === 'f') return start + 5
  return endOfNumber(text, start)
}

function endOfNested(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length;) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = endOfString(text, at)
      continue
    }
    // [ and {, then ] and }
    if (code === 91 || code === 123) depth++
    else if ((code === 93 || code === 125) && --depth === 0) return at + 1
    at++
  }
  return text.length
}

function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at
    at++
  }
}

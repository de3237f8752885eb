/**
 * Append-only files of one JSON value a line. A writer that was killed leaves a torn last line: readers take whole lines only
 * and skip one that is no JSON, so that a damaged line costs itself and nothing after it.
 */
import { createReadStream } from 'node:fs'

export interface Line {
  readonly text: string
  /** Bytes from the start of the file. */
  readonly offset: number
  /** Bytes without the line end. */
  readonly length: number
}

/** Whole lines from a byte offset on; nothing where the file is not there. What follows the last line end is left out. */
export async function* wholeLines(file: string, from = 0): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  let offset = from
  try {
    for await (const chunk of createReadStream(file, { start: from, highWaterMark: 1 << 20 })) {
      let buffer = rest.length > 0 ? Buffer.concat([rest, chunk as Buffer]) : (chunk as Buffer)
      let start = 0
      for (let end = buffer.indexOf(10, start); end >= 0; end = buffer.indexOf(10, start)) {
        yield { text: buffer.toString('utf8', start, end), offset: offset + start, length: end - start }
        start = end + 1
      }
      offset += start
      buffer = buffer.subarray(start)
      rest = buffer
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** The values of the lines that `parse` takes (it returns undefined for the others). */
export async function* jsonLines<T>(file: string, parse: (value: unknown) => T | undefined): AsyncGenerator<T> {
  for await (const line of wholeLines(file)) {
    const value = parseLine(line.text, parse)
    if (value !== undefined) yield value
  }
}

export function parseLine<T>(text: string, parse: (value: unknown) => T | undefined): T | undefined {
  if (text.trim() === '') return undefined
  try {
    return parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Writes large data files from one repeated block, so that making them takes little more than the disk does. */
import { closeSync, openSync, writeSync } from 'node:fs'

export interface LargeFile {
  readonly rows: number
  readonly bytes: number
}

const blockRows = 5000

/** A text of row `i` within a block: about a hundred characters, some of them beyond ASCII. */
export function textOf(i: number, column: string): string {
  return `${column} ${i} é "quoted" \\ ${'x'.repeat(70 + (i % 20))}`
}

/** Rows of four columns until `bytes` are reached. `json`: one line `{"data": [...]}`. The last row has q = "007" and n = 7.50. */
export function writeLargeFile(path: string, format: 'json' | 'jsonl', bytes: number): LargeFile {
  const separator = format === 'json' ? ', ' : '\n'
  const block = Buffer.from(
    Array.from({ length: blockRows }, (_, i) => {
      const [q, a, c] = ['question', 'answer', 'cot'].map((column) => JSON.stringify(textOf(i, column)))
      return `{"q":${q},"n":${i},"a":${a},"c":${c}}${separator}`
    }).join(''),
  )
  const file = openSync(path, 'w')
  try {
    let written = format === 'json' ? writeSync(file, '{"version": 1, "data": [') : 0
    let rows = 0
    for (; written < bytes; rows += blockRows) written += writeSync(file, block)
    written += writeSync(file, `{"q":"007","n":7.50}${format === 'json' ? ']}' : '\n'}`)
    return { rows: rows + 1, bytes: written }
  } finally {
    closeSync(file)
  }
}

/** The cells of row `i` of such a file, the last one aside. */
export function largeRow(i: number): string[] {
  const n = i % blockRows
  return [textOf(n, 'question'), String(n), textOf(n, 'answer'), textOf(n, 'cot')]
}

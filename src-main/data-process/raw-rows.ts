/** Rows of an open set as a run reads them: the same values under the same names, whatever the file's format. */
import { type RawRow, readRawRows } from '../engine/data/read-lines'
import { UserError } from '../engine/errors'
import { parseExactJson } from '../engine/formats/exact-json'
import type { Dataset } from '../datasets/dataset'
import { engineReads } from '../datasets/job-data'
import type { OpenSet } from './open-sets'

/** How a run would come by the rows. */
export type RunRows =
  /** From the table, which holds what the run's file holds. */
  | { readonly kind: 'table' }
  /** From the file itself: a column of mixed types is text in the table, and has its own types in a run. */
  | { readonly kind: 'file'; readonly rows: readonly RawRow[] }
  /** Not at all. */
  | { readonly kind: 'refused'; readonly why: string }

export async function runRowsOf(set: OpenSet): Promise<RunRows> {
  return (set.runRows ??= find(set))
}

async function find({ dataset, field, encoding }: OpenSet): Promise<RunRows> {
  const { file, leftOut, problems } = dataset.info
  const mixed = problems.some(({ kind }) => kind === 'mixed-types')
  if (leftOut === 0 && encoding === undefined && !mixed) return { kind: 'table' }
  if (await engineReads(file))
    try {
      return { kind: 'file', rows: (await readRawRows(file, field)).rows }
    } catch (error) {
      if (error instanceof UserError) return { kind: 'refused', why: error.why }
      throw error
    }
  if (leftOut > 0) return { kind: 'refused', why: `${leftOut} rows of the file cannot be read.` }
  if (encoding !== undefined) return { kind: 'refused', why: `A run reads the file as Unicode, not as ${encoding}.` }
  return { kind: 'table' }
}

/** Rows in parts; with the columns that are named only. `number` is the place, from 1. */
export async function* rawRows(set: OpenSet, from: RunRows, columns: ReadonlySet<string>): AsyncGenerator<RawRow[]> {
  if (from.kind === 'file') {
    for (let at = 0; at < from.rows.length; at += rowsAtATime)
      yield from.rows.slice(at, at + rowsAtATime).map(({ values }, i) => ({ number: at + i + 1, values }))
    return
  }
  const { dataset } = set
  const wanted = dataset.info.columns.flatMap(({ name }, i) => (columns.has(name) ? [i] : []))
  let number = 0
  if (wanted.length === 0) {
    for (; number < dataset.info.rows;) yield [{ number: ++number, values: {} }]
    return
  }
  for await (const part of dataset.scan(wanted))
    yield part.map((cells) => ({ number: ++number, values: valuesOf(dataset, wanted, cells) }))
}

const rowsAtATime = 4096

/** The row at a place, from 0, whole. */
export async function rawRow(set: OpenSet, from: RunRows, place: number): Promise<RawRow> {
  if (from.kind === 'file') return { number: place + 1, values: from.rows[place].values }
  const { dataset } = set
  const [row] = await dataset.rows(place, 1)
  if (!row) throw new RangeError(`there is no row at ${place}`)
  const all = dataset.info.columns.map((_, i) => i)
  return { number: place + 1, values: valuesOf(dataset, all, row.cells) }
}

function valuesOf(dataset: Dataset, columns: readonly number[], cells: readonly (string | null)[]): RawRow['values'] {
  return Object.fromEntries(
    columns.map((column, i) => {
      const { name, type } = dataset.info.columns[column]
      const text = cells[i]
      const plain = text === null || type === 'text'
      return [name, plain ? text : parseExactJson(dataset.jsonValue(column, text, false))]
    }),
  )
}

/**
 * Rows that are looked at together: tokenizers work beside this thread, and one row after the other would leave both waiting most of the
 * time.
 */
export const rowsTogether = 32

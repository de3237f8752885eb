/**
 * The rows that a job works on: read, put in order, cut to the limit, and freed of rows that lack a needed text. What was
 * left out is counted and listed, so that no run silently trains on less (or on the text "null").
 */
import { UserError } from '../errors'
import type { DataSpec } from '../job-spec'
import { TorchGenerator } from '../nn/torch-generator'
import { type RawRow, readRawRows } from './read-lines'

/**
 * A column, or alternatives of which the first that the data has is taken for all rows. `anyOf`: alternatives of which each
 * row has the first that holds a text. Rows carry what was found under the first name.
 */
export type ColumnWish = string | ColumnNames | { readonly anyOf: ColumnNames }
export type ColumnNames = readonly [string, ...string[]]

export interface ReadOptions {
  /** Every row needs a text here. */
  readonly required: readonly ColumnWish[]
  /** Taken along as text where a row has one. */
  readonly optional?: readonly ColumnWish[]
  /** For `shuffle`; the run's seed. */
  readonly seed?: number
  /** The text that stands for null in a required column that the data has; without it such rows are left out. */
  readonly nullAs?: string
  /** What else can be done where a column is missing; a sentence. */
  readonly hint?: string
}

export interface DataRow {
  /** Of a .jsonl file the line, of a .json file the place in its list; from 1. */
  readonly number: number
  /** Required and optional columns as text, unchanged; numbers and truth values as JSON writes them. */
  readonly text: Readonly<Record<string, string>>
  /** The whole row as it is in the file. */
  readonly values: Readonly<Record<string, unknown>>
}

export interface RowProblem {
  readonly number: number
  /** The column's name in the file; of several that were looked for in the row, all, as "answer or summary". */
  readonly column: string
  /** `null`: missing or null; `blank`: white space only; `structure`: a list or an object where a text is needed. */
  readonly cause: 'null' | 'blank' | 'structure'
}

export interface DataReport {
  readonly file: string
  readonly format: 'json' | 'jsonl'
  readonly sha256: string
  /** Every column that some row has. */
  readonly columns: readonly string[]
  /** Rows in the file. */
  readonly total: number
  /** Rows after `limit`. */
  readonly selected: number
  /** Rows that are returned. */
  readonly usable: number
  /** Selected rows left out, by the cause of their first problem. */
  readonly null: number
  readonly blank: number
  readonly structure: number
  /** The first problem of every row that was left out, in file order. */
  readonly problems: readonly RowProblem[]
}

export interface ReadRows {
  readonly rows: readonly DataRow[]
  readonly report: DataReport
  /** Rows in which `nullAs` was put in. */
  readonly filled: number
}

/** Reads the rows of a data specification. Missing columns, broken lines and a file without a usable row are UserErrors. */
export async function readRows(
  spec: DataSpec,
  { required, optional = [], seed = 0, nullAs, hint }: ReadOptions,
): Promise<ReadRows> {
  const { file } = spec
  const { format, sha256, rows: raw } = await readRawRows(file, spec.field)
  if (raw.length === 0) throw noRows(file, 'it has no rows')
  const found = columnsOf(raw)
  const { absent, names: columns, rename } = renaming(spec.columns ?? {}, found)
  if (absent.length > 0) throw absentColumns(file, absent, found)
  const all = raw.map(rename)
  const reader = new RowReader(columns, { required, optional, nullAs })
  if (reader.missing.length > 0) throw missingColumns(file, reader.missing, columns, hint)
  const selected = select(all, spec, seed)
  const problems: RowProblem[] = []
  const rows: DataRow[] = []
  let filled = 0
  for (const read of selected) {
    const { row, usable, faults, filled: put } = reader.read(read)
    if (put) filled++
    if (usable) rows.push(row)
    else {
      const { number, column, cause } = faults[0]
      problems.push({ number, column, cause })
    }
  }
  if (rows.length === 0) throw noRows(file, describeProblems(problems))
  const count = (cause: RowProblem['cause']): number => problems.filter((p) => p.cause === cause).length
  return {
    rows,
    report: {
      file,
      format,
      sha256,
      columns,
      total: all.length,
      selected: selected.length,
      usable: rows.length,
      null: count('null'),
      blank: count('blank'),
      structure: count('structure'),
      problems: problems.sort((a, b) => a.number - b.number),
    },
    filled,
  }
}

/** One line for the log; null when every selected row can be used. */
export function describeLeftOut({ selected, usable, problems }: DataReport): string | null {
  if (usable === selected) return null
  const shown = problems.slice(0, 5).map((p) => `${p.number} (${p.column}: ${causes[p.cause]})`)
  const more = problems.length > shown.length ? ` and ${problems.length - shown.length} more` : ''
  return `${selected - usable} of ${selected} rows are left out: ${shown.join(', ')}${more}.`
}

/** Rows under the names that a job looks for. */
export interface Renaming {
  /** Columns that are named but no row has. */
  readonly absent: readonly string[]
  /** Every column that rows have afterwards. */
  readonly names: readonly string[]
  rename(row: RawRow): RawRow
}

/** `columns`: name -> column, as in a data specification; `found`: the columns of the data. */
export function renaming(columns: Readonly<Record<string, string>>, found: readonly string[]): Renaming {
  const pairs = Object.entries(columns)
  return {
    absent: [...new Set(pairs.flatMap(([, column]) => (found.includes(column) ? [] : [column])))],
    names: [...new Set([...found, ...pairs.map(([name]) => name)])],
    rename: (row) => {
      if (pairs.length === 0) return row
      const { number, values } = row
      const own = pairs.map(([name, column]) => [name, Object.hasOwn(values, column) ? values[column] : null])
      return { number, values: { ...values, ...(Object.fromEntries(own) as RawRow['values']) } }
    },
  }
}

/** What becomes of one row. */
export interface RowReading {
  /** With the texts that it has. */
  readonly row: DataRow
  /** Without faults; else the row is left out for its first one. */
  readonly usable: boolean
  /** One for each wish that it does not fulfil. */
  readonly faults: readonly (RowProblem & { readonly wish: ColumnWish })[]
  /** `nullAs` was put in. */
  readonly filled: boolean
}

/** Reads rows one by one, once it is known which columns the data has. */
export class RowReader {
  /** Wishes for which the data has no column: no row can be read. */
  readonly missing: readonly ColumnWish[]
  private readonly needed: readonly { readonly wish: ColumnWish; readonly column: Column }[]
  private readonly wanted: readonly Column[]
  private readonly nullAs: string | undefined

  constructor(
    columns: readonly string[],
    { required, optional = [], nullAs }: Pick<ReadOptions, 'required' | 'optional' | 'nullAs'>,
  ) {
    this.missing = required.filter((wish) => resolveColumn(wish, columns) === null)
    this.needed = required.flatMap((wish) => {
      const column = resolveColumn(wish, columns)
      return column === null ? [] : [{ wish, column }]
    })
    this.wanted = optional.map((wish) => resolveColumn(wish, columns)).filter((c) => c !== null)
    this.nullAs = nullAs
  }

  read(raw: RawRow): RowReading {
    const needed = this.needed.map(({ column }) => column)
    const row = this.nullAs === undefined ? raw : withNulls(raw, needed, this.nullAs)
    const faults = this.needed.flatMap(({ wish, column }) => {
      const fault = faultOf(row, column)
      return fault === null ? [] : [{ ...fault, wish }]
    })
    return {
      row: { ...row, text: textOf(row, [...needed, ...this.wanted]) },
      usable: faults.length === 0,
      faults,
      filled: row !== raw,
    }
  }

  /** The column of each required wish that the data has one for: the first that counts. */
  sources(): ReadonlyMap<ColumnWish, string> {
    return new Map(this.needed.map(({ wish, column }) => [wish, column.sources[0]]))
  }
}

interface Column {
  /** The name that rows carry. */
  readonly name: string
  /** Names to look under in a row, in order. */
  readonly sources: readonly string[]
  /** For messages. */
  readonly title: string
}

const causes: Record<RowProblem['cause'], string> = { null: 'null or missing', blank: 'blank', structure: 'no text' }

function columnsOf(rows: readonly RawRow[]): string[] {
  const columns = new Set<string>()
  for (const { values } of rows) for (const name of Object.keys(values)) columns.add(name)
  return [...columns]
}

function resolveColumn(wish: ColumnWish, columns: readonly string[]): Column | null {
  const names = alternatives(wish)
  const sources = names.filter((name) => columns.includes(name))
  if (sources.length === 0) return null
  return isPerRow(wish)
    ? { name: names[0], sources, title: names.join(' or ') }
    : { name: names[0], sources: sources.slice(0, 1), title: sources[0] }
}

function isPerRow(wish: ColumnWish): wish is { readonly anyOf: ColumnNames } {
  return typeof wish === 'object' && 'anyOf' in wish
}

/** All names that a wish looks for; rows carry what was found under the first. */
export function alternatives(wish: ColumnWish): ColumnNames {
  return typeof wish === 'string' ? [wish] : isPerRow(wish) ? wish.anyOf : wish
}

function select(rows: readonly RawRow[], { shuffle, limit }: DataSpec, seed: number): readonly RawRow[] {
  const ordered = shuffle ? Array.from(new TorchGenerator(seed).permutation(rows.length), (i) => rows[i]) : rows
  return limit > 0 ? ordered.slice(0, limit) : ordered
}

/** null: the row has a text there. */
function faultOf({ number, values }: RawRow, { sources, title }: Column): RowProblem | null {
  const causes = sources.map((source) => causeOf(values, source))
  if (!causes.every((c) => c !== null)) return null
  // what stands there but is of no use says more than what is missing
  return { number, column: title, cause: causes.find((c) => c !== 'null') ?? 'null' }
}

/** The row with a text in place of every null; the same object where there is none. */
function withNulls(row: RawRow, needed: readonly Column[], text: string): RawRow {
  const nulls = needed.filter(({ sources }) => causeOf(row.values, sources[0]) === 'null')
  if (nulls.length === 0) return row
  return { ...row, values: { ...row.values, ...Object.fromEntries(nulls.map(({ sources }) => [sources[0], text])) } }
}

/** Why a cell holds no text; null where it does. */
function causeOf(values: RawRow['values'], source: string): RowProblem['cause'] | null {
  const value = Object.hasOwn(values, source) ? values[source] : null
  if (value === null) return 'null'
  if (typeof value === 'object') return 'structure'
  return typeof value === 'string' && value.trim() === '' ? 'blank' : null
}

function textOf({ values }: RawRow, columns: readonly Column[]): Record<string, string> {
  const text: Record<string, string> = {}
  for (const { name, sources } of columns) {
    const source = sources.find((s) => causeOf(values, s) === null) ?? sources[0]
    const value = Object.hasOwn(values, source) ? values[source] : null
    if (typeof value === 'string') text[name] = value
    else if (value !== null && typeof value !== 'object') text[name] = String(value)
  }
  return text
}

function describeProblems(problems: readonly RowProblem[]): string {
  const [first] = problems
  return `none of its ${problems.length} rows can be used (row ${first.number}: ${first.column} is ${causes[first.cause]})`
}

function missingColumns(
  file: string,
  missing: readonly ColumnWish[],
  columns: readonly string[],
  hint: string | undefined,
): UserError {
  const names = missing.map((wish) => alternatives(wish).join(' or '))
  return new UserError({
    what: `The data lacks ${names.length === 1 ? 'a column' : 'columns'} that this job needs.`,
    why: `${file} has no ${names.join(', no ')}; its columns are ${columns.join(', ') || 'none'}.`,
    next: `Choose other data, or rename the columns.${hint === undefined ? '' : ` ${hint}`}`,
  })
}

function absentColumns(file: string, absent: readonly string[], columns: readonly string[]): UserError {
  return new UserError({
    what: 'The data lacks a column that "columns" names.',
    why: `${file} has no ${absent.join(', no ')}; its columns are ${columns.join(', ') || 'none'}.`,
    next: 'Correct the name of the column.',
  })
}

function noRows(file: string, why: string): UserError {
  return new UserError({
    what: 'There is no row to work on.',
    why: `${file}: ${why}.`,
    next: 'Choose a file with rows.',
  })
}

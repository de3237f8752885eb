/** What a data set looks like from outside: columns, cells, problems. */
export type DataFormat = 'json' | 'jsonl' | 'csv' | 'parquet'

/** `null`: the column holds nothing else. `time`: dates and times that a parquet file stores as such; text never becomes one. */
export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'list' | 'object' | 'time' | 'binary' | 'null'

export interface Column {
  readonly name: string
  readonly type: ColumnType
  /** Rows in which it is null or missing. */
  readonly nulls: number
  /** Rows in which it holds a text of white space only. */
  readonly blank: number
}

export type ProblemKind =
  'syntax' | 'encoding' | 'not-a-row' | 'column-count' | 'duplicate-key' | 'mixed-types' | 'wrong-extension'

/** Something a person should know about a file that could be read all the same. */
export interface DataProblem {
  readonly kind: ProblemKind
  /** Of a JSON list or a parquet file, from 1. */
  readonly row?: number
  /** Of a line-based file, from 1. */
  readonly line?: number
  readonly message: string
}

/** A value as the table stores it: text as it is, numbers by their digits, lists and objects as the JSON of the file. */
export interface Cell {
  readonly type: Exclude<ColumnType, 'time' | 'binary' | 'null'>
  readonly text: string
}

/** Where a row stands, for messages and problems. */
export type Place = { readonly row: number } | { readonly line: number }

export function placeName(place: Place): string {
  return 'row' in place ? `row ${place.row}` : `line ${place.line}`
}

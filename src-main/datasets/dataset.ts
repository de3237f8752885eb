/** One open data set: what it holds, rows by place, and orders of its rows. Nothing here changes the file. */
import { quoteInexactNumbers } from '../engine/formats/exact-json'
import { columnStatistics, type ColumnStatistics } from './statistics'
import type { Database } from './database'
import type { Column, DataFormat, DataProblem } from './types'
import { type Order, RowOrder } from './row-order'

/** Rows that a scan of all rows reads at a time. */
const scanRows = 4096

export interface DatasetInfo {
  readonly file: string
  readonly format: DataFormat
  readonly rows: number
  readonly columns: readonly Column[]
  readonly problems: readonly DataProblem[]
  /** Rows of the file that could not be read; each kind's first are among the problems. */
  readonly leftOut: number
  /** Places of columns whose numbers are binary in the file. */
  readonly binaryNumbers: ReadonlySet<number>
}

/** Cells in the columns' order: text as it is, numbers by their digits, nested values as JSON; null for null or missing. */
export interface Row {
  /** Place in the file's order, from 0, rows that could not be read not counted. */
  readonly place: number
  readonly cells: readonly (string | null)[]
  /** Columns whose text is cut at `clip`. */
  readonly cut: readonly number[]
}

export class Dataset {
  private orders = 0

  constructor(
    private readonly database: Database,
    readonly info: DatasetInfo,
  ) {}

  /** Rows in the file's order. `clip`: most characters of a cell, so that a row of 50 MB does not reach a page whole. */
  async rows(from: number, count: number, { clip }: { clip?: number } = {}): Promise<Row[]> {
    return this.read(`t WHERE rowid BETWEEN ${from} AND ${from + count - 1}`, clip)
  }

  /** Rows at places of the file's order, in the order given. */
  async rowsAt(places: readonly number[], { clip }: { clip?: number } = {}): Promise<Row[]> {
    if (places.length === 0) return []
    // of places far apart a join reads only what it needs, several times faster than IN
    const rows = await this.read(`t JOIN (SELECT unnest([${places.join(', ')}]) AS p) AS o ON t.rowid = o.p`, clip)
    const byPlace = new Map(rows.map((row) => [row.place, row]))
    return places.flatMap((place) => byPlace.get(place) ?? [])
  }

  /** Filters, searches and sorts; the order can be paged while it is being computed. Close it when it is not needed. */
  order(order: Order, signal?: AbortSignal): Promise<RowOrder> {
    return RowOrder.start(this, this.database, `o${this.orders++}`, order, signal)
  }

  /** An order that holds the rows at these places of the file's order. */
  orderOf(places: Int32Array): Promise<RowOrder> {
    return RowOrder.of(this, this.database, `o${this.orders++}`, places)
  }

  /** Some columns of every row, or of an order's rows, without holding them all. */
  async *scan(columns: readonly number[], order?: RowOrder): AsyncGenerator<(string | null)[][]> {
    const { connection, release } = await this.database.connect()
    try {
      const cells = columns.map((column) => `t.c${column}`).join(', ')
      if (order) {
        const result = await connection.stream(
          `SELECT ${cells} FROM ${order.table} AS o JOIN t ON t.rowid = o.place ORDER BY o.rowid`,
        )
        for await (const part of result.yieldRows()) {
          this.database.stayOpen()
          yield part as (string | null)[][]
        }
        return
      }
      for (let from = 0; from < this.info.rows; from += scanRows) {
        this.database.stayOpen()
        const reader = await connection.runAndReadAll(
          `SELECT ${cells} FROM t WHERE rowid >= ${from} AND rowid < ${from + scanRows} ORDER BY rowid`,
        )
        yield reader.getRows() as (string | null)[][]
      }
    } catch (error) {
      throw this.database.explain(error)
    } finally {
      release()
    }
  }

  /** Of all rows, or of those that an order holds. */
  statistics(column: number, order?: RowOrder): Promise<ColumnStatistics> {
    return this.database.ask((connection) =>
      columnStatistics(connection, this.info.columns[column], column, order?.table),
    )
  }

  /** The column's place. -1 where there is none of that name. */
  column(name: string): number {
    return this.info.columns.findIndex((column) => column.name === name)
  }

  /**
   * The row as a line of JSON. `exact`: a number that JSON.parse would change is written as a string; without it, every number is
   * written as it stands in the file. Missing values are written as null.
   */
  jsonLine({ cells }: Row, { exact }: { exact: boolean }): string {
    const parts = this.info.columns.map(
      ({ name }, i) => `${JSON.stringify(name)}:${this.jsonValue(i, cells[i], exact)}`,
    )
    return `{${parts.join(',')}}`
  }

  /** Frees the table; what is under way ends with an error that says so. */
  close(): Promise<void> {
    return this.database.close()
  }

  jsonValue(column: number, text: string | null, exact: boolean): string {
    if (text === null) return 'null'
    switch (this.info.columns[column].type) {
      case 'boolean':
        return text
      case 'integer':
      case 'number':
        if (this.info.binaryNumbers.has(column)) return Number.isFinite(Number(text)) ? text : JSON.stringify(text)
        return exact ? quoteInexactNumbers(text) : text
      case 'list':
      case 'object':
        // digits of a parquet file's binary numbers are not the file's
        return oneLine(
          exact ? quoteInexactNumbers(text, this.info.format === 'parquet' ? isInexactInteger : undefined) : text,
        )
      case 'text':
      case 'time':
      case 'binary':
      case 'null':
        return JSON.stringify(text)
    }
  }

  /** `from`: what stands behind FROM. */
  private async read(from: string, clip: number | undefined): Promise<Row[]> {
    const { columns } = this.info
    const cells = columns.map((_, i) =>
      clip === undefined ? `c${i}` : `left(c${i}, ${clip}), coalesce(length(c${i}) > ${clip}, false)`,
    )
    const reader = await this.database.ask((connection) =>
      connection.runAndReadAll(`SELECT t.rowid, ${cells.join(', ')} FROM ${from} ORDER BY t.rowid`),
    )
    return reader.getRows().map(([place, ...values]) => ({
      place: Number(place),
      cells: columns.map((_, i) => values[clip === undefined ? i : 2 * i] as string | null),
      cut: clip === undefined ? [] : columns.flatMap((_, i) => (values[2 * i + 1] === true ? [i] : [])),
    }))
  }
}

function isInexactInteger(literal: string): boolean {
  return /^-?\d+$/.test(literal) && !Number.isSafeInteger(Number(literal))
}

/** Line breaks of a pretty-printed nested value are white space between tokens: inside texts JSON has none. */
function oneLine(json: string): string {
  return json.replace(/[\r\n]+/g, ' ')
}

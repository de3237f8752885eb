/**
 * Rows in a computed order: those that a filter or a search finds, in the file's order or sorted by columns. The places of the rows
 * are a table of their own, so that any page of it is read as fast as any other.
 */
import { availableParallelism } from 'node:os'
import type { Dataset, Row } from './dataset'
import { sqlText } from './parquet-table'
import type { Database } from './database'
import type { Column } from './types'
import { UserError } from '../engine/errors'

export type Comparison = 'is' | 'is-not' | 'contains' | 'contains-not' | 'less' | 'more'

/** Text compares by its characters; `less` and `more` compare numbers in columns of numbers. */
export type Condition =
  | { readonly column: number; readonly kind: Comparison; readonly value: string }
  | { readonly column: number; readonly kind: 'null' | 'not-null' | 'blank' }

export interface Order {
  /** All have to hold. */
  readonly filter?: readonly Condition[]
  /** Rows with this text in some column (or in `columns`). */
  readonly search?: { readonly text: string; readonly matchCase?: boolean; readonly columns?: readonly number[] }
  /** The first decides first; equal rows stay in the file's order; null is last. Numbers sort as numbers, all else by code points. */
  readonly sort?: readonly { readonly column: number; readonly descending?: boolean }[]
}

export interface OrderProgress {
  /** Rows looked at; of a sort, the share of its work in rows. */
  readonly done: number
  readonly of: number
  readonly found: number
}

/** Rows of the first slice, so that the first page comes at once. */
const firstSlice = 1 << 14
/** Rows that DuckDB keeps together, and that one of its threads looks at. */
const rowGroup = 122_880
/** Later slices give every thread one row group, then two each time. */
const groupsAtOnce = availableParallelism()
/** How often a sort is asked how far it is, ms. */
const lookMs = 50

export class RowOrder {
  private progress: OrderProgress
  /** Fulfilled when every row has been looked at; rejects with the signal's reason when cancelled. */
  readonly finished: Promise<void>

  private constructor(
    private readonly dataset: Dataset,
    private readonly database: Database,
    /** Its rows' places, in its order. */
    readonly table: string,
    compute: (self: RowOrder) => Promise<void>,
  ) {
    this.progress = { done: 0, of: dataset.info.rows, found: 0 }
    this.finished = compute(this)
    this.finished.catch(() => undefined)
  }

  /** Returns as soon as rows can be asked for. */
  static async start(
    dataset: Dataset,
    database: Database,
    table: string,
    order: Order,
    signal?: AbortSignal,
  ): Promise<RowOrder> {
    refuseEmptyText(order)
    signal?.throwIfAborted()
    await database.ask((connection) => connection.run(`CREATE TABLE ${table} (place BIGINT)`))
    return new RowOrder(dataset, database, table, (self) => self.compute(order, signal))
  }

  /** Rows at known places. */
  static async of(dataset: Dataset, database: Database, table: string, places: Int32Array): Promise<RowOrder> {
    await database.ask(async (connection) => {
      await connection.run(`CREATE TABLE ${table} (place BIGINT)`)
      const appender = await connection.createAppender(table)
      for (const place of places) {
        appender.appendBigInt(BigInt(place))
        appender.endRow()
      }
      appender.closeSync()
    })
    return new RowOrder(dataset, database, table, async (self) =>
      self.report({ done: dataset.info.rows, of: dataset.info.rows, found: places.length }),
    )
  }

  /** What has been found up to now. */
  get state(): OrderProgress {
    return this.progress
  }

  /** Rows from a place of this order; waits until they are there or nothing more is to come. */
  async rows(from: number, count: number, { clip }: { clip?: number } = {}): Promise<Row[]> {
    await this.until(from + count)
    const reader = await this.database.ask((connection) =>
      connection.runAndReadAll(
        `SELECT place FROM ${this.table} WHERE rowid BETWEEN ${from} AND ${from + count - 1} ORDER BY rowid`,
      ),
    )
    return this.dataset.rowsAt(
      reader.getRows().map(([place]) => Number(place)),
      { clip },
    )
  }

  /** Frees the order's table. */
  async close(): Promise<void> {
    await this.finished.catch(() => undefined)
    await this.database.ask((connection) => connection.run(`DROP TABLE IF EXISTS ${this.table}`))
  }

  private waiting: (() => void)[] = []

  private async until(found: number): Promise<void> {
    while (this.progress.found < found && this.progress.done < this.progress.of)
      await Promise.race([this.finished, new Promise<void>((resolve) => this.waiting.push(resolve))])
  }

  private report(progress: OrderProgress): void {
    this.progress = progress
    for (const wake of this.waiting.splice(0)) wake()
  }

  private async compute({ filter = [], search, sort = [] }: Order, signal: AbortSignal | undefined): Promise<void> {
    const { columns, rows } = this.dataset.info
    const { connection, release } = await this.database.connect()
    const interrupt = (): void => connection.interrupt()
    signal?.addEventListener('abort', interrupt)
    try {
      const where = [
        ...filter.map((c) => conditionSql(c, columns[c.column])),
        ...(search ? [searchSql(search, columns)] : []),
      ]
      const wanted = where.length > 0 ? ` AND ${where.join(' AND ')}` : ''
      if (sort.length > 0) {
        const keys = sort.flatMap(({ column, descending }) =>
          sortKeys(column, columns[column]).map((key) => `${key} ${descending ? 'DESC' : 'ASC'} NULLS LAST`),
        )
        signal?.throwIfAborted()
        const look = setInterval(() => {
          // all has been looked at only when it has its place
          const done = Math.min(rows - 1, Math.floor((rows * connection.progress.percentage) / 100))
          if (done > this.progress.done) this.report({ done, of: rows, found: 0 })
        }, lookMs)
        try {
          await connection.run('SET enable_progress_bar = true; SET enable_progress_bar_print = false')
          await connection.run('SET progress_bar_time = 0')
          const result = await connection.run(
            `INSERT INTO ${this.table} SELECT rowid FROM t WHERE true${wanted} ORDER BY ${keys.join(', ')}, rowid`,
          )
          this.report({ done: rows, of: rows, found: result.rowsChanged })
        } finally {
          clearInterval(look)
        }
        return
      }
      for (let from = 0, to = 0; from < rows; from = to) {
        signal?.throwIfAborted()
        this.database.stayOpen()
        to = Math.min(rows, nextSlice(from))
        const result = await connection.run(
          `INSERT INTO ${this.table} SELECT rowid FROM t WHERE rowid >= ${from} AND rowid < ${to}${wanted}`,
        )
        this.report({ done: to, of: rows, found: this.progress.found + result.rowsChanged })
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw this.database.explain(error)
    } finally {
      signal?.removeEventListener('abort', interrupt)
      release()
      for (const wake of this.waiting.splice(0)) wake()
    }
  }
}

/** Where the slice ends that begins at a row: with row groups, as threads share nothing smaller. */
function nextSlice(from: number): number {
  if (from === 0) return firstSlice
  const slice = rowGroup * groupsAtOnce
  return from < slice ? slice : (Math.floor(from / slice) + 2) * slice
}

function refuseEmptyText({ filter = [], search }: Order): void {
  const empty =
    search?.text === '' || filter.some((c) => 'value' in c && c.kind.startsWith('contains') && c.value === '')
  if (empty)
    throw new UserError({
      what: 'The rows could not be searched.',
      why: 'The text to look for is empty.',
      next: 'Write what to look for.',
    })
}

function isNumeric({ type }: Column): boolean {
  return type === 'integer' || type === 'number'
}

function sortKeys(column: number, { type }: Column): string[] {
  const asDouble = `TRY_CAST(c${column} AS DOUBLE)`
  switch (type) {
    case 'integer':
      // a double alone does not tell large integers apart
      return [asDouble, `TRY_CAST(c${column} AS HUGEINT)`]
    case 'number':
      return [asDouble]
    default:
      return [`c${column}`]
  }
}

function conditionSql(condition: Condition, column: Column): string {
  const cell = `c${condition.column}`
  switch (condition.kind) {
    case 'null':
      return `${cell} IS NULL`
    case 'not-null':
      return `${cell} IS NOT NULL`
    case 'blank':
      return `trim(${cell}, ' ' || chr(9) || chr(10) || chr(13)) = ''`
    case 'is':
      return `${cell} = ${sqlText(condition.value)}`
    case 'is-not':
      return `${cell} IS DISTINCT FROM ${sqlText(condition.value)}`
    case 'contains':
      return `contains(${cell}, ${sqlText(condition.value)})`
    case 'contains-not':
      return `NOT coalesce(contains(${cell}, ${sqlText(condition.value)}), false)`
    case 'less':
    case 'more': {
      const sign = condition.kind === 'less' ? '<' : '>'
      if (!isNumeric(column)) return `${cell} ${sign} ${sqlText(condition.value)}`
      return `TRY_CAST(${cell} AS DOUBLE) ${sign} TRY_CAST(${sqlText(condition.value)} AS DOUBLE)`
    }
  }
}

function searchSql({ text, matchCase = false, columns }: NonNullable<Order['search']>, all: readonly Column[]): string {
  const places = columns ?? all.map((_, i) => i)
  // both sides in small letters: several times faster than ILIKE
  const tests = places.map((i) =>
    matchCase ? `contains(c${i}, ${sqlText(text)})` : `contains(lower(c${i}), lower(${sqlText(text)}))`,
  )
  return `(${tests.join(' OR ')})`
}

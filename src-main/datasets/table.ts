/**
 * The rows of a data set in a DuckDB file of its own: every column as text under a name of ours (c0, c1, ...), since DuckDB's names do
 * not tell upper from lower case. The row's place is `rowid`, from 0.
 */
import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import type { SourceRow } from './row-source'
import { type Cell, type Column, type ColumnType, type Place, placeName } from './types'
import type { ProblemList } from './problem-list'

/** More columns than any table; an object whose keys are data. */
export const mostColumns = 2000

export class TooManyColumns extends Error {}

interface ColumnState {
  readonly name: string
  /** Rows with a value. */
  values: number
  blank: number
  type: Cell['type'] | null
  /** The first row whose type did not fit to those before. */
  mixed: { readonly place: Place; readonly before: Cell['type']; readonly now: Cell['type'] } | null
}

/** Takes rows in and keeps the count of what they hold. */
export class TableWriter {
  private readonly columns: ColumnState[] = []
  private readonly byName = new Map<string, number>()
  private appender: DuckDBAppender | null = null
  private appenderColumns = 0
  private rowCount = 0

  constructor(private readonly connection: DuckDBConnection) {}

  get rows(): number {
    return this.rowCount
  }

  /** Throws TooManyColumns. */
  async append(rows: readonly SourceRow[]): Promise<void> {
    for (const { cells } of rows)
      for (const name of cells.keys())
        if (!this.byName.has(name)) {
          this.byName.set(name, this.columns.length)
          this.columns.push({ name, values: 0, blank: 0, type: null, mixed: null })
          if (this.columns.length > mostColumns) throw new TooManyColumns()
        }
    await this.makeColumns()
    const appender = this.appender
    if (appender === null) return
    for (const { place, cells } of rows) {
      this.rowCount++
      for (const column of this.columns) {
        const cell = cells.get(column.name)
        if (cell === undefined || cell === null) {
          appender.appendNull()
          continue
        }
        appender.appendVarchar(cell.text)
        count(column, cell, place)
      }
      appender.endRow()
    }
  }

  /** Ends the writing; returns the columns. Columns of mixed types go to the problems. */
  async finish(problems: ProblemList): Promise<Column[]> {
    this.appender?.closeSync()
    this.appender = null
    await this.connection.run('CHECKPOINT')
    return this.columns.map(({ name, values, blank, type, mixed }) => {
      if (mixed !== null)
        problems.add({
          kind: 'mixed-types',
          ...mixed.place,
          message: `Column "${name}" holds several types, so it is read as text: ${mixed.before}, then ${mixed.now} in ${placeName(mixed.place)}.`,
        })
      return {
        name,
        type: mixed !== null ? 'text' : (type ?? ('null' as ColumnType)),
        nulls: this.rowCount - values,
        blank,
      }
    })
  }

  /** Ends the writing without a result. */
  abandon(): void {
    this.appender?.closeSync()
    this.appender = null
  }

  private async makeColumns(): Promise<void> {
    const wanted = this.columns.length
    if (wanted === this.appenderColumns) return
    this.appender?.closeSync()
    if (this.appenderColumns === 0)
      await this.connection.run(`CREATE TABLE t (${this.columns.map((_, i) => `c${i} VARCHAR`).join(', ')})`)
    else
      for (let i = this.appenderColumns; i < wanted; i++)
        await this.connection.run(`ALTER TABLE t ADD COLUMN c${i} VARCHAR`)
    this.appender = await this.connection.createAppender('t')
    this.appenderColumns = wanted
  }
}

function count(column: ColumnState, { type, text }: Cell, place: Place): void {
  column.values++
  if (type === 'text' && text.trim() === '') column.blank++
  if (column.type === type || column.mixed !== null) return
  if (column.type === null) column.type = type
  else if (column.type === 'integer' && type === 'number') column.type = 'number'
  else if (!(column.type === 'number' && type === 'integer')) column.mixed = { place, before: column.type, now: type }
}

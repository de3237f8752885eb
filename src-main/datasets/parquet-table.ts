/** A parquet file -> the table of a data set; its own types tell what a column is. */
import type { DuckDBConnection, DuckDBType } from '@duckdb/node-api'
import type { Column, ColumnType } from './types'
import { unreadable } from './unreadable'

export interface ParquetTable {
  readonly rows: number
  readonly columns: Column[]
  /** Columns whose numbers are binary: their digits are ours, and JSON.parse gives the same number back. */
  readonly binaryNumbers: ReadonlySet<number>
}

/** White space as String.prototype.trim knows it. */
const whiteSpace =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

/** How often reading is asked how far it is, ms. */
const lookMs = 100

/**
 * Fills table t; `onShare` hears how far it is, 0 to 1. Throws UserError for a file that is cut short or broken, and the signal's reason
 * when aborted.
 */
export async function readParquet(
  connection: DuckDBConnection,
  file: string,
  { signal, onShare }: { readonly signal?: AbortSignal; readonly onShare: (share: number) => void },
): Promise<ParquetTable> {
  signal?.throwIfAborted()
  const interrupt = (): void => connection.interrupt()
  signal?.addEventListener('abort', interrupt)
  const look = setInterval(() => onShare(Math.max(0, connection.progress.percentage) / 100), lookMs)
  try {
    await connection.run('SET enable_progress_bar = true; SET enable_progress_bar_print = false')
    await connection.run('SET progress_bar_time = 0')
    // older writers store text without saying that it is text
    return await fillTable(connection, file, true).catch(async () => {
      signal?.throwIfAborted()
      await connection.run('DROP TABLE IF EXISTS t')
      return fillTable(connection, file, false)
    })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    clearInterval(look)
    signal?.removeEventListener('abort', interrupt)
  }
}

async function fillTable(connection: DuckDBConnection, file: string, binaryIsText: boolean): Promise<ParquetTable> {
  try {
    const source = `read_parquet(${sqlText(file)}, binary_as_string = ${binaryIsText})`
    const shape = await connection.run(`SELECT * FROM ${source} LIMIT 0`)
    const types = shape.columnTypes()
    // DuckDB renames columns that differ by case only
    const names = await columnNames(connection, file, shape.columnNames())
    const aliases = types.map((_, i) => `p${i}`).join(', ')
    const casts = types.map((type, i) => `${asText(type, `p${i}`)} AS c${i}`).join(', ')
    await connection.run(`CREATE TABLE t AS SELECT ${casts} FROM ${source} AS s(${aliases})`)
    await connection.run('CHECKPOINT')
    const counts = types.flatMap((type, i) => [
      `count(*) - count(c${i})`,
      columnType(type) === 'text' ? `count(*) FILTER (trim(c${i}, ${sqlText(whiteSpace)}) = '')` : '0',
    ])
    const [[rows, ...counted]] = (
      await connection.runAndReadAll(`SELECT count(*), ${counts.join(', ')} FROM t`)
    ).getRows()
    return {
      rows: Number(rows),
      columns: names.map((name, i) => ({
        name,
        type: columnType(types[i]),
        nulls: Number(counted[2 * i]),
        blank: Number(counted[2 * i + 1]),
      })),
      binaryNumbers: new Set(types.flatMap((type, i) => (['DOUBLE', 'FLOAT'].includes(String(type)) ? [i] : []))),
    }
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    throw unreadable(file, `it is no whole parquet file (${reason.replace(/\.$/, '')})`, 'Get the file again.', error)
  }
}

/** A text as SQL writes it. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

async function columnNames(connection: DuckDBConnection, file: string, given: readonly string[]): Promise<string[]> {
  const rows = (
    await connection.runAndReadAll(`SELECT name, num_children FROM parquet_schema(${sqlText(file)})`)
  ).getRows()
  const names: string[] = []
  // the schema is a tree in depth-first order, its root first
  const skipTree = (at: number): number => {
    let next = at + 1
    for (let child = 0; child < Number(rows[at][1] ?? 0); child++) next = skipTree(next)
    return next
  }
  for (let at = 1; at < rows.length; at = skipTree(at)) names.push(String(rows[at][0]))
  return names.length === given.length && new Set(names).size === names.length ? names : [...given]
}

function asText(type: DuckDBType, column: string): string {
  switch (columnType(type)) {
    case 'list':
    case 'object':
      return `CAST(to_json(${column}) AS VARCHAR)`
    case 'number':
      // 1.0 and 1 are the same binary number
      return String(type).startsWith('DECIMAL')
        ? `CAST(${column} AS VARCHAR)`
        : `regexp_replace(CAST(${column} AS VARCHAR), '\\.0$', '')`
    default:
      return `CAST(${column} AS VARCHAR)`
  }
}

/** By DuckDB's name of the type: "BIGINT", "DECIMAL(10,2)", "STRUCT(...)", "VARCHAR[]". */
function columnType(type: DuckDBType): ColumnType {
  const name = String(type)
  if (name.endsWith(']')) return 'list'
  const [word] = name.split(/[ (]/)
  if (['STRUCT', 'MAP', 'UNION'].includes(word)) return 'object'
  if (['VARCHAR', 'JSON', 'ENUM', 'UUID'].includes(word)) return 'text'
  if (/^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(word)) return 'integer'
  if (['FLOAT', 'DOUBLE', 'DECIMAL'].includes(word)) return 'number'
  if (word === 'BOOLEAN') return 'boolean'
  if (['BLOB', 'BIT'].includes(word)) return 'binary'
  return word === 'NULL' || word === 'SQLNULL' || word === '"NULL"' ? 'null' : 'time'
}

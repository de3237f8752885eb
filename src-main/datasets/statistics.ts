/** What a column holds: counts, lengths or sizes with a histogram, and its most frequent values. */
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Column } from './types'

export interface Histogram {
  /** Of characters for text, of the values for numbers. */
  readonly of: 'length' | 'value'
  readonly least: number
  readonly most: number
  readonly mean: number
  readonly median: number
  /** Equal parts from least to most. */
  readonly counts: readonly number[]
}

export interface ColumnStatistics {
  readonly rows: number
  readonly nulls: number
  /** Exact up to about a thousand, then within some percent. */
  readonly distinct: number
  /** null where no row has a value. */
  readonly histogram: Histogram | null
  /** Up to ten, most frequent first; texts cut to 200 characters. Only where values repeat. */
  readonly frequent: readonly { readonly text: string; readonly count: number }[]
}

const parts = 20

/** `order`: a table of places; all rows without it. */
export async function columnStatistics(
  connection: DuckDBConnection,
  { type }: Column,
  column: number,
  order: string | undefined,
): Promise<ColumnStatistics> {
  const cell = `c${column}`
  const rows = order === undefined ? 't' : `(SELECT ${cell} FROM t WHERE rowid IN (SELECT place FROM ${order}))`
  const ofValue = type === 'integer' || type === 'number'
  const size = ofValue ? `TRY_CAST(${cell} AS DOUBLE)` : `length(${cell})::DOUBLE`
  const one = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()
  const [[count, values, distinct, least, most, mean, median]] = await one(
    `SELECT count(*), count(${cell}), approx_count_distinct(${cell}), min(s), max(s), avg(s), quantile_cont(s, 0.5)
     FROM (SELECT ${cell}, CASE WHEN isfinite(${size}) THEN ${size} END AS s FROM ${rows})`,
  )
  const lowest = Number(least)
  const highest = Number(most)
  const few = Number(distinct) <= 1000
  return {
    rows: Number(count),
    nulls: Number(count) - Number(values),
    distinct: few ? Number((await one(`SELECT count(DISTINCT ${cell}) FROM ${rows}`))[0][0]) : Number(distinct),
    histogram:
      least === null
        ? null
        : {
            of: ofValue ? 'value' : 'length',
            least: lowest,
            most: highest,
            mean: Number(mean),
            median: Number(median),
            counts: await histogram(one, rows, size, lowest, highest),
          },
    frequent: few
      ? (
          await one(
            `SELECT left(${cell}, 200), count(*) AS n FROM ${rows} WHERE ${cell} IS NOT NULL
             GROUP BY ${cell} HAVING n > 1 ORDER BY n DESC, ${cell} LIMIT 10`,
          )
        ).map(([text, n]) => ({ text: String(text), count: Number(n) }))
      : [],
  }
}

async function histogram(
  one: (sql: string) => Promise<unknown[][]>,
  rows: string,
  size: string,
  least: number,
  most: number,
): Promise<number[]> {
  const counts = new Array<number>(parts).fill(0)
  const width = (most - least) / parts
  const part = width === 0 ? '0' : `least(${parts - 1}, floor((s - ${least}) / ${width})::INTEGER)`
  const found = await one(
    `SELECT ${part} AS p, count(*) FROM (SELECT ${size} AS s FROM ${rows}) WHERE isfinite(s) GROUP BY p`,
  )
  for (const [p, n] of found) counts[Number(p)] = Number(n)
  return counts
}

/** Files for the tests of data sets, in a folder of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, expect } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import type { Dataset } from '../../../src-main/datasets/dataset'
import { openDataset, type OpenOptions } from '../../../src-main/datasets/open-dataset'

export const work = mkdtempSync(join(tmpdir(), 'data sets é '))
const opened: Dataset[] = []

afterAll(async () => {
  for (const dataset of opened) await dataset.close()
  rmSync(work, { recursive: true })
})

export function file(name: string, content: string | Uint8Array): string {
  const path = join(work, name)
  writeFileSync(path, content)
  return path
}

export async function open(path: string, options: OpenOptions = {}): Promise<Dataset> {
  const dataset = await openDataset(path, { cache: join(work, 'cache'), ...options })
  opened.push(dataset)
  return dataset
}

/** All rows as `npm run data -- rows` prints them. */
export async function printed(dataset: Dataset): Promise<string[]> {
  const rows = await dataset.rows(0, dataset.info.rows)
  return rows.map((row) => dataset.jsonLine(row, { exact: true }))
}

/** The cells of all rows. */
export async function cells(dataset: Dataset): Promise<(readonly (string | null)[])[]> {
  return (await dataset.rows(0, dataset.info.rows)).map((row) => row.cells)
}

/** The message of a file that is refused. */
export async function refusal(path: string, options: OpenOptions = {}): Promise<string> {
  const error = await open(path, options).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(UserError)
  return (error as UserError).message
}

/** A parquet file as DuckDB writes the query's result. */
export async function parquet(name: string, query: string): Promise<string> {
  const path = join(work, name)
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet)`)
  connection.closeSync()
  instance.closeSync()
  return path
}

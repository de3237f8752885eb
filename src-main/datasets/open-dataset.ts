/** Opens a data file as a data set that can be paged, ordered, searched and counted. */
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { explainingDiskErrors } from '../engine/formats/disk-errors'
import { Dataset } from './dataset'
import { detectFormat, type Encoding } from './detect-format'
import { readParquet } from './parquet-table'
import { ProblemList } from './problem-list'
import { IsJsonLines, type RowSource, sourceRows } from './row-source'
import { type Database, openDatabase } from './database'
import { mostColumns, TableWriter, TooManyColumns } from './table'
import type { Column, DataFormat } from './types'
import { unreadable } from './unreadable'

export interface OpenOptions {
  /** Of a JSON object: the field that holds the rows; default "data". */
  readonly field?: string
  /** Of a text file without a byte order mark; default: UTF-8, or UTF-16 where it looks so. */
  readonly encoding?: Encoding
  /** Folder for the table's file while the data set is open; default: the system's temporary folder. */
  readonly cache?: string
  /** Share of the file that is read, 0 to 1. */
  readonly onProgress?: (share: number) => void
  readonly signal?: AbortSignal
}

interface Filled {
  readonly format: DataFormat
  readonly rows: number
  readonly columns: readonly Column[]
  readonly binaryNumbers: ReadonlySet<number>
}

/** Throws UserError for a file that cannot be read or has no row, and the signal's reason when aborted. */
export async function openDataset(path: string, options: OpenOptions = {}): Promise<Dataset> {
  const file = resolve(path)
  const { field, signal, cache = join(tmpdir(), 'recursivemas-studio') } = options
  const detected = await detectFormat(file, options.encoding)
  if (field !== undefined && detected.format !== 'json' && detected.format !== 'jsonl')
    throw unreadable(file, `it is a ${detected.format} file, so it has no field "${field}"`, 'Leave the field out.')
  const problems = new ProblemList()
  if (detected.promised !== null)
    problems.add({
      kind: 'wrong-extension',
      message: `The name promises ${detected.promised}, but the file holds ${detected.format}; it is read as that.`,
    })
  const source: RowSource = {
    file,
    detected,
    field,
    problems,
    onBytes: (done) => options.onProgress?.(Math.min(1, done / detected.size)),
    signal,
  }
  return explainingDiskErrors({ folder: cache, doing: 'The data set could not be opened' }, async () => {
    const database = await openDatabase(cache)
    try {
      const filled = await fill(database, source)
      signal?.throwIfAborted()
      if (filled.rows === 0) throw noRows(file, problems)
      return new Dataset(database, { file, ...filled, problems: problems.all(), leftOut: problems.leftOut })
    } catch (error) {
      await database.close()
      throw error
    }
  })
}

async function fill({ connection }: Database, source: RowSource): Promise<Filled> {
  const { format } = source.detected
  if (format === 'parquet') {
    const onShare = (share: number): void => source.onBytes(share * source.detected.size)
    return { format, ...(await readParquet(connection, source.file, { signal: source.signal, onShare })) }
  }
  try {
    return await fillFromText({ connection }, source, format)
  } catch (error) {
    if (!(error instanceof IsJsonLines)) throw error
    await connection.run('DROP TABLE IF EXISTS t')
    source.problems.add({
      kind: 'wrong-extension',
      message: 'The name promises json, but the file holds one object a line (jsonl); it is read as that.',
    })
    return fillFromText({ connection }, source, 'jsonl')
  }
}

async function fillFromText(
  { connection }: Pick<Database, 'connection'>,
  source: RowSource,
  format: Exclude<DataFormat, 'parquet'>,
): Promise<Filled> {
  if (format === 'jsonl' && source.field !== undefined)
    throw unreadable(
      source.file,
      `it holds one row a line, so it has no field "${source.field}"`,
      'Leave the field out.',
    )
  const writer = new TableWriter(connection)
  try {
    for await (const rows of sourceRows(source, format)) await writer.append(rows)
    return { format, rows: writer.rows, columns: await writer.finish(source.problems), binaryNumbers: new Set() }
  } catch (error) {
    writer.abandon()
    if (error instanceof TooManyColumns)
      throw unreadable(
        source.file,
        `its rows have more than ${mostColumns} different columns`,
        'Choose data whose rows share their columns.',
      )
    throw error
  }
}

function noRows(file: string, problems: ProblemList) {
  const [first] = problems.all().filter(({ kind }) => kind !== 'wrong-extension')
  return problems.leftOut > 0
    ? unreadable(
        file,
        `none of its rows can be read (${first.message.replace(/(; it is left out)?\.$/, '')})`,
        'Correct the file.',
      )
    : unreadable(file, 'it has no rows', 'Choose a file with rows.')
}

/** `npm run data -- describe | rows FILE`: looks into a data file; what is wrong with it is part of the answer. */
import { UserError } from '../engine/errors'
import { codeOf } from '../engine/formats/disk-errors'
import type { Dataset } from '../datasets/dataset'
import type { Encoding } from '../datasets/detect-format'
import { openDataset } from '../datasets/open-dataset'
import { parseOrHelp, wholeNumber } from './options'
import { progressLine } from './progress-line'
import { UsageError } from './usage-error'

const usage = `npm run data -- describe FILE [--field F] [--encoding E]
npm run data -- rows FILE [--field F] [--encoding E] [--from N] [--count N]
  FILE        json (a list, or an object with a field of rows), jsonl, csv or parquet
  --field     the field of a JSON object that holds the rows; default: data
  --encoding  latin1, of a text file that is not Unicode
  --from      first row to print, from 0; default: 0
  --count     rows to print; default: all`

/** Rows that are read at a time. */
const pageRows = 1000

/** Returns the exit code. Throws UsageError. */
export async function runDataCommand(args: readonly string[]): Promise<number> {
  const parsed = parseOrHelp(
    args,
    {
      field: { type: 'string' },
      encoding: { type: 'string' },
      from: { type: 'string', default: '0' },
      count: { type: 'string' },
    },
    usage,
    true,
  )
  if (!parsed) return 0
  const { values, positionals } = parsed
  const [command, file, ...rest] = positionals
  if (command !== 'describe' && command !== 'rows')
    throw new UsageError(command === undefined ? 'Say what to do.' : `There is no "${command}".`, usage)
  if (file === undefined || rest.length > 0) throw new UsageError('Name one file.', usage)
  const from = wholeNumber('from', values.from, 0, usage)
  const count = values.count === undefined ? Infinity : wholeNumber('count', values.count, 0, usage)
  const encoding = checkedEncoding(values.encoding)
  const line = progressLine()
  let dataset: Dataset
  let shown = false
  try {
    dataset = await openDataset(file, {
      field: values.field,
      encoding,
      onProgress: (share) => {
        if (!process.stderr.isTTY) return
        shown = true
        line.show(`Reading ${Math.floor(100 * share)} %`)
      },
    })
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    process.stderr.write(`${oneSentence(error)}\n`)
    return 1
  } finally {
    if (shown) line.show('')
  }
  // told to the one who writes; without a listener it would end the program
  const ignore = (): void => undefined
  process.stdout.on('error', ignore)
  try {
    if (command === 'describe') await write(`${JSON.stringify(describe(dataset))}\n`)
    else await printRows(dataset, from, count)
    return 0
  } finally {
    process.stdout.off('error', ignore)
    await dataset.close()
  }
}

function describe({ info: { format, rows, columns, problems } }: Dataset) {
  return { format, rows, columns, problems }
}

async function printRows(dataset: Dataset, from: number, count: number): Promise<void> {
  const end = Math.min(dataset.info.rows, from + count)
  for (let at = from; at < end; at += pageRows) {
    const rows = await dataset.rows(at, Math.min(pageRows, end - at))
    const wanted = await write(rows.map((row) => `${dataset.jsonLine(row, { exact: true })}\n`).join(''))
    if (!wanted) return
  }
  const { leftOut } = dataset.info
  if (leftOut > 0) process.stderr.write(`${leftOut} rows of the file could not be read; "describe" lists them.\n`)
}

function checkedEncoding(text: string | undefined): Encoding | undefined {
  if (text === undefined || text === 'latin1') return text
  throw new UsageError(`--encoding takes latin1, not "${text}".`, usage)
}

/** Waits while the reader of the output is behind; false when it has gone (as `head` does), so that nothing more is wanted. */
function write(text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (!error) resolve(true)
      else if (codeOf(error) === 'EPIPE') resolve(false)
      else reject(error)
    })
  })
}

/** What, why and the next step in one sentence. */
function oneSentence({ what, why, next }: UserError): string {
  const bare = (text: string): string => text.trim().replace(/\.$/, '').replaceAll('\n', ' ')
  return `${bare(what)}: ${bare(why)} - ${bare(next)}.`
}

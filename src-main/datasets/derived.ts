/** New data sets made of rows of an open one: saved as JSON lines under a new name; nothing is changed in place. */
import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { UserError } from '../engine/errors'
import { writeFileWhole } from '../engine/formats/atomic-files'
import { TorchGenerator } from '../engine/nn/torch-generator'
import type { Dataset } from './dataset'
import type { RowOrder } from './row-order'

/** A column of the new set: where it comes from (a column's place) and what it is called. */
export interface MappedColumn {
  readonly from: number
  readonly name: string
}

export interface SaveOptions {
  /** Which rows, in which order; default: all, in the file's order. */
  readonly order?: RowOrder
  /** Default: every column under its own name. */
  readonly columns?: readonly MappedColumn[]
  /** Rows written. */
  readonly onProgress?: (rows: number) => void
  readonly signal?: AbortSignal
}

/** Lines that are written at a time. */
const linesAtATime = 2000

/**
 * Writes rows to a new .jsonl file, text and digits as they are in the source; null stands for what is missing. Returns their count.
 * Throws UserError where the name is taken or no row is left.
 */
export async function saveRows(dataset: Dataset, target: string, options: SaveOptions = {}): Promise<number> {
  const path = resolve(target)
  if (!path.toLowerCase().endsWith('.jsonl')) throw notSaved(`${path} does not end in ".jsonl"`, 'Add the ending.')
  if (await exists(path)) throw notSaved(`${path} exists already`, 'Choose a new name.')
  const columns = options.columns ?? dataset.info.columns.map(({ name }, from) => ({ from, name }))
  const twice = columns.find(({ name }, i) => columns.findIndex((other) => other.name === name) !== i)
  if (twice) throw notSaved(`two columns would be called "${twice.name}"`, 'Give each a name of its own.')
  if (options.order) {
    await options.order.finished
    if (options.order.state.found === 0) throw notSaved('no row is left', 'Filter less.')
  }
  let rows = 0
  await writeFileWhole(
    path,
    lines(dataset, columns, options, () => ++rows),
  )
  return rows
}

export interface Split {
  readonly train: number
  readonly heldOut: number
}

/**
 * Draws `heldOut` rows by `seed` and saves them, and all others, as two new files, each in the source's order. The same seed and
 * number of rows draw the same places everywhere. Throws UserError.
 */
export async function saveSplit(
  dataset: Dataset,
  targets: { readonly train: string; readonly heldOut: string },
  { seed, heldOut, ...options }: { seed: number; heldOut: number } & Omit<SaveOptions, 'order'>,
): Promise<Split> {
  const { rows } = dataset.info
  if (!Number.isInteger(heldOut) || heldOut < 1 || heldOut >= rows)
    throw notSaved(`${heldOut} of ${rows} rows cannot be held out`, `Hold out at least 1 and at most ${rows - 1} rows.`)
  if (resolve(targets.train) === resolve(targets.heldOut))
    throw notSaved('both parts have the same name', 'Name two files.')
  if (await exists(resolve(targets.heldOut)))
    throw notSaved(`${resolve(targets.heldOut)} exists already`, 'Choose a new name.')
  const drawn = new TorchGenerator(seed).permutation(rows).subarray(0, heldOut).sort()
  const held = new Set(drawn)
  const rest = Int32Array.from({ length: rows - heldOut })
  for (let place = 0, at = 0; place < rows; place++) if (!held.has(place)) rest[at++] = place
  const save = async (places: Int32Array, target: string): Promise<number> => {
    const order = await dataset.orderOf(places)
    try {
      return await saveRows(dataset, target, { ...options, order })
    } finally {
      await order.close()
    }
  }
  return { train: await save(rest, targets.train), heldOut: await save(drawn, targets.heldOut) }
}

async function* lines(
  dataset: Dataset,
  columns: readonly MappedColumn[],
  { order, onProgress, signal }: SaveOptions,
  count: () => number,
): AsyncGenerator<string> {
  const names = columns.map(({ name }) => JSON.stringify(name))
  for await (const rows of dataset.scan(
    columns.map(({ from }) => from),
    order,
  )) {
    for (let at = 0; at < rows.length; at += linesAtATime) {
      signal?.throwIfAborted()
      let written = 0
      const text = rows.slice(at, at + linesAtATime).map((cells) => {
        written = count()
        const parts = columns.map(({ from }, i) => `${names[i]}:${dataset.jsonValue(from, cells[i], false)}`)
        return `{${parts.join(',')}}\n`
      })
      yield text.join('')
      onProgress?.(written)
    }
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function notSaved(why: string, next: string): UserError {
  return new UserError({
    what: 'The new data set was not saved.',
    why: `${why[0].toUpperCase()}${why.slice(1)}.`,
    next,
  })
}

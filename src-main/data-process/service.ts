/** What the data process does for main. Every operation takes one object and answers with plain data. */
import type {
  ColumnStatistics,
  DataRow,
  FieldMapping,
  MappingReport,
  OpenedDataset,
  PromptPreview,
  RowOrderRequest,
  RowOrderState,
  TextEncoding,
  TokenLengths,
} from '../bridge/contract'
import type { Dataset } from '../datasets/dataset'
import { type MappedColumn, saveRows, saveSplit } from '../datasets/derived'
import { convertHere } from '../datasets/job-data'
import { openDataset } from '../datasets/open-dataset'
import { UserError } from '../engine/errors'
import { check, type CheckParams } from './check'
import type { OpenSets } from './open-sets'
import { preview, type PreviewParams } from './preview'
import { type LengthParams, tokenLengths } from './token-lengths'

export interface Call {
  readonly signal: AbortSignal
  /** `share`: 0 to 1; null where only `done` is known. */
  progress(share: number | null, done: number, unit: string): void
}

/** One row as a page takes it: characters of a cell at most. */
const wholeCell = 1_000_000

interface OfRows {
  readonly handle: string
  /** null: every row, in the file's order. */
  readonly order: string | null
}

export type OpenedFile = Omit<OpenedDataset, 'id' | 'file'>

export interface DataService {
  open(params: { file: string; field: string | null; encoding: TextEncoding | null }, call: Call): Promise<OpenedFile>
  close(params: { handle: string }): Promise<void>
  order(params: { handle: string; by: RowOrderRequest }): Promise<RowOrderState>
  closeOrder(params: { handle: string; order: string }): Promise<void>
  rows(params: OfRows & { from: number; count: number; clip: number }): Promise<DataRow[]>
  row(params: { handle: string; place: number }): Promise<DataRow>
  statistics(params: OfRows & { column: number }): Promise<ColumnStatistics>
  check(params: CheckParams, call: Call): Promise<MappingReport>
  preview(params: PreviewParams): Promise<PromptPreview>
  tokenLengths(params: LengthParams, call: Call): Promise<TokenLengths[]>
  /** For a run that cannot read the file itself. */
  convert(params: { file: string; field: string | null; target: string }): Promise<void>
  /** Returns the rows written. */
  save(params: OfRows & { mapping: FieldMapping; target: string }, call: Call): Promise<number>
  split(
    params: { handle: string; mapping: FieldMapping; train: string; heldOut: string; seed: number; held: number },
    call: Call,
  ): Promise<{ train: number; heldOut: number }>
}

export function makeService(sets: OpenSets): DataService {
  return {
    async open({ file, field, encoding }, { signal, progress }) {
      const dataset = await openDataset(file, {
        field: field ?? undefined,
        encoding: encoding ?? undefined,
        signal,
        onProgress: (share) => progress(share, share, 'of the file'),
      })
      const set = sets.add(dataset, field ?? undefined, encoding ?? undefined)
      return { handle: set.handle, ...opened(dataset) }
    },
    close: ({ handle }) => sets.close(handle),
    order: ({ handle, by }) => {
      const set = sets.get(handle)
      checkColumns(set.dataset, by)
      const { filter, search, sort } = by
      return sets.addOrder(set, (signal) => set.dataset.order({ filter, search: search ?? undefined, sort }, signal))
    },
    closeOrder: ({ handle, order }) => sets.closeOrder(sets.get(handle), order),
    rows: async ({ handle, order, from, count, clip }) => {
      const set = sets.get(handle)
      const found = await (sets.order(set, order) ?? set.dataset).rows(from, count, { clip })
      return found.map(plainRow)
    },
    row: async ({ handle, place }) => {
      const [row] = await sets.get(handle).dataset.rows(place, 1, { clip: wholeCell })
      if (!row) throw new RangeError(`there is no row at ${place}`)
      return plainRow(row)
    },
    statistics: async ({ handle, order, column }) => {
      const set = sets.get(handle)
      checkColumn(set.dataset, column)
      const { frequent, histogram, ...counts } = await set.dataset.statistics(column, sets.order(set, order))
      return {
        ...counts,
        histogram: histogram && { ...histogram, counts: [...histogram.counts] },
        frequent: [...frequent],
      }
    },
    check: (params, call) => check(sets, params, call),
    preview: (params) => preview(sets, params),
    tokenLengths: (params, call) => tokenLengths(sets, params, call),
    convert: ({ file, field, target }) => convertHere(file, field ?? undefined, target),
    save: async ({ handle, order, mapping, target }, { signal, progress }) => {
      const set = sets.get(handle)
      const rows = sets.order(set, order)
      await rows?.finished
      const total = rows?.state.found ?? set.dataset.info.rows
      return saveRows(set.dataset, target, {
        order: rows,
        columns: savedColumns(set.dataset, mapping),
        onProgress: (done) => progress(done / total, done, 'rows'),
        signal,
      })
    },
    split: ({ handle, mapping, train, heldOut, seed, held }, { signal, progress }) => {
      const { dataset } = sets.get(handle)
      const { rows } = dataset.info
      let before = 0
      let last = 0
      return saveSplit(
        dataset,
        { train, heldOut },
        {
          ...{ seed, heldOut: held, signal, columns: savedColumns(dataset, mapping) },
          // counted anew for each of the two files
          onProgress: (done) => {
            if (done < last) before += last
            last = done
            progress((before + done) / rows, before + done, 'rows')
          },
        },
      )
    },
  }
}

/** Every column, those that fields are mapped from called after the fields; a field goes before a column of its name. */
function savedColumns({ info }: Dataset, mapping: FieldMapping): MappedColumn[] {
  const place = (name: string): number => {
    const from = info.columns.findIndex((column) => column.name === name)
    if (from >= 0) return from
    throw new UserError({
      what: 'The new data set was not saved.',
      why: `There is no column "${name}".`,
      next: 'Correct the mapping of the columns.',
    })
  }
  const fields = Object.entries(mapping).map(([name, column]) => ({ from: place(column), name }))
  const taken = new Set(fields.flatMap(({ from, name }) => [`column ${from}`, `name ${name}`]))
  const others = info.columns.flatMap(({ name }, from) =>
    taken.has(`column ${from}`) || taken.has(`name ${name}`) ? [] : [{ from, name }],
  )
  return [...fields, ...others].sort((a, b) => a.from - b.from)
}

function opened({ info }: Dataset): Omit<OpenedFile, 'handle'> {
  return {
    format: info.format,
    rows: info.rows,
    columns: info.columns.map(({ name, type, nulls, blank }) => ({ name, type, nulls, blank })),
    problems: info.problems.map(({ kind, row, line, message }) => ({
      kind,
      row: row ?? null,
      line: line ?? null,
      message,
    })),
    leftOut: info.leftOut,
  }
}

function plainRow({
  place,
  cells,
  cut,
}: {
  place: number
  cells: readonly (string | null)[]
  cut: readonly number[]
}): DataRow {
  return { place, cells: [...cells], cut: [...cut] }
}

function checkColumn({ info }: Dataset, column: number): void {
  if (column >= info.columns.length) throw new RangeError(`there is no column ${column}`)
}

function checkColumns(dataset: Dataset, { filter = [], sort = [] }: RowOrderRequest): void {
  for (const { column } of [...filter, ...sort]) checkColumn(dataset, column)
}

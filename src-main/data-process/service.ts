/** What the data process does for main. Every operation takes one object and answers with plain data. */
import type {
  ColumnStatistics,
  DataRow,
  OpenedDataset,
  RowOrderRequest,
  RowOrderState,
  TextEncoding,
} from '../bridge/contract'
import type { Dataset } from '../datasets/dataset'
import { openDataset } from '../datasets/open-dataset'
import type { OpenSets } from './open-sets'

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
      const set = sets.add(dataset, field ?? undefined)
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
  }
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

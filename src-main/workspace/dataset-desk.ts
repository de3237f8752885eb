/**
 * Data sets at work: the library, and the process that reads them. Knows which file each handle stands for; what the process held is
 * void when it ends.
 */
import type {
  CheckedParams,
  ColumnView,
  ColumnStatistics,
  DataRow,
  OpenedDataset,
  RowOrderState,
} from '../bridge/contract'
import type { Send } from '../bridge/publish'
import { DataProcess } from '../data-process/client'
import type { ToData } from '../data-process/messages'
import type { Spawn } from '../jobs/child'
import { DatasetLibrary } from './dataset-library'
import { orderInWords } from './order-words'
import type { Places } from './places'
import type { ProjectStore } from './project-store'

export interface DeskOptions {
  readonly places: Places
  readonly projects: ProjectStore
  readonly spawn: Spawn<ToData>
  readonly send: Send
  /** What the process wrote on its outputs. */
  readonly onOutput: (text: string) => void
}

interface OpenFile {
  readonly id: string
  readonly file: string
  readonly columns: readonly ColumnView[]
  /** Orders in words. */
  readonly orders: Map<string, string>
}

export class DatasetDesk {
  readonly library: DatasetLibrary
  private readonly process: DataProcess
  private readonly opened = new Map<string, OpenFile>()

  constructor({ places, projects, spawn, send, onOutput }: DeskOptions) {
    this.library = new DatasetLibrary(places, projects)
    this.process = new DataProcess(spawn, {
      progress: (progress) => send('datasets/progress', progress),
      order: (state) => send('datasets/order', state),
      output: onOutput,
      lost: (error) => {
        this.opened.clear()
        send('datasets/lost', { error })
      },
    })
  }

  /** The process that reads data; undefined while there is none. */
  get pid(): number | undefined {
    return this.process.pid
  }

  async open({ id, file, field, encoding, ticket }: CheckedParams<'datasets/open'>): Promise<OpenedDataset> {
    const found = await this.library.file(id, file)
    const opened = await this.process.call('open', { file: found.path, field, encoding }, ticket)
    this.opened.set(opened.handle, { id, file: found.file, columns: opened.columns, orders: new Map() })
    return { ...opened, id, file: found.file }
  }

  async close(handle: string): Promise<void> {
    if (this.opened.delete(handle)) await this.process.call('close', { handle })
  }

  cancel(ticket: string): void {
    this.process.cancel(ticket)
  }

  async order({ handle, by }: CheckedParams<'datasets/order'>): Promise<RowOrderState> {
    const state = await this.process.call('order', { handle, by })
    const open = this.opened.get(handle)
    open?.orders.set(state.order, orderInWords(by, open.columns))
    return state
  }

  async closeOrder({ handle, order }: CheckedParams<'datasets/closeOrder'>): Promise<void> {
    if (this.opened.get(handle)?.orders.delete(order)) await this.process.call('closeOrder', { handle, order })
  }

  rows(params: CheckedParams<'datasets/rows'>): Promise<DataRow[]> {
    return this.process.call('rows', params)
  }

  row(params: CheckedParams<'datasets/row'>): Promise<DataRow> {
    return this.process.call('row', params)
  }

  statistics(params: CheckedParams<'datasets/statistics'>): Promise<ColumnStatistics> {
    return this.process.call('statistics', params)
  }

  /** Ends the process. */
  stop(): void {
    this.opened.clear()
    this.process.stop()
  }
}

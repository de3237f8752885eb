/**
 * Data sets at work: the library, and the process that reads them. Knows which file each handle stands for; what the process held is
 * void when it ends.
 */
import { randomBytes } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type {
  CheckedParams,
  ColumnStatistics,
  ColumnView,
  DataRow,
  DatasetEntry,
  FieldMapping,
  MappingReport,
  OpenedDataset,
  PromptPreview,
  RowOrderState,
  TokenLengths,
} from '../bridge/contract'
import type { Send } from '../bridge/publish'
import { DataProcess } from '../data-process/client'
import type { ToData } from '../data-process/messages'
import { UserError } from '../engine/errors'
import { explainingDiskErrors } from '../engine/formats/disk-errors'
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
  /** The folder of a model of the library. Throws UserError where it cannot be used. */
  readonly modelFolder: (id: string) => Promise<string>
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

  constructor(private readonly options: DeskOptions) {
    const { places, projects, spawn, send, onOutput } = options
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
    try {
      const opened = await this.process.call('open', { file: found.path, field, encoding }, ticket)
      this.opened.set(opened.handle, { id, file: found.file, columns: opened.columns, orders: new Map() })
      return { ...opened, id, file: found.file }
    } finally {
      this.restIfUnused()
    }
  }

  async close(handle: string): Promise<void> {
    if (this.opened.delete(handle)) await this.process.call('close', { handle })
    this.restIfUnused()
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

  /** What a run of this kind would make of the rows. */
  async check({ handle, ticket, role, ...prompt }: CheckedParams<'datasets/check'>): Promise<MappingReport> {
    const report = await this.process.call('check', { ...(await this.named(prompt)), handle, role }, ticket)
    const open = this.opened.get(handle)
    for (const { kind, field, order } of report.problems)
      if (order !== null)
        open?.orders.set(order, `rows with the problem "${kind}"${field === null ? '' : ` in ${field}`}`)
    return report
  }

  async preview({ handle, place, role, round, ...prompt }: CheckedParams<'datasets/preview'>): Promise<PromptPreview> {
    return this.process.call('preview', { ...(await this.named(prompt)), handle, place, role, round })
  }

  async tokenLengths(params: CheckedParams<'datasets/tokenLengths'>): Promise<TokenLengths[]> {
    const { handle, order, role, ticket, ...prompt } = params
    return this.process.call('tokenLengths', { ...(await this.named(prompt)), handle, order, role }, ticket)
  }

  /** Rows as a new set of the library. Throws UserError. */
  save({ handle, order, mapping, name, ticket }: CheckedParams<'datasets/save'>): Promise<DatasetEntry> {
    const rows = (order !== null && this.opened.get(handle)?.orders.get(order)) || 'all rows'
    return this.library.create(name, this.origin(handle, rows, mapping), async (folder) => {
      await this.process.call('save', { handle, order, mapping, target: path.join(folder, 'rows.jsonl') }, ticket)
    })
  }

  /** The rows in two parts as a new set of the library. Throws UserError. */
  split({ handle, mapping, name, seed, heldOut, ticket }: CheckedParams<'datasets/split'>): Promise<DatasetEntry> {
    const how = `${heldOut} rows held out by the seed ${seed}`
    return this.library.create(name, this.origin(handle, how, mapping), async (folder) => {
      const target = (part: string) => path.join(folder, `${part}.jsonl`)
      const files = { train: target('train'), heldOut: target('held-out') }
      await this.process.call('split', { handle, mapping, ...files, seed, held: heldOut }, ticket)
    })
  }

  /** Writes rows to a file, which is replaced when all are written; returns their number. Throws UserError. */
  async export({ handle, order, ticket }: CheckedParams<'datasets/export'>, file: string): Promise<number> {
    const folder = path.dirname(file)
    const temporary = path.join(folder, `.incomplete-${randomBytes(6).toString('hex')}.jsonl`)
    try {
      const rows = await this.process.call('save', { handle, order, mapping: {}, target: temporary }, ticket)
      const doing = `${path.basename(file)} could not be written`
      await explainingDiskErrors({ folder, doing }, () => rename(temporary, file))
      return rows
    } finally {
      await rm(temporary, { force: true })
    }
  }

  /** Writes the rows of a file as JSON lines, for a run. Throws UserError. */
  convert(file: string, field: string | undefined, target: string): Promise<void> {
    return this.process.call('convert', { file, field: field ?? null, target }).finally(() => this.restIfUnused())
  }

  /** Ends the process. */
  stop(): void {
    this.opened.clear()
    this.process.stop()
  }

  private restIfUnused(): void {
    const needed = () => this.opened.size > 0
    if (!needed()) this.process.rest(needed)
  }

  /** Where a new set comes from. Throws UserError where the set is not open. */
  private origin(handle: string, rows: string, mapping: FieldMapping): { from: string; how: string } {
    const open = this.opened.get(handle)
    if (!open)
      throw new UserError({
        what: 'The new data set was not saved.',
        why: 'The one that it is made of is not open any more.',
        next: 'Open it again.',
      })
    const renamed = Object.entries(mapping).map(([field, column]) => `${field} from "${column}"`)
    const file = open.id.endsWith(`/${open.file}`) ? '' : ` (${open.file})`
    return { from: `${open.id}${file}`, how: [rows, ...renamed].join('; ') }
  }

  /** Names of the workspace as folders and files. Throws UserError. */
  private async named<P extends { readonly model: string | null; readonly pack: string | null }>(
    prompt: P,
  ): Promise<P> {
    const { model, pack } = prompt
    return {
      ...prompt,
      model: model === null ? null : await this.options.modelFolder(model),
      pack: pack === null ? null : await this.packOf(pack),
    }
  }

  /** The prompt pack that a project's steps are asked with; null: the built-in one. */
  async packOf(name: string): Promise<string | null> {
    const { pipeline } = await this.options.projects.get(name)
    const pack = pipeline.steps.map(({ spec }) => spec.promptPack).find((file) => typeof file === 'string')
    return pack === undefined ? null : path.resolve(this.options.places.assets(name), pack)
  }
}

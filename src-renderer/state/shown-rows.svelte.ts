/** The rows of an open set that a table shows: all of them, or those of an order (filtered, searched, sorted). */
import type {
  DataRow,
  OpenedDataset,
  RowOrderRequest,
  RowOrderState,
  StudioError,
} from '../../src-main/bridge/contract'
import { isPlain, plainOrder } from '../lib/row-conditions'
import { RowPages } from '../lib/row-pages'
import { asError, ask, listen } from './bridge'

/** Rows that something else has found: those with a certain problem. */
export interface FoundRows {
  readonly order: string
  readonly title: string
  readonly rows: number
}

export class ShownRows {
  #request = $state.raw<RowOrderRequest>(plainOrder)
  #order = $state.raw<RowOrderState | undefined>()
  #found = $state.raw<FoundRows | undefined>()
  #asking = $state(false)
  #error = $state.raw<StudioError | undefined>()
  /** Grows whenever rows have come. */
  #version = $state(0)
  #pages: RowPages<DataRow>
  #turn = 0
  readonly #stop: () => void

  constructor(readonly opened: OpenedDataset) {
    this.#pages = this.#makePages(null)
    this.#stop = listen('datasets/order', (state) => {
      if (state.order === this.#order?.order) this.#order = state
    })
  }

  /** What is filtered, searched and sorted by, as the person asked for it. */
  get request(): RowOrderRequest {
    return this.#request
  }

  get found(): FoundRows | undefined {
    return this.#found
  }

  /** null: all rows in the file's order. */
  get orderHandle(): string | null {
    return this.#found?.order ?? this.#order?.order ?? null
  }

  /** Rows that can be shown now. */
  get total(): number {
    return this.#found?.rows ?? this.#order?.found ?? this.opened.rows
  }

  /** An order is being computed. */
  get busy(): boolean {
    return this.#asking || (this.#order !== undefined && !this.#order.finished)
  }

  /** How far the order is: rows looked at, of how many. */
  get progress(): { done: number; of: number } | undefined {
    return this.#order && !this.#asking ? { done: this.#order.done, of: this.#order.of } : undefined
  }

  get error(): StudioError | undefined {
    return this.#error ?? this.#order?.error ?? undefined
  }

  dismiss(): void {
    this.#error = undefined
  }

  row(place: number): DataRow | undefined {
    void this.#version
    return this.#pages.row(place)
  }

  /** Rows [from, to) are in sight. */
  want(from: number, to: number): void {
    this.#pages.want(from, to, this.total)
  }

  /** Filters, searches and sorts anew; the rows that are shown stay until the first of the new ones can be had. */
  async apply(change: Partial<RowOrderRequest>): Promise<void> {
    const turn = ++this.#turn
    const request = { ...this.#request, ...change }
    this.#request = request
    this.#error = undefined
    if (isPlain(request)) {
      this.#asking = false
      this.#take(undefined)
      return
    }
    this.#asking = true
    try {
      const order = await ask('datasets/order', { handle: this.opened.handle, by: plainCopy(request) })
      if (turn === this.#turn) this.#take(order)
      else this.#closeOrder(order.order)
    } catch (thrown) {
      if (turn === this.#turn) this.#error = asError(thrown)
    } finally {
      if (turn === this.#turn) this.#asking = false
    }
  }

  /** Ends what is being computed; all rows are shown again in the file's order. */
  cancel(): void {
    void this.apply(plainOrder)
  }

  /** Shows rows that something else found; undefined: what was shown before. */
  show(found: FoundRows | undefined): void {
    this.#found = found
    this.#renew(found?.order ?? this.#order?.order ?? null)
  }

  close(): void {
    this.#turn += 1
    this.#stop()
    this.#pages.drop()
  }

  #take(order: RowOrderState | undefined): void {
    const before = this.#order
    this.#order = order
    this.#found = undefined
    this.#renew(order?.order ?? null)
    if (before) this.#closeOrder(before.order)
  }

  #renew(order: string | null): void {
    this.#pages.drop()
    this.#pages = this.#makePages(order)
    this.#version += 1
  }

  #makePages(order: string | null): RowPages<DataRow> {
    const { handle } = this.opened
    // A page of a set with many columns is no more cells than one of a set with few.
    const size = Math.max(20, Math.min(100, Math.floor(3000 / Math.max(1, this.opened.columns.length))))
    return new RowPages<DataRow>(
      {
        fetch: async (from, count) => (await ask('datasets/rows', { handle, order, from, count })).rows,
        changed: () => (this.#version += 1),
        failed: (thrown) => (this.#error = asError(thrown)),
      },
      size,
    )
  }

  #closeOrder(order: string): void {
    // The process that held it may have ended; then there is nothing to close.
    ask('datasets/closeOrder', { handle: this.opened.handle, order }).catch(() => undefined)
  }
}

function plainCopy(request: RowOrderRequest): RowOrderRequest {
  return JSON.parse(JSON.stringify(request)) as RowOrderRequest
}

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
  /** Orders that something else made and needs no more, while they are still shown. */
  #leftOver = new Set<string>()
  readonly #stop: () => void

  /** `request`: what is filtered, searched and sorted by from the start. */
  constructor(
    readonly opened: OpenedDataset,
    request: RowOrderRequest = plainOrder,
    private readonly changed: (request: RowOrderRequest) => void = () => undefined,
  ) {
    this.#pages = this.#makePages(null)
    this.#stop = listen('datasets/order', (state) => {
      if (state.order === this.#order?.order) this.#order = state
    })
    if (!isPlain(request)) void this.apply(request)
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

  /** The rows that are shown are still being looked for. */
  get busy(): boolean {
    return !this.#found && (this.#asking || (this.#order !== undefined && !this.#order.finished))
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
    const foundBefore = this.#found
    const request = { ...this.#request, ...change }
    this.#request = request
    this.changed(request)
    this.#error = undefined
    if (isPlain(request)) {
      this.#asking = false
      this.#take(undefined, foundBefore)
      return
    }
    this.#asking = true
    try {
      const order = await ask('datasets/order', { handle: this.opened.handle, by: plainCopy(request) })
      if (turn === this.#turn) this.#take(order, foundBefore)
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
    this.#setFound(found)
    this.#renew()
  }

  /** Whoever found these rows needs them no more; while they are shown they stay. */
  release(order: string): void {
    if (this.#found?.order === order) this.#leftOver.add(order)
    else this.#closeOrder(order)
  }

  close(): void {
    this.#turn += 1
    this.#stop()
    this.#pages.drop()
  }

  /** Rows found elsewhere that were asked for after it stay in sight. */
  #take(order: RowOrderState | undefined, foundBefore: FoundRows | undefined): void {
    const before = this.#order
    this.#order = order
    if (this.#found === foundBefore) this.#setFound(undefined)
    this.#renew()
    if (before) this.#closeOrder(before.order)
  }

  #setFound(found: FoundRows | undefined): void {
    const before = this.#found?.order
    this.#found = found
    if (before !== undefined && before !== found?.order && this.#leftOver.delete(before)) this.#closeOrder(before)
  }

  #renew(): void {
    this.#pages.drop()
    this.#pages = this.#makePages(this.orderHandle)
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

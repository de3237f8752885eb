/** The data sets that are open, and the orders of their rows, by the handles that the page knows them by. */
import type { RowOrderState, StudioError } from '../bridge/contract'
import { errorForPage } from '../bridge/serve'
import type { Dataset } from '../datasets/dataset'
import type { Encoding } from '../datasets/detect-format'
import type { RowOrder } from '../datasets/row-order'
import { UserError } from '../engine/errors'
import { Pace } from './pace'
import type { RunRows } from './raw-rows'

export interface OpenSet {
  readonly handle: string
  readonly dataset: Dataset
  /** Of a JSON object: the field that holds the rows. */
  readonly field: string | undefined
  /** As the person said. */
  readonly encoding: Encoding | undefined
  readonly orders: Map<string, OpenOrder>
  /** How a run would come by the rows; found out once. */
  runRows?: Promise<RunRows>
}

interface OpenOrder {
  readonly order: RowOrder
  readonly stop: AbortController
}

/** Milliseconds between looks at an order that is being computed. */
const lookEvery = 100
/** What is found in so many milliseconds is told with the answer. */
const patience = 40

export class OpenSets {
  private readonly sets = new Map<string, OpenSet>()
  private next: number

  constructor(private readonly options: { firstHandle: number; onOrder: (state: RowOrderState) => void }) {
    this.next = options.firstHandle
  }

  add(dataset: Dataset, field: string | undefined, encoding: Encoding | undefined): OpenSet {
    const set: OpenSet = { handle: `d${this.next++}`, dataset, field, encoding, orders: new Map() }
    this.sets.set(set.handle, set)
    return set
  }

  /** Throws UserError where it is not open. */
  get(handle: string): OpenSet {
    const set = this.sets.get(handle)
    if (set) return set
    throw new UserError({
      what: 'The data set is not open any more.',
      why: 'It was closed, or the process that reads data ended.',
      next: 'Open it again.',
    })
  }

  async close(handle: string): Promise<void> {
    const set = this.sets.get(handle)
    if (!set) return
    this.sets.delete(handle)
    for (const { stop } of set.orders.values()) stop.abort(orderClosed())
    for (const { order } of set.orders.values()) await order.finished.catch(() => undefined)
    await set.dataset.close()
  }

  /** null: every row, in the file's order. Throws UserError. */
  order(set: OpenSet, handle: string | null): RowOrder | undefined {
    if (handle === null) return undefined
    const open = set.orders.get(handle)
    if (open) return open.order
    throw orderClosed()
  }

  /** An order of rows at known places; null where there are none. */
  async addPlaces(set: OpenSet, places: readonly number[]): Promise<string | null> {
    if (places.length === 0) return null
    return (await this.addOrder(set, () => set.dataset.orderOf(Int32Array.from(places)))).order
  }

  async closeOrder(set: OpenSet, handle: string): Promise<void> {
    const open = set.orders.get(handle)
    if (!open) return
    set.orders.delete(handle)
    open.stop.abort(orderClosed())
    await open.order.close()
  }

  /** Starts an order; tells how it goes on until it is finished. */
  async addOrder(set: OpenSet, start: (signal: AbortSignal) => Promise<RowOrder>): Promise<RowOrderState> {
    const stop = new AbortController()
    const order = await start(stop.signal)
    const handle = `o${this.next++}`
    set.orders.set(handle, { order, stop })
    let ended = false
    let error: StudioError | null = null
    const finished = order.finished
      .catch((cause: unknown) => {
        error = errorForPage(cause)
      })
      .then(() => (ended = true))
    const state = (): RowOrderState => ({
      handle: set.handle,
      order: handle,
      ...order.state,
      finished: ended,
      error,
    })
    await Promise.race([finished, new Promise((resolve) => setTimeout(resolve, patience))])
    if (!ended) void this.tell(state, finished, stop.signal)
    return state()
  }

  private async tell(state: () => RowOrderState, finished: Promise<unknown>, stopped: AbortSignal): Promise<void> {
    const pace = new Pace<RowOrderState>(this.options.onOrder)
    const looking = setInterval(() => pace.next(state()), lookEvery)
    await finished
    clearInterval(looking)
    if (stopped.aborted) pace.stop()
    else pace.last(state())
  }
}

function orderClosed(): UserError {
  return new UserError({
    what: 'These rows are not at hand any more.',
    why: 'Their filter, search or sort was closed.',
    next: 'Filter, search or sort again.',
  })
}

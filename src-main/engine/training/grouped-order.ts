/**
 * Batches whose rows share a value (the least rounds that a row needs). Each epoch takes the shuffled order of all rows and
 * fills one batch per value; whichever is full comes out. What does not fill a batch is left out of that epoch.
 */
import { UserError } from '../errors'
import type { TorchGenerator } from '../nn/torch-generator'
import { type Batch, type DataOrderState, epochOrder } from './data-order'

export interface GroupedOptions {
  /** The value of each row. */
  readonly values: readonly number[]
  readonly batchSize: number
  readonly generator: TorchGenerator
}

export class GroupedBatchOrder {
  private epoch = 0
  private position = 0
  private order: readonly number[] = []
  private batches: readonly (readonly number[])[] = []

  /** A UserError when no value has a batch's worth of rows. */
  constructor(private readonly options: GroupedOptions) {
    const counts = new Map<number, number>()
    for (const v of options.values) counts.set(v, (counts.get(v) ?? 0) + 1)
    const most = Math.max(0, ...counts.values())
    if (most < options.batchSize)
      throw new UserError({
        what: 'There are too few rows to train on.',
        why: `A batch needs ${options.batchSize} rows that need the same number of rounds, but there are at most ${most}.`,
        next: 'Give more data or choose a smaller batch size.',
      })
  }

  static resume(options: GroupedOptions, state: DataOrderState): GroupedBatchOrder {
    const order = new GroupedBatchOrder(options)
    if (state.order.length !== 0 && state.order.length !== options.values.length)
      throw new UserError({
        what: 'The run cannot be continued with this data.',
        why: `Its checkpoint was made on ${state.order.length} rows, but there are ${options.values.length} now.`,
        next: 'Restore the data set as it was, or start a new run.',
      })
    order.epoch = state.epoch
    order.position = state.position
    order.order = state.order
    order.batches = order.fill(state.order)
    return order
  }

  next(): Batch {
    if (this.position >= this.batches.length) {
      if (this.order.length > 0) this.epoch++
      this.order = [...epochOrder(this.options.generator, this.options.values.length)]
      this.batches = this.fill(this.order)
      this.position = 0
    }
    const rows = this.batches[this.position++]
    return { rows, epoch: this.epoch, lastOfEpoch: this.position === this.batches.length }
  }

  exportState(): DataOrderState {
    return { epoch: this.epoch, position: this.position, order: this.order }
  }

  private fill(order: readonly number[]): number[][] {
    const open = new Map<number, number[]>()
    const full: number[][] = []
    for (const row of order) {
      const value = this.options.values[row]
      const batch = open.get(value) ?? []
      batch.push(row)
      open.set(value, batch)
      if (batch.length < this.options.batchSize) continue
      full.push(batch)
      open.delete(value)
    }
    return full
  }
}

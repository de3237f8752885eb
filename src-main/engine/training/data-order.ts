/**
 * Which rows form which batch: torch's shuffled loader, drawn from the run's generator (method specification, training
 * 10), so that a run with the reference's seed sees the reference's batches. The order can be saved and continued.
 */
import { UserError } from '../errors'
import { TorchGenerator } from '../nn/torch-generator'

/** The order of one epoch. Draws what a torch loader draws at an epoch's start: its base seed (unused here), then the sampler's seed. */
export function epochOrder(generator: TorchGenerator, n: number): Int32Array {
  generator.nextInt63()
  return new TorchGenerator(Number(generator.nextInt63() & 0xffffffffn)).permutation(n)
}

export interface Batch {
  /** Row numbers, `batchSize` of them. */
  readonly rows: readonly number[]
  /** From 0. */
  readonly epoch: number
  /** No full batch is left in this epoch. */
  readonly lastOfEpoch: boolean
}

/** Plain data; with the generator's own state it continues an order exactly. */
export interface DataOrderState {
  readonly epoch: number
  /** Rows of this epoch already given out. */
  readonly position: number
  /** The epoch's order; empty before the first batch. */
  readonly order: readonly number[]
}

export interface BatchOrderOptions {
  /** How many rows there are. */
  readonly rows: number
  readonly batchSize: number
  /** Shared with whatever else draws from the run's generator; advanced at the start of every epoch. */
  readonly generator: TorchGenerator
}

/** Endless batches, epoch after epoch; rows that do not fill a batch at an epoch's end are left out of that epoch. */
export class BatchOrder {
  private epoch = 0
  private position = 0
  private order: Int32Array = new Int32Array(0)

  /** A UserError when there are fewer rows than a batch needs, as no batch would ever come. */
  constructor(private readonly options: BatchOrderOptions) {
    const { rows, batchSize } = options
    if (rows < batchSize)
      throw new UserError({
        what: 'There are too few rows to train on.',
        why: `A batch needs ${batchSize} rows, but only ${rows} can be used.`,
        next: 'Give more data or choose a smaller batch size.',
      })
  }

  /** Continues a saved order; the generator must be restored as well. */
  static resume(options: BatchOrderOptions, state: DataOrderState): BatchOrder {
    const order = new BatchOrder(options)
    if (state.order.length !== 0 && state.order.length !== options.rows)
      throw new UserError({
        what: 'The run cannot be continued with this data.',
        why: `Its checkpoint was made on ${state.order.length} rows, but there are ${options.rows} now.`,
        next: 'Restore the data set as it was, or start a new run.',
      })
    order.epoch = state.epoch
    order.position = state.position
    order.order = Int32Array.from(state.order)
    return order
  }

  next(): Batch {
    const { rows, batchSize, generator } = this.options
    if (this.order.length === 0) this.order = epochOrder(generator, rows)
    else if (this.position + batchSize > rows) {
      this.order = epochOrder(generator, rows)
      this.position = 0
      this.epoch++
    }
    const batch = [...this.order.subarray(this.position, this.position + batchSize)]
    this.position += batchSize
    return { rows: batch, epoch: this.epoch, lastOfEpoch: this.position + batchSize > rows }
  }

  exportState(): DataOrderState {
    return { epoch: this.epoch, position: this.position, order: [...this.order] }
  }
}

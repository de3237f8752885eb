import { describe, expect, it } from 'vitest'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { GroupedBatchOrder } from '../../../src-main/engine/training/grouped-order'

const values = Array.from({ length: 23 }, (_, i) => (i % 3) + 1)

describe('GroupedBatchOrder', () => {
  it('gives batches of one value, every row at most once an epoch, all full batches of each value', () => {
    const order = new GroupedBatchOrder({ values, batchSize: 3, generator: new TorchGenerator(1) })
    for (let epoch = 0; epoch < 3; epoch++) {
      const seen = new Set<number>()
      // 8, 8 and 7 rows: two batches of each value
      for (let b = 0; b < 6; b++) {
        const batch = order.next()
        expect(batch.epoch).toBe(epoch)
        expect(batch.lastOfEpoch).toBe(b === 5)
        expect(new Set(batch.rows.map((r) => values[r])).size).toBe(1)
        for (const r of batch.rows) {
          expect(seen.has(r)).toBe(false)
          seen.add(r)
        }
      }
    }
  })

  it('goes on exactly where it was saved', () => {
    const whole = new GroupedBatchOrder({ values, batchSize: 2, generator: new TorchGenerator(5) })
    const generator = new TorchGenerator(5)
    const half = new GroupedBatchOrder({ values, batchSize: 2, generator })
    for (let i = 0; i < 14; i++) {
      whole.next()
      half.next()
    }
    const saved = { state: half.exportState(), generator: generator.exportState() }
    const again = GroupedBatchOrder.resume(
      { values, batchSize: 2, generator: TorchGenerator.fromState(saved.generator) },
      saved.state,
    )
    for (let i = 0; i < 30; i++) expect(again.next()).toEqual(whole.next())
  })

  it('refuses data in which no batch can be filled, and a state of other data', () => {
    expect(() => new GroupedBatchOrder({ values: [1, 2, 3], batchSize: 2, generator: new TorchGenerator(1) })).toThrow(
      /same number of rounds/,
    )
    expect(() =>
      GroupedBatchOrder.resume(
        { values, batchSize: 2, generator: new TorchGenerator(1) },
        { epoch: 0, position: 0, order: [0, 1] },
      ),
    ).toThrow(/cannot be continued/)
  })
})

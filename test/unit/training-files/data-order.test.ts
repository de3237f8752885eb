/** Batches: every row once an epoch, tails left out, exact continuation. */
import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { BatchOrder, epochOrder } from '../../../src-main/engine/training/data-order'

describe('BatchOrder', () => {
  it('gives the torch orders batch by batch, with each epoch its own tail left out', () => {
    const order = new BatchOrder({ rows: 11, batchSize: 2, generator: new TorchGenerator(42) })
    const batches = Array.from({ length: 10 }, () => order.next())
    expect(batches.flatMap((b) => b.rows)).toEqual([5, 10, 8, 1, 0, 9, 2, 6, 3, 7, 5, 10, 4, 1, 3, 6, 0, 2, 9, 8])
    expect(batches.map((b) => b.epoch)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    expect(batches.map((b) => b.lastOfEpoch)).toEqual([
      false,
      false,
      false,
      false,
      true,
      false,
      false,
      false,
      false,
      true,
    ])
  })

  it.each([0, 1, 4, 5, 6, 13])('continues exactly after %i batches', (done) => {
    const generator = new TorchGenerator(7)
    const order = new BatchOrder({ rows: 11, batchSize: 2, generator })
    for (let i = 0; i < done; i++) order.next()
    const saved = JSON.parse(JSON.stringify({ order: order.exportState(), generator: generator.exportState() }))
    const expected = Array.from({ length: 12 }, () => order.next())
    const again = BatchOrder.resume(
      { rows: 11, batchSize: 2, generator: TorchGenerator.fromState(saved.generator) },
      saved.order,
    )
    expect(Array.from({ length: 12 }, () => again.next())).toEqual(expected)
  })

  it('refuses fewer rows than a batch, and a checkpoint made on other rows', () => {
    expect(() => new BatchOrder({ rows: 1, batchSize: 2, generator: new TorchGenerator(1) })).toThrow(UserError)
    const options = { rows: 11, batchSize: 2, generator: new TorchGenerator(1) }
    const order = new BatchOrder(options)
    order.next()
    expect(() => BatchOrder.resume({ ...options, rows: 12 }, order.exportState())).toThrow(
      'made on 11 rows, but there are 12',
    )
  })
})

it('a permutation is fixed by its seed', () => {
  const order = new TorchGenerator(5).permutation(1000)
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => i))
  expect(new TorchGenerator(5).permutation(1000)).toEqual(order)
  expect(new TorchGenerator(6).permutation(1000)).not.toEqual(order)
  expect([...epochOrder(new TorchGenerator(1), 1)]).toEqual([0])
})

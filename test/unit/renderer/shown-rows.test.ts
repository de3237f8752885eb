/** The rows that a table shows, where orders, and rows found by a check, come while others are on their way. */
import { beforeEach, expect, it, vi } from 'vitest'
import type { OpenedDataset, RowOrderState } from '../../../src-main/bridge/contract'
import { SetWork } from '../../../src-renderer/state/set-work.svelte'
import { ShownRows } from '../../../src-renderer/state/shown-rows.svelte'

vi.mock('svelte-sonner', () => ({ toast: () => undefined }))

interface Asked {
  readonly name: string
  readonly params: Record<string, unknown>
  readonly answer: (value: unknown) => Promise<void>
}

const opened: OpenedDataset = {
  handle: 'd1',
  id: 'library/set',
  file: 'rows.jsonl',
  format: 'jsonl',
  rows: 1000,
  columns: [{ name: 'n', type: 'integer', nulls: 0, blank: 0 }],
  problems: [],
  leftOut: 0,
}
let asked: Asked[]
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))
const closed = (): unknown[] =>
  asked.filter(({ name }) => name === 'datasets/closeOrder').map(({ params }) => params.order)
const last = (name: string): Asked => asked.findLast((each) => each.name === name)!
const order = (name: string, found: number, finished = true): RowOrderState => ({
  ...{ handle: 'd1', order: name, done: 1000, of: 1000, found, finished, error: null },
})
const sorted = { sort: [{ column: 0, descending: true }] }

beforeEach(() => {
  asked = []
  vi.stubGlobal('window', {
    studio: {
      request: (name: string, params: Record<string, unknown>) =>
        new Promise((resolve) =>
          asked.push({
            name,
            params,
            answer: (value) => {
              resolve({ ok: true, value })
              return settle()
            },
          }),
        ),
      on: () => () => undefined,
    },
  })
})

it('rows that were found stay in sight when an order that was waited for comes, and it stands behind them', async () => {
  const rows = new ShownRows(opened)
  void rows.apply(sorted)
  rows.show({ order: 'o7', title: 'blank', rows: 3 })
  expect([rows.busy, rows.total, rows.orderHandle]).toEqual([false, 3, 'o7'])
  await last('datasets/order').answer(order('o8', 1000))
  expect([rows.total, rows.orderHandle]).toEqual([3, 'o7'])
  rows.show(undefined)
  expect([rows.total, rows.orderHandle]).toEqual([1000, 'o8'])
  expect(closed()).toEqual([])
})

it('an order that is asked for while found rows are shown takes their place', async () => {
  const rows = new ShownRows(opened)
  rows.show({ order: 'o7', title: 'blank', rows: 3 })
  void rows.apply(sorted)
  await last('datasets/order').answer(order('o8', 1000))
  expect([rows.found, rows.orderHandle]).toEqual([undefined, 'o8'])
})

it('the orders of a check end with the next one, those that are shown when they are shown no more', async () => {
  const rows = new ShownRows(opened)
  const { check } = new SetWork(rows)
  const report = (...orders: string[]) => ({
    ...{ rows: 1000, usable: 990, columns: {} },
    problems: orders.map((each) => ({ kind: 'blank' as const, field: 'n', rows: 3, message: '', order: each })),
  })
  await check.run('one', () => Promise.resolve(report('o1', 'o2')))
  rows.show({ order: 'o2', title: 'blank', rows: 3 })
  expect(closed()).toEqual([])
  await check.run('two', () => Promise.resolve(report('o3')))
  expect(closed()).toEqual(['o1'])
  expect(check.outcome).toMatchObject({ asked: 'two' })
  rows.show(undefined)
  expect(closed()).toEqual(['o1', 'o2'])
})

it('what is being written is written before its set may be closed, and what is only counted is ended', async () => {
  const work = new SetWork(new ShownRows(opened))
  let write: () => void = () => undefined
  void work.save.run('new', () => new Promise((resolve) => (write = () => resolve({} as never))))
  void work.check.run('all', () => new Promise(() => undefined))
  let ended = false
  void work.end().then(() => (ended = true))
  await settle()
  expect(asked.map(({ name }) => name)).toEqual(['datasets/cancel'])
  expect(ended).toBe(false)
  write()
  await settle()
  expect(ended).toBe(true)
})

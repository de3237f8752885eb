/** Pages of rows: nothing is fetched twice, nothing that is out of sight again, and no page stays for ever. */
import { beforeEach, expect, it } from 'vitest'
import { RowPages } from '../../../src-renderer/lib/row-pages'

let asked: { from: number; count: number; answer: (rows?: number) => void; refuse: () => void }[]
let changes: number
let failures: number
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

function pages(most = 60): RowPages<number> {
  return new RowPages<number>(
    {
      fetch: (from, count) =>
        new Promise((resolve, reject) =>
          asked.push({
            from,
            count,
            answer: (rows = count) => resolve(Array.from({ length: rows }, (_, i) => from + i)),
            refuse: () => reject(new Error('no')),
          }),
        ),
      changed: () => (changes += 1),
      failed: () => (failures += 1),
    },
    10,
    most,
  )
}

beforeEach(() => {
  asked = []
  changes = 0
  failures = 0
})

it('rows in sight are fetched by whole pages, once', async () => {
  const rows = pages()
  rows.want(5, 18, 25)
  rows.want(6, 19, 25)
  expect(asked.map(({ from, count }) => [from, count])).toEqual([
    [0, 10],
    [10, 10],
  ])
  expect(rows.row(5)).toBeUndefined()
  for (const { answer } of asked) answer()
  await settle()
  expect([rows.row(5), rows.row(18), changes]).toEqual([5, 18, 2])
  rows.want(15, 25, 25)
  expect(asked.slice(2).map(({ from, count }) => [from, count])).toEqual([[20, 5]])
})

it('what a drag of the scroll bar passed by is never asked for', async () => {
  const rows = pages()
  rows.want(0, 20, 1_000_000)
  for (let at = 0; at < 900_000; at += 1000) rows.want(at, at + 20, 1_000_000)
  rows.want(900_000, 900_020, 1_000_000)
  expect(asked).toHaveLength(2)
  for (const { answer } of asked.slice()) answer()
  await settle()
  expect(asked.slice(2).map(({ from }) => from)).toEqual([900_000, 900_010])
})

it('the page longest out of sight goes first', async () => {
  const rows = pages(2)
  for (const page of [0, 1, 0, 2]) {
    rows.want(page * 10, page * 10 + 10, 100)
    asked.at(-1)?.answer()
    await settle()
  }
  expect([rows.row(0), rows.row(10), rows.row(20)]).toEqual([0, undefined, 20])
})

it('a page that was short while an order was computed is fetched again when it has grown', async () => {
  const rows = pages()
  rows.want(0, 10, 4)
  asked[0].answer()
  await settle()
  expect(rows.row(3)).toBe(3)
  rows.want(0, 10, 10)
  expect(rows.row(3)).toBe(3)
  asked[1].answer()
  await settle()
  expect([asked[1].count, rows.row(9)]).toEqual([10, 9])
})

it('an answer with too few rows, or none, does not make it ask without end', async () => {
  const rows = pages()
  rows.want(0, 10, 10)
  asked[0].answer(3)
  await settle()
  expect(asked).toHaveLength(1)
  rows.want(0, 10, 10)
  asked[1].refuse()
  await settle()
  expect([asked.length, failures, rows.row(2)]).toEqual([2, 1, 2])
  rows.want(0, 10, 10)
  expect(asked).toHaveLength(3)
})

it('says nothing any more once it was dropped', async () => {
  const rows = pages()
  rows.want(0, 40, 40)
  rows.drop()
  asked[0].answer()
  asked[1].refuse()
  await settle()
  expect([rows.row(0), changes, failures, asked.length]).toEqual([undefined, 0, 0, 2])
})

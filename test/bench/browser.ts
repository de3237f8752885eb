/**
 * How long the data browser waits: a generated set of a million rows of four texts of about 100 characters, opened, scrolled, jumped
 * in, filtered, searched and sorted through the module that the app uses.
 */
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Dataset, Row } from '../../src-main/datasets/dataset'
import { openDataset } from '../../src-main/datasets/open-dataset'
import type { Order, OrderProgress, RowOrder } from '../../src-main/datasets/row-order'
import { TorchGenerator } from '../../src-main/engine/nn/torch-generator'
import type { Waits } from './waits'

const rowCount = 1_000_000
/** Rows of a window, and characters of a cell that reach the page. */
const windowRows = 50
const clip = 400
const windows = 200

const words = Array.from({ length: 2000 }, (_, i) => `${(i * 7919 + 13).toString(36)}${'aeiou'[i % 5]}`)

export async function measureBrowser(scratch: string): Promise<Waits> {
  const draw = new TorchGenerator(0)
  const below = (n: number) => draw.nextUint32() % n
  const file = join(scratch, 'million.jsonl')
  await writeRows(file, below)
  const megabytes = Math.round((await stat(file)).size / 1e6)
  const started = performance.now()
  const dataset = await openDataset(file, { cache: join(scratch, 'cache') })
  const opening = performance.now() - started
  try {
    const waits: Waits['waits'][number][] = [{ what: `open ${megabytes} MB`, ms: [opening], target: null }]
    const pages = async (what: string, rows: (from: number) => Promise<Row[]>, count: number, target: number) => {
      const most = Math.max(1, count - windowRows)
      const first = below(Math.max(1, most - windows * windowRows))
      const scroll = await timed(windows, (i) => rows(Math.min(most, first + i * windowRows)))
      const jump = await timed(windows, () => rows(below(most)))
      waits.push({ what: `scroll a window, ${what}`, ms: scroll, target })
      waits.push({ what: `jump, ${what}`, ms: jump, target })
    }
    await pages('file order', (from) => dataset.rows(from, windowRows, { clip }), rowCount, pageTarget)
    const orders: [string, Order, number][] = [
      ['filter, column contains', { filter: [{ column: 1, kind: 'contains', value: `${words[77]} ` }] }, findTarget],
      ['filter, another column is', { filter: [{ column: 2, kind: 'is', value: 'nobody has this' }] }, findTarget],
      ['search all columns', { search: { text: words[1234].toUpperCase() } }, findTarget],
      ['sort of a column', { sort: [{ column: 0 }] }, sortTarget],
      ['sort of another, descending', { sort: [{ column: 3, descending: true }] }, sortTarget],
      [
        'sort of what a filter leaves',
        { filter: [{ column: 1, kind: 'contains', value: words[5] }], sort: [{ column: 2 }] },
        sortTarget,
      ],
    ]
    for (const [what, order, target] of orders) {
      const { computed, page, all, reports } = await timedOrder(dataset, order)
      const { found } = computed.state
      waits.push({ what: `first ${what}: first window`, ms: [page], target })
      waits.push({ what: `first ${what}: complete, ${found} rows, ${reports} reports`, ms: [all], target })
      if (order.sort) await pages(what, (from) => computed.rows(from, windowRows, { clip }), found, pageTarget)
      await computed.close()
    }
    waits.push({ what: 'statistics of a column', ms: await timed(1, () => dataset.statistics(0)), target: null })
    return { waits }
  } finally {
    await dataset.close()
  }
}

/** Milliseconds. */
const pageTarget = 100
const findTarget = 300
const sortTarget = 1500

async function timedOrder(dataset: Dataset, order: Order) {
  const started = performance.now()
  const computed: RowOrder = await dataset.order(order)
  const seen = new Set<OrderProgress>()
  const look = setInterval(() => seen.add(computed.state), 20)
  await computed.rows(0, windowRows, { clip })
  const page = performance.now() - started
  await computed.finished
  clearInterval(look)
  seen.add(computed.state)
  return { computed, page, all: performance.now() - started, reports: seen.size }
}

async function timed(count: number, action: (i: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const started = performance.now()
    await action(i)
    times.push(performance.now() - started)
  }
  return times
}

async function writeRows(file: string, below: (n: number) => number): Promise<void> {
  const out = createWriteStream(file, { highWaterMark: 4 << 20 })
  const text = () => {
    let cell = words[below(words.length)]
    while (cell.length < 96) cell += ` ${words[below(words.length)]}`
    return cell
  }
  for (let at = 0; at < rowCount; at += 2000) {
    let part = ''
    for (let i = 0; i < 2000; i++)
      part += `{"question":"${text()}","plan":"${text()}","refined_plan":"${text()}","answer":"${text()}"}\n`
    if (!out.write(part)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'finish')
}

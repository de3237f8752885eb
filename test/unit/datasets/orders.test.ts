/** Orders of rows (filter, search, sort), pages of them, statistics, against the same done in plain JavaScript. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Dataset } from '../../../src-main/datasets/dataset'
import type { Order } from '../../../src-main/datasets/row-order'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { file, open } from './files'

interface Sample {
  readonly text: string
  readonly n: number
  readonly note?: string | null
}

const count = 40_000
const draw = new TorchGenerator(7)
const below = (n: number): number => draw.nextUint32() % n
const samples: Sample[] = Array.from({ length: count }, (_, i) => ({
  text: `${['alpha', 'Beta', 'gamma_', '100%', 'Ünï'][below(5)]} ${below(5000)}`,
  n: below(2000) - 1000,
  ...(i % 3 === 0 ? { note: [' ', null, 'x', 'y'][below(4)] } : {}),
}))

let dataset: Dataset
beforeAll(async () => {
  dataset = await open(file('orders.jsonl', samples.map((row) => JSON.stringify(row)).join('\n')))
})

/** All places of an order, read page by page. */
async function placesOf(order: Order): Promise<number[]> {
  const computed = await dataset.order(order)
  await computed.finished
  const places: number[] = []
  for (let at = 0; at < computed.state.found; at += 9000)
    places.push(...(await computed.rows(at, 9000)).map(({ place }) => place))
  expect(places).toHaveLength(computed.state.found)
  await computed.close()
  return places
}

const where = (keep: (row: Sample) => boolean): number[] => samples.flatMap((row, i) => (keep(row) ? [i] : []))
const sorted = (compare: (a: Sample, b: Sample) => number): number[] =>
  samples.map((_, i) => i).sort((a, b) => compare(samples[a], samples[b]) || a - b)

describe('orders', () => {
  it.each<[string, Order, (row: Sample) => boolean]>([
    ['contains', { filter: [{ column: 0, kind: 'contains', value: 'a 1' }] }, ({ text }) => text.includes('a 1')],
    [
      'contains not, null too',
      { filter: [{ column: 2, kind: 'contains-not', value: 'x' }] },
      ({ note }) => note !== 'x',
    ],
    ['is', { filter: [{ column: 0, kind: 'is', value: 'Beta 17' }] }, ({ text }) => text === 'Beta 17'],
    ['is not', { filter: [{ column: 2, kind: 'is-not', value: 'y' }] }, ({ note }) => note !== 'y'],
    [
      'less and more, as numbers',
      {
        filter: [
          { column: 1, kind: 'less', value: '9' },
          { column: 1, kind: 'more', value: '-100' },
        ],
      },
      ({ n }) => n < 9 && n > -100,
    ],
    ['null', { filter: [{ column: 2, kind: 'null' }] }, ({ note }) => (note ?? null) === null],
    ['not null', { filter: [{ column: 2, kind: 'not-null' }] }, ({ note }) => (note ?? null) !== null],
    ['blank', { filter: [{ column: 2, kind: 'blank' }] }, ({ note }) => note === ' '],
    ['search in any case', { search: { text: 'BETA 1' } }, ({ text }) => text.toLowerCase().includes('beta 1')],
    ['search beyond ASCII', { search: { text: 'üNÏ 1' } }, ({ text }) => text.includes('Ünï 1')],
    ['search with signs of patterns', { search: { text: 'a_ 1' } }, ({ text }) => text.includes('a_ 1')],
    ['search for a percent sign', { search: { text: '0% 12' } }, ({ text }) => text.includes('0% 12')],
    ['search for a quote', { search: { text: "' OR 1" } }, () => false],
    [
      'search with case',
      { search: { text: 'Beta', matchCase: true, columns: [0] } },
      ({ text }) => text.includes('Beta'),
    ],
  ])('%s', async (_, order, keep) => {
    expect(await placesOf(order)).toEqual(where(keep))
  })

  it('sorts numbers as numbers, text by code points, equal rows by place, null last', async () => {
    expect(await placesOf({ sort: [{ column: 1 }] })).toEqual(sorted((a, b) => a.n - b.n))
    expect(await placesOf({ sort: [{ column: 1, descending: true }] })).toEqual(sorted((a, b) => b.n - a.n))
    const byText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
    expect(await placesOf({ sort: [{ column: 0 }] })).toEqual(sorted((a, b) => byText(a.text, b.text)))
    const last = '\uffff'
    expect(await placesOf({ sort: [{ column: 2 }, { column: 1, descending: true }] })).toEqual(
      sorted((a, b) => byText(a.note ?? last, b.note ?? last) || b.n - a.n),
    )
  })

  it('filters and sorts at once', async () => {
    const order: Order = { search: { text: 'gamma' }, sort: [{ column: 1 }] }
    expect(await placesOf(order)).toEqual(sorted((a, b) => a.n - b.n).filter((i) => samples[i].text.includes('gamma')))
  })

  it('integers beyond 2^53 sort exactly', async () => {
    const big = ['9007199254740993', '9007199254740992', '12345678901234567890123', '-5', '12345678901234567890122']
    const numbers = await open(file('big.jsonl', big.map((n) => `{"n":${n}}`).join('\n')))
    const order = await numbers.order({ sort: [{ column: 0 }] })
    await order.finished
    expect((await order.rows(0, 9)).map(({ place }) => place)).toEqual([3, 1, 0, 4, 2])
  })

  it('gives the first page while the rest is looked at, and stops when cancelled', async () => {
    const stop = new AbortController()
    const order = await dataset.order({ search: { text: 'a' } }, stop.signal)
    const [first] = await order.rows(0, 1)
    expect(first.place).toBe(where(({ text }) => /a/i.test(text))[0])
    stop.abort()
    await order.finished.catch(() => undefined)
    const cancelled = await dataset.order({ sort: [{ column: 0 }] }, stop.signal).catch((e: unknown) => e)
    expect(cancelled).toMatchObject({ name: 'AbortError' })
    await order.close()
    // what was interrupted leaves the data set usable
    expect(await dataset.rows(0, 1)).toHaveLength(1)
  })

  it('tells how far a sort is, and says that all is done only when it is', async () => {
    const text = (i: number) => ((i * 7919) % 400_009).toString(36).repeat(12)
    const many = await open(file('many.csv', ['a', ...Array.from({ length: 400_000 }, (_, i) => text(i))].join('\n')))
    const order = await many.order({ sort: [{ column: 0 }, { column: 0, descending: true }] })
    const seen = new Set<number>()
    const look = setInterval(() => {
      const { done, found } = order.state
      seen.add(done)
      expect(done < many.info.rows ? found : many.info.rows).toBe(done < many.info.rows ? 0 : found)
    }, 5)
    await order.finished
    clearInterval(look)
    expect(order.state).toEqual({ done: 400_000, of: 400_000, found: 400_000 })
    const between = [...seen].filter((done) => done > 0 && done < 400_000)
    expect(between.length).toBeGreaterThan(0)
    expect(between).toEqual([...between].sort((a, b) => a - b))

    // rows that several threads look for stand in the file's order
    const found = await many.order({ search: { text: 'AB' } })
    await found.finished
    const wanted = Array.from({ length: 400_000 }, (_, i) => i).filter((i) => text(i).includes('ab'))
    expect(found.state.found).toBe(wanted.length)
    const places: number[] = []
    for (let from = 0; from < wanted.length; from += 5000)
      places.push(...(await found.rows(from, 5000)).map(({ place }) => place))
    expect(places).toEqual(wanted)
  })

  it('reads rows at any places, in the order given', async () => {
    const places = [39_999, 3, 17_000, 3, 0]
    const rows = await dataset.rowsAt(places, { clip: 3 })
    expect(rows.map(({ place, cells: [cell] }) => [place, cell])).toEqual(
      places.map((place) => [place, samples[place].text.slice(0, 3)]),
    )
  })

  it('pages in the file order, past the end, and nothing where nothing is found', async () => {
    expect((await dataset.rows(count - 2, 10)).map(({ place }) => place)).toEqual([count - 2, count - 1])
    const none = await dataset.order({ search: { text: 'nothing has this' } })
    expect(await none.rows(0, 10)).toEqual([])
    expect(none.state).toEqual({ done: count, of: count, found: 0 })
  })

  it('refuses an empty search', async () => {
    await expect(dataset.order({ search: { text: '' } })).rejects.toThrow('The text to look for is empty')
  })
})

describe('statistics', () => {
  it('of numbers', async () => {
    const values = samples.map(({ n }) => n).sort((a, b) => a - b)
    const { rows, nulls, histogram } = await dataset.statistics(1)
    expect({ rows, nulls }).toEqual({ rows: count, nulls: 0 })
    expect(histogram).toMatchObject({ of: 'value', least: values[0], most: values[count - 1] })
    expect(histogram!.mean).toBeCloseTo(values.reduce((a, b) => a + b) / count, 9)
    expect(histogram!.median).toBe((values[count / 2 - 1] + values[count / 2]) / 2)
    const width = (values[count - 1] - values[0]) / 20
    const expected = new Array<number>(20).fill(0)
    for (const value of values) expected[Math.min(19, Math.floor((value - values[0]) / width))]++
    expect(histogram!.counts).toEqual(expected)
  })

  it('of text: lengths in characters and frequent values, of all rows and of those found', async () => {
    const notes = await dataset.statistics(2)
    const given = samples.flatMap(({ note }) => (typeof note === 'string' ? [note] : []))
    expect(notes).toMatchObject({ rows: count, nulls: count - given.length, distinct: 3 })
    expect(notes.histogram).toMatchObject({ of: 'length', least: 1, most: 1, mean: 1, median: 1 })
    expect(new Map(notes.frequent.map(({ text, count }) => [text, count]))).toEqual(
      new Map([' ', 'x', 'y'].map((text) => [text, given.filter((n) => n === text).length])),
    )
    const order = await dataset.order({ filter: [{ column: 2, kind: 'is', value: 'x' }] })
    await order.finished
    expect(await dataset.statistics(2, order)).toMatchObject({ rows: order.state.found, nulls: 0, distinct: 1 })
    expect((await dataset.statistics(0)).histogram!.most).toBe(Math.max(...samples.map(({ text }) => text.length)))
  })

  it('of a column of nulls', async () => {
    const nulls = await open(file('nulls.json', '[{"a":null,"b":1},{"b":2}]'))
    expect(await nulls.statistics(0)).toEqual({ rows: 2, nulls: 2, distinct: 0, histogram: null, frequent: [] })
  })
})

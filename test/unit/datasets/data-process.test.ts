/** The process that reads data, as a real one: data faults and its end leave the app alive, and say what happened. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DataProcess } from '../../../src-main/data-process/client'
import type { Progress } from '../../../src-main/data-process/messages'
import type { RowOrderState, StudioError } from '../../../src-main/bridge/contract'
import { until } from '../jobs/test-studio'
import { parquet, work } from './files'
import { forkedData } from './in-process-data'

const root = path.join(import.meta.dirname, '..', '..', '..')
const built = path.join(root, '.cache', `test-data-${process.pid}`)
let data: DataProcess
const heard = { progress: [] as Progress[], order: [] as RowOrderState[], lost: [] as StudioError[], output: '' }

beforeAll(async () => {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      ssr: path.join(import.meta.dirname, 'data-child.ts'),
      outDir: built,
      target: 'node20',
      rolldownOptions: { output: { entryFileNames: 'child.mjs' } },
    },
  })
  data = new DataProcess(forkedData(path.join(built, 'child.mjs')), {
    progress: (progress) => heard.progress.push(progress),
    order: (state) => heard.order.push(state),
    lost: (error) => heard.lost.push(error),
    output: (text) => (heard.output += text),
  })
})
afterAll(() => {
  data.stop()
  rmSync(built, { recursive: true, force: true })
})
beforeEach(() => {
  heard.lost.length = 0
  heard.progress.length = 0
})

const open = (file: string, ticket: string | null = null) =>
  data.call('open', { file, field: null, encoding: null }, ticket)

describe('data faults', () => {
  mkdirSync(work, { recursive: true })
  const write = (name: string, content: string | Uint8Array): string => {
    const file = path.join(work, name)
    writeFileSync(file, content)
    return file
  }

  it('a broken parquet file, an unterminated string and a missing file are refused, and the process lives on', async () => {
    const whole = await parquet('whole.parquet', "SELECT range AS n, 'text ' || range AS t FROM range(2000)")
    const good = await open(whole)
    expect(good.rows).toBe(2000)
    const { pid } = data
    const bytes = readFileSync(whole)
    const cut = write('cut.parquet', bytes.subarray(0, bytes.length / 2))
    await expect(open(cut)).rejects.toThrow(/cut\.parquet/)
    const scrambled = Buffer.from(bytes)
    scrambled.fill(0x5a, 40, scrambled.length - 200)
    await expect(open(write('scrambled.parquet', scrambled))).rejects.toThrow(/scrambled\.parquet/)
    await expect(open(write('open.json', '[{"q":"a"},{"q":"b'))).rejects.toThrow(/closing quote of a text is missing/)
    await expect(open(path.join(work, 'none.csv'))).rejects.toThrow(/none\.csv/)
    expect(await data.call('rows', { handle: good.handle, order: null, from: 1999, count: 1, clip: 20 })).toEqual([
      { place: 1999, cells: ['1999', 'text 1999'], cut: [] },
    ])
    expect(data.pid).toBe(pid)
    expect(heard.lost).toEqual([])
  })

  it('a row of 50 MB comes cut, and whole up to a million characters', async () => {
    const file = write('long.jsonl', `{"q":"short"}\n{"q":"${'x'.repeat(50 * 2 ** 20)}"}\n`)
    const { handle, rows } = await open(file)
    expect(rows).toBe(2)
    const [, long] = await data.call('rows', { handle, order: null, from: 0, count: 2, clip: 300 })
    expect(long).toEqual({ place: 1, cells: ['x'.repeat(300)], cut: [0] })
    const row = await data.call('row', { handle, place: 1 })
    expect([row.cells[0]!.length, row.cut]).toEqual([1_000_000, [0]])
    await data.call('close', { handle })
  })
})

describe('long work', () => {
  let file: string
  beforeAll(() => {
    file = path.join(work, 'many.jsonl')
    const lines = Array.from({ length: 400_000 }, (_, i) => `{"n":${i},"t":"text of row ${i * 7919}"}\n`)
    writeFileSync(file, lines.join(''))
  })

  it('tells its progress, can be cancelled, and other calls come through meanwhile', async () => {
    const small = path.join(work, 'small.csv')
    writeFileSync(small, 'a\n1\n')
    const opening = open(file, 'long')
    const cancelled = open(file, 'stop')
    cancelled.catch(() => undefined)
    expect((await open(small)).rows).toBe(1)
    await until(() => heard.progress.some(({ ticket }) => ticket === 'stop'), 'it is under way')
    data.cancel('stop')
    await expect(cancelled).rejects.toThrow(/The data set was not opened\. It was cancelled\./)
    expect((await opening).rows).toBe(400_000)
    const shares = heard.progress.filter(({ ticket }) => ticket === 'long').map(({ share }) => share!)
    expect(shares.length).toBeGreaterThan(0)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.every((share) => share > 0 && share <= 1)).toBe(true)
  })

  it('closed under its questions, a set answers each of them, and the process lives on', async () => {
    const { pid } = data
    for (let round = 0; round < 5; round++) {
      const { handle } = await open(file)
      const { order } = await data.call('order', {
        handle,
        by: { filter: [], search: { text: '9', matchCase: false }, sort: [] },
      })
      const sorted = await data.call('order', {
        handle,
        by: { filter: [], search: null, sort: [{ column: 0, descending: true }] },
      })
      const target = path.join(work, `closed-${round}.jsonl`)
      const questions: Promise<unknown>[] = [
        data.call('statistics', { handle, order: null, column: 0 }),
        data.call('statistics', { handle, order, column: 0 }),
        data.call('rows', { handle, order: null, from: 300_000, count: 100, clip: 20 }),
        data.call('rows', { handle, order: sorted.order, from: 0, count: 100, clip: 20 }),
        data.call('save', { handle, order: null, mapping: {}, target }),
      ]
      const answers = Promise.allSettled(questions)
      await new Promise((resolve) => setTimeout(resolve, 25 * round))
      await data.call('close', { handle })
      for (const answer of await answers)
        if (answer.status === 'rejected') expect(String(answer.reason)).toMatch(/not (open|at hand) any more/)
    }
    expect(data.pid).toBe(pid)
    expect(heard.lost).toEqual([])
  })

  it('killed, it answers what was under way, tells that everything is void, and the next call starts a fresh one', async () => {
    const before = await open(path.join(work, 'small.csv'))
    const { pid } = data
    const opening = open(file)
    opening.catch(() => undefined)
    process.kill(pid!, 'SIGKILL')
    await expect(opening).rejects.toThrow(
      /The process that reads data ended unexpectedly\. Its process was ended by SIGKILL\. Open the data set again\./,
    )
    expect(heard.lost).toHaveLength(1)
    await expect(
      data.call('rows', { handle: before.handle, order: null, from: 0, count: 1, clip: 10 }),
    ).rejects.toThrow(/not open any more/)
    const after = await open(path.join(work, 'small.csv'))
    expect(after.rows).toBe(1)
    expect(after.handle).not.toBe(before.handle)
    expect(data.pid).not.toBe(pid)
  })

  it('converts for runs, with the same words for what cannot be', async () => {
    const target = path.join(work, 'converted.jsonl')
    const csv = path.join(work, 'small.csv')
    writeFileSync(csv, 'a,b\n007,x\n')
    await data.call('convert', { file: csv, field: null, target })
    expect(readFileSync(target, 'utf8')).toBe('{"a":"007","b":"x"}\n')
    writeFileSync(csv, 'a,b\n007\n1,2\n')
    await expect(
      data.call('convert', { file: csv, field: null, target: path.join(work, 'none.jsonl') }),
    ).rejects.toThrow(/1 of its rows cannot be read \(Line 2 has 1 fields/)
  })

  it('ends when it is not needed for a while, which nobody is told as a loss', async () => {
    const { pid } = data
    let needed = true
    data.rest(() => needed, 20)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(data.pid).toBe(pid)
    needed = false
    data.rest(() => needed, 20)
    await until(() => data.pid === undefined, 'it ended')
    expect(heard.lost).toEqual([])
    expect((await open(path.join(work, 'small.csv'))).rows).toBe(1)
    expect(data.pid).not.toBe(pid)
  })
})

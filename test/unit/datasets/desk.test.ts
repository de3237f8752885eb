/** Data sets as the page has them: the library, open sets, orders, statistics; with the process that reads them in this one. */
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  requests,
  type DatasetEntry,
  type RequestName,
  type RequestParams,
  type RequestResult,
} from '../../../src-main/bridge/contract'
import { createHandlers, type Shell } from '../../../src-main/bridge/handlers'
import { answer, type Handlers } from '../../../src-main/bridge/serve'
import { writeDownloadRecord, type DownloadRecord } from '../../../src-main/hub/download/record'
import { lockFolder } from '../../../src-main/hub/download/folder-lock'
import { closeVolume, mountVolume } from '../../volumes'
import { demo } from '../training/run-demo-job'
import { testStudio, until, type TestStudio } from '../jobs/test-studio'

let test: TestStudio
let handlers: Handlers
let chosen: string | null = null
const reveal = vi.fn()

beforeAll(async () => {
  test = testStudio()
  for (const name of ['train', 'held-out'])
    writeFileSync(path.join(test.folder, 'native-assets', `${name}.jsonl`), '{"question":"q","answer":"a"}\n')
  await test.studio.start()
  await test.studio.openDemo()
  const choose = () => Promise.resolve(chosen)
  const shell: Partial<Shell> = { reveal, chooseFile: choose, chooseNewFile: choose }
  handlers = createHandlers(() => test.studio, shell as Shell)
})
afterAll(async () => {
  await test.studio.shutdown(0)
  test.remove()
})
beforeEach(() => {
  test.sent.length = 0
  reveal.mockClear()
})

/** What the page gets, checked against the contract. Throws what it would be told. */
async function ask<N extends RequestName>(name: N, params: RequestParams<N>): Promise<RequestResult<N>> {
  const reply = await answer({ trusted: true, name, params }, handlers, (text, error) => {
    throw new Error(text, { cause: error })
  })
  if (!reply.ok) throw new Error(`${reply.error.what} ${reply.error.why} ${reply.error.next}`)
  return requests[name].result.parse(structuredClone(reply.value)) as RequestResult<N>
}

function file(name: string, content: string): string {
  const target = path.join(test.folder, name)
  writeFileSync(target, content)
  return target
}

async function add(name: string, content: string): Promise<DatasetEntry> {
  chosen = file(name, content)
  return (await ask('datasets/addFile', {})).dataset!
}

let tickets = 0
const open = async (id: string, more: Partial<RequestParams<'datasets/open'>> = {}) =>
  ask('datasets/open', { id, ticket: `t${tickets++}`, ...more })

describe('styles', () => {
  it('have roles with their fields, and what each use needs', async () => {
    const { styles } = await ask('styles/list', {})
    expect(styles.map(({ name, title }) => [name, title])).toEqual([
      ['sequential', 'Sequential'],
      ['mixture', 'Mixture'],
      ['distillation', 'Distillation'],
      ['deliberation', 'Deliberation'],
    ])
    const [sequential, mixture, distillation] = styles
    expect(sequential.agents).toEqual([
      { role: 'planner', field: 'plan', writes: false },
      { role: 'critic', field: 'refined_plan', writes: false },
      { role: 'solver', field: 'answer', writes: true },
    ])
    expect(sequential.links.map(({ key, feedback }) => [key, feedback])).toEqual([
      ['outer_12', false],
      ['outer_23', false],
      ['outer_31', true],
    ])
    expect(sequential.fields[0]).toEqual({
      field: 'question',
      title: 'Question',
      columns: ['question', 'problem'],
      needed: { inner: true, outer: true, evaluate: true },
    })
    const needed = (style: typeof sequential, use: 'inner' | 'evaluate') =>
      style.fields.filter((f) => f.needed[use]).map((f) => f.field)
    expect(needed(sequential, 'inner')).toEqual(['question', 'plan', 'refined_plan', 'answer'])
    expect(needed(sequential, 'evaluate')).toEqual(['question', 'answer'])
    expect(mixture.fields.find(({ field }) => field === 'answer')).toMatchObject({
      title: 'Text of the summarizer, gold answer',
      columns: ['answer', 'hie_summarizer', 'summary'],
      needed: { evaluate: true },
    })
    expect(distillation.fields.find(({ field }) => field === 'answer')).toMatchObject({
      title: 'Gold answer',
      needed: { inner: false, outer: false, evaluate: true },
    })
  })
})

describe('the library', () => {
  const record = (name: string, complete: boolean): DownloadRecord => ({
    format: 'recursivemas-hub/1',
    endpoint: 'https://hub.example',
    kind: 'dataset',
    name,
    revision: 'main',
    commit: 'a'.repeat(40),
    licence: 'mit',
    gated: false,
    complete,
    files: [
      {
        path: 'data/train.jsonl',
        size: 9,
        checksum: { kind: 'git-sha1', hex: 'b'.repeat(40) },
        foundThere: false,
        verifiedAt: null,
      },
      {
        path: 'README.md',
        size: 3,
        checksum: { kind: 'git-sha1', hex: 'c'.repeat(40) },
        foundThere: false,
        verifiedAt: null,
      },
    ],
  })
  const download = async (name: string, complete: boolean): Promise<string> => {
    const folder = path.join(test.workspace, 'datasets', name.replace('/', '--'))
    mkdirSync(path.join(folder, 'data'), { recursive: true })
    await writeDownloadRecord(folder, record(name, complete))
    return folder
  }

  it('lists the data of projects with the steps that read it, which cannot be deleted', async () => {
    const { datasets } = await ask('datasets/list', {})
    expect(datasets.map(({ id, name, bytes, state }) => [id, name, bytes, state])).toEqual([
      ['Demo/train.jsonl', 'train.jsonl', 30, 'ready'],
      ['Demo/held-out.jsonl', 'held-out.jsonl', 30, 'ready'],
    ])
    expect(datasets[1]).toMatchObject({
      source: { kind: 'project', project: 'Demo' },
      usedBy: [{ project: 'Demo', title: 'Demo', as: ['Trained links, 2 rounds'] }],
    })
    await expect(ask('datasets/delete', { id: 'Demo/train.jsonl' })).rejects.toThrow(/belongs to its project/)
  })

  it('lists files where they lie, once each, and says when one is gone', async () => {
    const entry = await add('größe 1.jsonl', '{"q":1}\n')
    expect(entry).toMatchObject({
      id: 'library/größe 1',
      name: 'größe 1.jsonl',
      source: { kind: 'file', path: path.join(test.folder, 'größe 1.jsonl') },
      files: [{ path: 'größe 1.jsonl', bytes: 8 }],
      state: 'ready',
    })
    expect(test.of('datasets/changed')).toHaveLength(1)
    expect((await ask('datasets/addFile', {})).dataset!.id).toBe(entry.id)
    mkdirSync(path.join(test.folder, 'other'))
    expect((await add('other/größe 1.jsonl', '{"q":2}\n')).id).toBe('library/größe 1 2')
    await ask('datasets/reveal', { id: entry.id })
    expect(reveal).toHaveBeenCalledWith(test.folder)

    rmSync(chosen!)
    const { datasets } = await ask('datasets/list', {})
    expect(datasets.find(({ id }) => id === 'library/größe 1 2')).toMatchObject({
      state: 'unusable',
      problem: { why: expect.stringContaining('is not there any more') as string },
    })
    await expect(open('library/größe 1 2')).rejects.toThrow(/not there any more.*Put the file back/)
    expect(await ask('datasets/delete', { id: 'library/größe 1 2' })).toMatchObject({
      bytes: expect.any(Number) as number,
    })
    await ask('datasets/delete', { id: entry.id })
    expect(existsSync(path.join(test.folder, 'größe 1.jsonl'))).toBe(true)
    expect((await ask('datasets/list', {})).datasets).toHaveLength(2)
    chosen = null
    expect(await ask('datasets/addFile', {})).toEqual({ dataset: null })
  })

  it('refuses a file that holds no data', async () => {
    chosen = file('note.json', 'hello')
    await expect(ask('datasets/addFile', {})).rejects.toThrow(/it is not JSON/)
    expect((await ask('datasets/list', {})).datasets).toHaveLength(2)
  })

  it('lists downloads with their record: incomplete, ready, and unusable where a file is gone', async () => {
    const folder = await download('org/set', false)
    const entry = async () => (await ask('datasets/list', {})).datasets.find(({ id }) => id === 'library/org--set')!
    expect(await entry()).toMatchObject({ name: 'org/set', state: 'incomplete', licence: 'mit' })
    await expect(open('library/org--set')).rejects.toThrow(/download is not complete/)
    await writeDownloadRecord(folder, record('org/set', true))
    expect(await entry()).toMatchObject({
      state: 'unusable',
      problem: { why: expect.stringContaining('train.jsonl') as string },
    })
    writeFileSync(path.join(folder, 'data', 'train.jsonl'), '{"q":1}\n')
    expect(await entry()).toMatchObject({
      source: { kind: 'hub', name: 'org/set', revision: 'main', commit: 'a'.repeat(40) },
      state: 'ready',
      files: [{ path: 'data/train.jsonl', bytes: 9 }],
    })
    const opened = await open('library/org--set')
    expect(opened).toMatchObject({ id: 'library/org--set', file: 'data/train.jsonl', rows: 1 })
    await expect(open('library/org--set', { file: '../../secret.jsonl' })).rejects.toThrow(
      /has no file "..\/..\/secret/,
    )

    const unlock = await lockFolder(folder)
    await expect(ask('datasets/delete', { id: 'library/org--set' })).rejects.toThrow(/is being downloaded/)
    await unlock()
    await ask('datasets/delete', { id: 'library/org--set' })
    expect(existsSync(folder)).toBe(false)
  })

  it('tells of a damaged record and leaves it alone', async () => {
    const folder = path.join(test.workspace, 'datasets', 'damaged')
    mkdirSync(folder)
    writeFileSync(path.join(folder, 'dataset.json'), '{"format":')
    const { datasets } = await ask('datasets/list', {})
    expect(datasets.find(({ id }) => id === 'library/damaged')).toMatchObject({ state: 'unusable' })
    expect(readFileSync(path.join(folder, 'dataset.json'), 'utf8')).toBe('{"format":')
    rmSync(folder, { recursive: true })
  })

  it('refuses to delete what a project reads, naming where', async () => {
    const entry = await add('used.jsonl', '{"question":"q","answer":"a"}\n')
    const projectFile = test.studio.places.projectFile('Demo')
    const before = readFileSync(projectFile, 'utf8')
    writeFileSync(projectFile, before.replace('"held-out.jsonl"', JSON.stringify(chosen)))
    await expect(ask('datasets/delete', { id: entry.id })).rejects.toThrow(
      /The project "Demo" uses it \(Trained links, 2 rounds\)/,
    )
    writeFileSync(projectFile, `${before} `)
    await ask('datasets/delete', { id: entry.id })
  })

  it('reads a folder that nobody may write to, and says so where it would write', async (context) => {
    const folder = path.join(test.workspace, 'datasets')
    const before = await add('closed.jsonl', '{"question":"q","answer":"a"}\n')
    const copy = path.join(test.folder, 'copy of datasets')
    cpSync(folder, copy, { recursive: true })
    const volume = mountVolume('size=8m', folder)
    // a folder without permissions stops nobody who is root
    if (!volume && process.getuid?.() === 0) return context.skip('no right to mount a small volume')
    try {
      if (volume) {
        cpSync(copy, folder, { recursive: true })
        closeVolume(volume)
      } else chmodSync(folder, 0o555)
      const opened = await open(before.id)
      expect(opened.rows).toBe(1)
      const why = volume ? /The volume is read-only: / : /There is no permission to write to /
      await expect(add('more.jsonl', '{"q":1}\n')).rejects.toThrow(why)
      await expect(
        ask('datasets/save', { handle: opened.handle, order: null, name: 'derived', ticket: 'derived' }),
      ).rejects.toThrow(why)
      await expect(ask('datasets/delete', { id: before.id })).rejects.toThrow(why)
      expect((await ask('datasets/list', {})).datasets.map(({ id }) => id)).toContain(before.id)
      await ask('datasets/close', { handle: opened.handle })
    } finally {
      if (volume) volume.remove()
      else chmodSync(folder, 0o755)
    }
    await ask('datasets/delete', { id: before.id })
  })
})

describe('an open set', () => {
  let handle: string
  beforeAll(async () => {
    const rows = Array.from({ length: 5000 }, (_, i) => ({
      n: i,
      t: i % 5 === 0 ? null : `text ${i % 7}`,
      long: 'é'.repeat(i === 3 ? 2000 : 1),
    }))
    const entry = await add('rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
    const opened = await open(entry.id)
    expect(opened).toMatchObject({
      format: 'jsonl',
      rows: 5000,
      leftOut: 0,
      problems: [],
      columns: [
        { name: 'n', type: 'integer', nulls: 0, blank: 0 },
        { name: 't', type: 'text', nulls: 1000, blank: 0 },
        { name: 'long', type: 'text', nulls: 0, blank: 0 },
      ],
    })
    handle = opened.handle
  })

  it('gives pages of rows, cells cut where they are long, and a row whole', async () => {
    const { rows } = await ask('datasets/rows', { handle, from: 2, count: 2, clip: 10 })
    expect(rows).toEqual([
      { place: 2, cells: ['2', 'text 2', 'é'], cut: [] },
      { place: 3, cells: ['3', 'text 3', 'é'.repeat(10)], cut: [2] },
    ])
    expect(await ask('datasets/row', { handle, place: 3 })).toEqual({
      place: 3,
      cells: ['3', 'text 3', 'é'.repeat(2000)],
      cut: [],
    })
  })

  it('filters, searches and sorts; the last state of an order tells that it is finished', async () => {
    const state = await ask('datasets/order', {
      handle,
      by: {
        filter: [{ column: 1, kind: 'not-null' }],
        search: { text: 'TEXT 3' },
        sort: [{ column: 0, descending: true }],
      },
    })
    await until(
      () =>
        state.finished || test.of('datasets/order').some(({ order, finished }) => order === state.order && finished),
      'the order is finished',
    )
    const found = state.finished ? state : test.of('datasets/order').at(-1)!
    const expected = Array.from({ length: 5000 }, (_, i) => i).filter((i) => i % 5 !== 0 && i % 7 === 3)
    expect(found).toMatchObject({ found: expected.length, done: 5000, of: 5000, error: null })
    const { rows } = await ask('datasets/rows', { handle, order: state.order, from: 0, count: 2 })
    expect(rows.map(({ place }) => place)).toEqual(expected.reverse().slice(0, 2))
    const statistics = await ask('datasets/statistics', { handle, order: state.order, column: 1 })
    expect(statistics).toMatchObject({ rows: expected.length, nulls: 0, distinct: 1 })
    expect(statistics.frequent).toEqual([{ text: 'text 3', count: expected.length }])
    await ask('datasets/closeOrder', { handle, order: state.order })
    await expect(ask('datasets/rows', { handle, order: state.order, from: 0, count: 1 })).rejects.toThrow(
      /not at hand any more/,
    )
  })

  it('refuses an empty search in words', async () => {
    await expect(
      ask('datasets/order', { handle, by: { filter: [{ column: 1, kind: 'contains', value: '' }] } }),
    ).rejects.toThrow(/text to look for is empty/)
  })

  it('is void once closed', async () => {
    const opened = await open('Demo/train.jsonl')
    await ask('datasets/close', { handle: opened.handle })
    await expect(ask('datasets/rows', { handle: opened.handle, from: 0, count: 1 })).rejects.toThrow(
      /not open any more/,
    )
    await ask('datasets/close', { handle: opened.handle })
  })

  it('says what is wrong with a file, with the field where one is asked for', async () => {
    const { id } = await add('lists.json', '{"train":[{"q":1}],"test":[{"q":2},{"q":3}]}')
    await expect(open(id)).rejects.toThrow(/Name the field that holds the rows: "train", "test"/)
    expect((await open(id, { field: 'test' })).rows).toBe(2)
  })
})

describe('sets made of an open one', () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    frage: `q ${i}`,
    answer: i % 4 === 0 ? 7.5 : `007`,
    n: 1e3 + i,
  }))
  let handle: string
  let source: string
  const mapping = { question: 'frage' }
  const read = (...parts: string[]) =>
    readFileSync(path.join(test.workspace, 'datasets', ...parts), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  beforeAll(async () => {
    const entry = await add('source.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
    source = entry.id
    handle = (await open(entry.id)).handle
  })

  it('are saved under the fields’ names, in an order, and tell what they were made of', async () => {
    const by = {
      filter: [{ column: 2, kind: 'less' as const, value: '1005' }],
      sort: [{ column: 2, descending: true }],
    }
    const { order } = await ask('datasets/order', { handle, by })
    const made = await ask('datasets/save', { handle, order, mapping, name: 'Mine é', ticket: 's1' })
    expect(made).toMatchObject({
      id: 'library/Mine é',
      name: 'Mine é',
      source: {
        kind: 'derived',
        from: 'library/source (source.jsonl)',
        how: 'rows where "n" is less than "1005", sorted by "n" (descending); question from "frage"',
      },
      files: [{ path: 'rows.jsonl' }],
      state: 'ready',
    })
    expect(test.of('datasets/changed')).toHaveLength(1)
    expect(read('Mine é', 'rows.jsonl')).toEqual(
      [4, 3, 2, 1, 0].map((i) => ({ question: `q ${i}`, answer: rows[i].answer === 7.5 ? '7.5' : '007', n: 1000 + i })),
    )
    expect((await open('library/Mine é')).rows).toBe(5)
    expect((await ask('datasets/list', {})).datasets.map(({ id }) => id)).toContain(source)
  })

  it('refuse names that are taken or no folder’s, and leave nothing behind', async () => {
    const save = (name: string, more: object = {}) =>
      ask('datasets/save', { handle, mapping, name, ticket: 's2', ...more })
    await expect(save('mine É')).rejects.toThrow(/There is a data set "Mine é" already/)
    for (const name of ['a/b', '..', 'con', 'a--b', 'x.', '"q"'])
      await expect(save(name), name).rejects.toThrow(/cannot be called/)
    await expect(save('wrong', { mapping: { question: 'nothing' } })).rejects.toThrow(/There is no column "nothing"/)
    const { order } = await ask('datasets/order', { handle, by: { search: { text: 'nowhere' } } })
    await expect(save('none', { order })).rejects.toThrow(/No row is left/)
    const names = readdirSync(path.join(test.workspace, 'datasets'))
    expect(names.filter((name) => /^\.|wrong|none/.test(name))).toEqual([])
  })

  it('are split by a seed, the same rows each time', async () => {
    const split = (name: string) => ask('datasets/split', { handle, mapping, name, seed: 3, heldOut: 10, ticket: 's3' })
    const made = await split('parts')
    expect(made.files.map((one) => one.path)).toEqual(['held-out.jsonl', 'train.jsonl'])
    expect(made.source).toMatchObject({ how: '10 rows held out by the seed 3; question from "frage"' })
    const [heldOut, train] = [read('parts', 'held-out.jsonl'), read('parts', 'train.jsonl')]
    expect([heldOut.length, train.length]).toEqual([10, 30])
    expect([...heldOut, ...train].map(({ n }) => n).sort()).toEqual(rows.map(({ n }) => n).sort())
    await split('again')
    expect(read('again', 'held-out.jsonl')).toEqual(heldOut)
    await expect(ask('datasets/split', { handle, name: 'all', seed: 3, heldOut: 40, ticket: 's4' })).rejects.toThrow(
      /40 of 40 rows cannot be held out/,
    )
  })

  it('are exported to where the person says, which is replaced as a whole', async () => {
    chosen = path.join(test.folder, 'out.jsonl')
    writeFileSync(chosen, 'before')
    expect(await ask('datasets/export', { handle, name: 'out', ticket: 's5' })).toEqual({ file: chosen, rows: 40 })
    expect(readFileSync(chosen, 'utf8').split('\n')[1]).toBe('{"frage":"q 1","answer":"007","n":1001}')
    chosen = null
    expect(await ask('datasets/export', { handle, name: 'out', ticket: 's6' })).toEqual({ file: null, rows: 0 })
    expect(readdirSync(test.folder).filter((name) => name.startsWith('.incomplete'))).toEqual([])
  })
})

describe('prompts and checks', () => {
  it('take a project’s own models and prompts', async () => {
    const assets = test.studio.places.assets('Demo')
    rmSync(path.join(assets, 'models'), { recursive: true })
    cpSync(demo('models'), path.join(assets, 'models'), { recursive: true })
    cpSync(demo('train.jsonl'), path.join(assets, 'train.jsonl'))
    const { handle } = await open('Demo/train.jsonl')
    const prompt = { handle, style: 'sequential', use: 'outer' as const, model: 'Demo/models/planner' }
    const shown = await ask('datasets/preview', { ...prompt, place: 0, role: 'planner' })
    expect(shown).toMatchObject({ limit: 4096, leftOut: null, rounds: [1] })
    const report = await ask('datasets/check', { handle, style: 'sequential', use: 'outer', ticket: 'c1' })
    expect(report).toMatchObject({ rows: report.usable, columns: { question: 'question', plan: 'plan' } })
    await expect(
      ask('datasets/preview', { ...prompt, model: 'library/none', place: 0, role: 'planner' }),
    ).rejects.toThrow()
    await expect(ask('datasets/preview', { ...prompt, place: 0, role: 'nobody' })).rejects.toThrow(
      /has no role "nobody"/,
    )
    await expect(
      ask('datasets/preview', { ...prompt, style: '/etc/style.json', place: 0, role: 'planner' }),
    ).rejects.toThrow(/style "\/etc\/style.json" is not known/)
  })
})

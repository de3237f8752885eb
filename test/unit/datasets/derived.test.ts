/** Saved sets, splits, and the data of jobs: what the engine reads is what the file holds. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { saveRows, saveSplit } from '../../../src-main/datasets/derived'
import { prepareJobData } from '../../../src-main/datasets/job-data'
import { readRows } from '../../../src-main/engine/data/rows'
import { type JobSpec, jobSpec } from '../../../src-main/engine/job-spec'
import { cells, file, open, parquet, work } from './files'

const lines = (path: string): string[] => readFileSync(path, 'utf8').trimEnd().split('\n')

describe('saved sets', () => {
  it('a filtered, sorted and mapped set keeps text and digits', async () => {
    const rows = [
      '{"q":"007","n":7.50,"o":{"x": 1.0},"l":null}',
      '{"q":"b","n":12345678901234567890}',
      '{"q":"a\\n","n":2}',
    ]
    const dataset = await open(file('source.jsonl', rows.join('\n')))
    const order = await dataset.order({
      filter: [{ column: 1, kind: 'more', value: '2.5' }],
      sort: [{ column: 1, descending: true }],
    })
    const target = join(work, 'derived', 'new.jsonl')
    expect(
      await saveRows(dataset, target, {
        order,
        columns: [
          { from: 1, name: 'number' },
          { from: 0, name: 'question' },
        ],
      }),
    ).toBe(2)
    expect(lines(target)).toEqual([
      '{"number":12345678901234567890,"question":"b"}',
      '{"number":7.50,"question":"007"}',
    ])
    const whole = join(work, 'derived', 'whole.jsonl')
    await saveRows(dataset, whole)
    expect(lines(whole)[0]).toBe('{"q":"007","n":7.50,"o":{"x": 1.0},"l":null}')
    expect((await open(whole)).info.columns).toEqual(dataset.info.columns)
  })

  it('refuses a name that is taken, an empty set and a column twice, and leaves nothing behind', async () => {
    const path = file('taken.jsonl', '{"q":1}\n{"q":2}\n')
    const dataset = await open(path)
    await expect(saveRows(dataset, path)).rejects.toThrow('exists already')
    expect(lines(path)).toHaveLength(2)
    const none = await dataset.order({ search: { text: 'nothing' } })
    await expect(saveRows(dataset, join(work, 'none.jsonl'), { order: none })).rejects.toThrow('No row is left')
    await expect(saveRows(dataset, join(work, 'new.csv'))).rejects.toThrow('does not end in ".jsonl"')
    const columns = [0, 0].map((from) => ({ from, name: 'q' }))
    await expect(saveRows(dataset, join(work, 'none.jsonl'), { columns })).rejects.toThrow(
      'Two columns would be called "q"',
    )
    const stopped = { signal: AbortSignal.abort() }
    await expect(saveRows(dataset, join(work, 'none.jsonl'), stopped)).rejects.toThrow()
    expect(readdirSync(work).filter((name) => name.startsWith('none') || name.startsWith('.incomplete'))).toEqual([])
  })

  it('splits by seed: all rows once, each part in order, the same again for the same seed', async () => {
    const all = Array.from({ length: 5000 }, (_, i) => `{"n":${i}}`)
    const dataset = await open(file('split.jsonl', all.join('\n')))
    const split = async (name: string, seed: number): Promise<[string[], string[]]> => {
      const targets = { train: join(work, `${name}-train.jsonl`), heldOut: join(work, `${name}-held-out.jsonl`) }
      expect(await saveSplit(dataset, targets, { seed, heldOut: 500 })).toEqual({ train: 4500, heldOut: 500 })
      return [lines(targets.train), lines(targets.heldOut)]
    }
    const [train, heldOut] = await split('one', 42)
    const held = new Set(heldOut)
    expect(held.size).toBe(500)
    expect(train).toEqual(all.filter((line) => !held.has(line)))
    expect(heldOut).toEqual(all.filter((line) => held.has(line)))
    expect(await split('again', 42)).toEqual([train, heldOut])
    expect((await split('other', 43))[1]).not.toEqual(heldOut)
    const targets = { train: join(work, 'a.jsonl'), heldOut: join(work, 'b.jsonl') }
    await expect(saveSplit(dataset, targets, { seed: 1, heldOut: 5000 })).rejects.toThrow(
      '5000 of 5000 rows cannot be held out',
    )
  })
})

describe('data of jobs', () => {
  const job = (data: object, output: string): JobSpec =>
    jobSpec.parse({
      kind: 'inner',
      role: 'solver',
      model: '/m',
      output: join(work, output),
      data,
      validation: { data: { file: join(work, 'held.jsonl') } },
    })

  it('what the engine reads stays as it is', async () => {
    const spec = job({ file: file('plain.json', '{"rows":[{"q":1}]}'), field: 'rows' }, 'run')
    expect((await prepareJobData(spec)).spec).toEqual(spec)
    expect(existsSync(spec.output)).toBe(false)
  })

  it('csv, parquet, UTF-16 and a wrong name become JSON lines that the engine reads unchanged', async () => {
    const q = ['007', '1e5', '0.50', 'NULL', '2024-01-05', ' x "y"', 'é']
    const sources = [
      file('job.csv', `q\n${q.map((t) => `"${t.replaceAll('"', '""')}"\n`).join('')}`),
      await parquet('job.parquet', `SELECT * FROM (VALUES ${q.map((t) => `('${t}')`).join(', ')}) AS v(q)`),
      file('job16.jsonl', Buffer.from(`\ufeff${q.map((t) => `${JSON.stringify({ q: t })}\n`).join('')}`, 'utf16le')),
      file('job-lines.json', q.map((t) => `${JSON.stringify({ q: t })}\n`).join('')),
    ]
    for (const source of sources) {
      const given = job({ file: source, limit: 5 }, 'run')
      const { spec } = await prepareJobData(given, { cache: join(work, 'cache') })
      expect(spec.data).toMatchObject({ limit: 5, shuffle: false })
      expect(dirname(spec.data.file)).toBe(join(given.output, 'data'))
      const { rows } = await readRows({ ...spec.data, limit: 0 }, { required: ['q'] })
      expect(rows.map(({ text }) => text.q)).toEqual(q)
      const { mtimeMs } = statSync(spec.data.file)
      expect((await prepareJobData(given)).spec).toEqual(spec)
      expect(statSync(spec.data.file).mtimeMs).toBe(mtimeMs)
    }
  })

  it('numbers reach the engine with their digits', async () => {
    const rows = '[{"q":7.50,"r":12345678901234567890,"s":3},{"q":1e5,"r":1,"s":-0.5}]'
    const read = await readRows(
      { file: file('exact.json', rows), shuffle: false, limit: 0 },
      { required: ['q', 'r', 's'] },
    )
    expect(read.rows.map(({ text }) => text)).toEqual([
      { q: '7.50', r: '12345678901234567890', s: '3' },
      { q: '1e5', r: '1', s: '-0.5' },
    ])
  })

  it('a file with a faulty row is refused: no run trains on less than it was given', async () => {
    const spec = job({ file: file('ragged.csv', 'q,a\n1,2\n3\n') }, 'refused')
    await expect(prepareJobData(spec)).rejects.toThrow('1 of its rows cannot be read (Line 3 has 1 fields')
    expect(existsSync(spec.output)).toBe(false)
  })

  it.each(['folder', 'folder.csv', 'folder.jsonl'])('a folder (%s) is refused, and what is not there', async (name) => {
    mkdirSync(join(work, name))
    const read = async (spec: ReturnType<typeof job>) =>
      readRows((await prepareJobData(spec)).spec.data, { required: ['q'] })
    await expect(read(job({ file: join(work, name) }, 'refused'))).rejects.toThrow(
      `The data file cannot be read. ${join(work, name)} is a folder. Choose a file.`,
    )
    await expect(read(job({ file: join(work, `no-${name}`) }, 'refused'))).rejects.toThrow(`no-${name} does not exist`)
  })

  it('a csv file saved as JSON lines holds the same cells', async () => {
    const text = 'question,answer\n"What is\n1 + 1?",2\n'
    const dataset = await open(file('same.csv', text))
    const target = join(work, 'same.jsonl')
    await saveRows(dataset, target)
    expect(await cells(await open(target))).toEqual(await cells(dataset))
  })
})

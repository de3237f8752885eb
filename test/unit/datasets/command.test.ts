/** `npm run data`: what it prints, how it refuses, and what is left behind. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runDataCommand } from '../../../src-main/cli/data'
import { file, open, work } from './files'

afterEach(() => vi.restoreAllMocks())

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' }
  const keep = (stream: 'out' | 'err') => (text: unknown, done?: unknown) => {
    printed[stream] += String(text)
    if (typeof done === 'function') (done as () => void)()
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'))
  vi.spyOn(process.stderr, 'write').mockImplementation(keep('err'))
  const code = await runDataCommand(args)
  vi.restoreAllMocks()
  return { code, ...printed }
}

describe('npm run data', () => {
  const path = file('command.json', '{"data":[{"q":"007","n":7.50},{"q":" ","n":2},{"q":null,"n":3}]}')

  it('describe prints one JSON object', async () => {
    const { code, out, err } = await run('describe', path)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.trimEnd()).not.toContain('\n')
    expect(JSON.parse(out)).toEqual({
      format: 'json',
      rows: 3,
      columns: [
        { name: 'q', type: 'text', nulls: 1, blank: 1 },
        { name: 'n', type: 'number', nulls: 0, blank: 0 },
      ],
      problems: [],
    })
  })

  it('rows prints JSON lines, from a row on and so many', async () => {
    expect((await run('rows', path)).out).toBe('{"q":"007","n":"7.50"}\n{"q":" ","n":2}\n{"q":null,"n":3}\n')
    expect((await run('rows', path, '--from', '1', '--count', '1')).out).toBe('{"q":" ","n":2}\n')
    expect((await run('rows', path, '--from', '3')).out).toBe('')
    const long = file('many.csv', `n\n${Array.from({ length: 2500 }, (_, i) => `${i}\n`).join('')}`)
    const { out } = await run('rows', long, '--from', '990')
    expect(out).toBe(Array.from({ length: 1510 }, (_, i) => `{"n":"${990 + i}"}\n`).join(''))
  })

  it('takes a field, and names rows that were left out', async () => {
    expect((await run('rows', file('f.json', '{"x":[{"a":1}]}'), '--field', 'x')).out).toBe('{"a":1}\n')
    const { code, out, err } = await run('rows', file('left.jsonl', '{"a":1}\noops\n'))
    expect([code, out, err]).toEqual([0, '{"a":1}\n', '1 rows of the file could not be read; "describe" lists them.\n'])
  })

  it('ends in one sentence on standard error and a code', async () => {
    for (const bad of [
      '/nowhere.json',
      file('bad.json', '[{"a":'),
      file('nothing.json', '[]'),
      file('blank.csv', ''),
    ]) {
      const { code, out, err } = await run('describe', bad)
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/^The data file cannot be read: [^\n]+\.\n$/)
    }
    await expect(run('describe')).rejects.toThrow('Name one file.')
    await expect(run('look', path)).rejects.toThrow('There is no "look".')
    await expect(run('rows', path, '--from', '-1')).rejects.toThrow()
    await expect(run('rows', path, '--encoding', 'ebcdic')).rejects.toThrow('--encoding takes latin1')
  })
})

describe('what is open', () => {
  it('answers many questions at once and leaves nothing behind when closed', async () => {
    const cache = join(work, 'own cache')
    const dataset = await open(file('busy.jsonl', Array.from({ length: 9000 }, (_, i) => `{"n":${i}}`).join('\n')), {
      cache,
    })
    const order = await dataset.order({ sort: [{ column: 0, descending: true }] })
    const [pages, sorted, statistics] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, (_, i) => dataset.rows(400 * i, 3))),
      Promise.all(Array.from({ length: 20 }, (_, i) => order.rows(400 * i, 3))),
      Promise.all([dataset.statistics(0), dataset.statistics(0, order)]),
    ])
    expect(pages.map(([row]) => row.place)).toEqual(Array.from({ length: 20 }, (_, i) => 400 * i))
    expect(sorted.map(([row]) => row.place)).toEqual(Array.from({ length: 20 }, (_, i) => 8999 - 400 * i))
    expect(statistics[0].rows).toBe(9000)
    expect(readdirSync(cache)).toHaveLength(1)
    await dataset.close()
    expect(readdirSync(cache)).toEqual([])
  })

  it('takes away what a killed process left, and nothing when opening is cancelled', async () => {
    const cache = join(work, 'left cache')
    mkdirSync(join(cache, 'table-999999999-abc'), { recursive: true })
    const path = file('stop.jsonl', '{"n":1}\n'.repeat(500_000))
    const stop = new AbortController()
    const opening = open(path, { cache, signal: stop.signal, onProgress: () => stop.abort() })
    await expect(opening).rejects.toMatchObject({ name: 'AbortError' })
    expect(existsSync(cache) ? readdirSync(cache) : null).toEqual([])
  })
})

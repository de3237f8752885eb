/** Plain files: torn lines, cut characters, damaged projects, names. */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { folderBytes } from '../../../src-main/workspace/files'
import { newRunId } from '../../../src-main/workspace/ids'
import { wholeLines } from '../../../src-main/workspace/json-lines'
import { lastLines, logSlice } from '../../../src-main/workspace/log-slice'
import { Places } from '../../../src-main/workspace/places'
import { ProjectStore } from '../../../src-main/workspace/project-store'
import { runId } from '../../../src-main/bridge/views'

let folder: string
const file = (name: string): string => path.join(folder, name)
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'studio-files-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}

describe('lines', () => {
  it('are whole ones only, with their places in bytes', async () => {
    writeFileSync(file('a.jsonl'), '{"ä":1}\n\nsecond\n{"torn":')
    expect(await collect(wholeLines(file('a.jsonl')))).toEqual([
      { text: '{"ä":1}', offset: 0, length: 8 },
      { text: '', offset: 9, length: 0 },
      { text: 'second', offset: 10, length: 6 },
    ])
    expect((await collect(wholeLines(file('a.jsonl'), 10))).map(({ text }) => text)).toEqual(['second'])
  })

  it('longer than a chunk stay whole', async () => {
    const lines = [1, 2, 3].map((n) => 'ö'.repeat(n * 700_000))
    writeFileSync(file('long.jsonl'), lines.map((line) => line + '\n').join(''))
    const read = await collect(wholeLines(file('long.jsonl')))
    expect(read.map(({ text }) => text.length)).toEqual(lines.map((line) => line.length))
    expect(read.map(({ offset }) => offset)).toEqual([0, 1_400_001, 4_200_002])
    expect(read[2].text === lines[2]).toBe(true)
  })

  it('of a file that is not there are none', async () => expect(await collect(wholeLines(file('none')))).toEqual([]))
})

describe('parts of a log', () => {
  it('join to the whole file, characters uncut, whatever the step', async () => {
    const text = 'a\nµ × → 𝔸\n'.repeat(20)
    writeFileSync(file('log.txt'), text)
    for (const limit of [4, 5, 7, 64]) {
      let joined = ''
      for (let from = 0; ;) {
        const slice = await logSlice(file('log.txt'), from, limit)
        expect(slice.from).toBe(from)
        if (slice.to === slice.size) {
          joined += slice.text
          break
        }
        joined += slice.text
        from = slice.to
      }
      expect(joined).toBe(text)
    }
  })

  it('from its end begin with a whole character', async () => {
    writeFileSync(file('log.txt'), 'µ'.repeat(10))
    const slice = await logSlice(file('log.txt'), null, 5)
    expect(slice).toEqual({ text: 'µµ', from: 16, to: 20, size: 20 })
    expect(await lastLines(file('log.txt'), 1)).toBe('µ'.repeat(10))
    expect(await lastLines(file('none'), 1)).toBeNull()
    expect(await logSlice(file('log.txt'), 1000, 5)).toEqual({ text: '', from: 20, to: 20, size: 20 })
  })
})

describe('projects', () => {
  const content = {
    version: 1 as const,
    title: 'A',
    description: '',
    created: 1,
    demo: false,
    pipeline: { version: 1 as const, title: 'A', description: '', style: 'sequential', systems: [], steps: [] },
  }

  it('that are damaged are reported and left alone', async () => {
    const places = new Places(folder)
    const projects = new ProjectStore(places)
    await projects.create('Good', content)
    mkdirSync(places.project('Bad'), { recursive: true })
    writeFileSync(places.projectFile('Bad'), '{"version": 1, "title": "My work",')
    mkdirSync(places.project('Newer'), { recursive: true })
    writeFileSync(places.projectFile('Newer'), JSON.stringify({ ...content, version: 2 }))
    const { projects: good, damaged } = await projects.list()
    expect(good.map(({ name }) => name)).toEqual(['Good'])
    expect(damaged.map(({ name }) => name)).toEqual(['Bad', 'Newer'])
    expect(damaged[0].error.what).toContain(places.projectFile('Bad'))
    expect(damaged[1].error.why).toContain('version')
    await expect(projects.create('Bad', content)).rejects.toThrow('already')
    await expect(projects.create('bad', content)).rejects.toThrow('"Bad"')
    expect(readFileSync(places.projectFile('Bad'), 'utf8')).toBe('{"version": 1, "title": "My work",')
  })

  it('are read again when their file has changed', async () => {
    const places = new Places(folder)
    const projects = new ProjectStore(places)
    await projects.create('Good', content)
    await new Promise((resolve) => setTimeout(resolve, 20))
    writeFileSync(places.projectFile('Good'), JSON.stringify({ ...content, title: 'B' }))
    expect((await projects.get('Good')).title).toBe('B')
  })
})

describe('run ids', () => {
  it('sort by time, also within a millisecond, and are safe names', () => {
    const ids = Array.from({ length: 200 }, () => newRunId('Outer links: è/..\\', 1_700_000_000_000))
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(ids).size).toBe(200)
    for (const id of ids) expect(runId.safeParse(id).success).toBe(true)
    expect(ids[0]).toMatch(/^\d{8}-\d{6}-\d{3}-outer-links-e-[a-z2-9]{4}$/)
  })
})

it('bytes of a folder are those of all files below', async () => {
  mkdirSync(file('a/b'), { recursive: true })
  writeFileSync(file('a/x'), 'xxx')
  writeFileSync(file('a/b/y'), 'yy')
  appendFileSync(file('z'), 'z')
  expect(await folderBytes(folder)).toBe(6)
  expect(await folderBytes(file('none'))).toBe(0)
})

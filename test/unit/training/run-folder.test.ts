/** A run's journal after its engine was killed in the middle of a line. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RunFolder } from '../../../src-main/engine/run-folder'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'run-folder-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('starts a line of its own after half a line', () => {
  const started = { kind: 'started', time: 1, job: 'inner', resumedFrom: null } as const
  new RunFolder(folder).write(started)
  appendFileSync(join(folder, 'journal.jsonl'), '{"kind":"log","time":2,"mess')
  const again = new RunFolder(folder)
  again.write({ ...started, resumedFrom: 4 })
  again.write({ kind: 'log', time: 3, level: 'info', message: 'on' })
  const lines = readFileSync(join(folder, 'journal.jsonl'), 'utf8').split('\n')
  expect(lines).toHaveLength(5)
  expect(JSON.parse(lines[2])).toEqual({ ...started, resumedFrom: 4 })
  expect(JSON.parse(lines[3])).toMatchObject({ message: 'on' })
})

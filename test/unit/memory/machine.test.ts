/** What a machine has left, containers included. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { totalmem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { availableMemory, containerLimits, machineMemory } from '../../../src-main/engine/memory/machine'

let mount: string
beforeEach(() => void (mount = mkdtempSync(join(tmpdir(), 'machine-'))))
afterEach(() => rmSync(mount, { recursive: true, force: true }))

function group(path: string, files: Record<string, string>): void {
  mkdirSync(join(mount, path), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(mount, path, name), `${text}\n`)
}

test('limits of the own group and of those around it count, caches that can go do not', () => {
  writeFileSync(join(mount, 'self'), '0::/lab/job\n')
  group('/', {})
  group('/lab', { 'memory.max': '8000', 'memory.current': '5000', 'memory.stat': 'anon 1\ninactive_file 3000\nx 2' })
  group('/lab/job', { 'memory.max': 'max', 'memory.current': '10' })
  expect(containerLimits(join(mount, 'self'), mount)).toEqual([{ limit: 8000, used: 2000 }])
})

test('there are none without such groups, or in another version of them', () => {
  expect(containerLimits(join(mount, 'nothing'), mount)).toEqual([])
  writeFileSync(join(mount, 'self'), '12:memory:/docker/1\n')
  expect(containerLimits(join(mount, 'self'), mount)).toEqual([])
})

test('what is left is less than all, and all no more than the machine has', () => {
  expect(availableMemory()).toBeGreaterThan(0)
  expect(availableMemory()).toBeLessThan(machineMemory())
  expect(machineMemory()).toBeLessThanOrEqual(totalmem())
})

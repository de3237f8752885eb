/** Settings, the app's log, and what is told of the machine. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os, { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemInfo } from '../../../src-main/bridge/views'
import { AppLog } from '../../../src-main/system/app-log'
import { SystemProbe } from '../../../src-main/system/probes'
import { SettingsStore } from '../../../src-main/system/settings-store'

let folder: string
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'studio-system-'))))
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

describe('settings', () => {
  const file = () => path.join(folder, 'user-data', 'settings.json')

  it('are in force at once and there at the next start, the last change last', async () => {
    const store = new SettingsStore(file(), () => undefined)
    expect(store.get()).toMatchObject({ appearance: 'system', workspace: null, view: {} })
    void store.update({ appearance: 'dark' })
    void store.update({ view: { screen: '"runs"' } })
    void store.update({ appearance: 'light' })
    expect(store.get().appearance).toBe('light')
    await store.written()
    expect(new SettingsStore(file(), () => undefined).get()).toMatchObject({
      appearance: 'light',
      view: { screen: '"runs"' },
    })
  })

  it('that are damaged are kept beside, and the defaults hold', () => {
    mkdirSync(path.dirname(file()), { recursive: true })
    writeFileSync(file(), '{"appearance": "dar')
    const problems: unknown[] = []
    expect(new SettingsStore(file(), (p) => problems.push(p)).get().appearance).toBe('system')
    expect(problems).toHaveLength(1)
    expect(readFileSync(`${file()}.damaged`, 'utf8')).toBe('{"appearance": "dar')
  })

  it('that cannot be written are a problem told, not an error thrown', async () => {
    writeFileSync(path.join(folder, 'user-data'), 'a file where the folder should be')
    const problems: unknown[] = []
    const store = new SettingsStore(file(), (p) => problems.push(p))
    await store.update({ appearance: 'dark' })
    expect(store.get().appearance).toBe('dark')
    expect(problems).toHaveLength(1)
  })
})

describe('the log of the app', () => {
  it('holds errors with their causes, and one file before it when it grows', () => {
    const log = new AppLog(folder)
    log.write('it failed', new Error('outer', { cause: new TypeError('inner') }))
    const text = readFileSync(path.join(folder, 'main.log'), 'utf8')
    expect(text).toMatch(/^\d{4}-\d\d-\d\dT.*Z it failed: Error: outer\n/)
    expect(text).toContain('caused by TypeError: inner')
    log.write('x'.repeat(1.1 * 2 ** 20))
    log.write('small')
    expect(statSync(path.join(folder, 'main.log')).size).toBeLessThan(100)
    expect(statSync(path.join(folder, 'main.log.1')).size).toBeGreaterThan(2 ** 20)
  })

  it('that cannot be written stops nothing', () => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    writeFileSync(path.join(folder, 'logs'), 'a file')
    expect(() => new AppLog(path.join(folder, 'logs')).write('x')).not.toThrow()
  })
})

it('the machine is told as the contract says, the disk of a folder that is not there yet too', async () => {
  const probe = new SystemProbe()
  const info = systemInfo.parse(await probe.read(path.join(folder, 'not', 'yet'), 123))
  expect(info.cpu.cores).toBe(os.availableParallelism())
  expect(info.memory.available).toBeGreaterThan(0)
  expect(info.memory.available).toBeLessThanOrEqual(info.memory.total)
  expect(info.disk!.free).toBeGreaterThan(0)
  expect(info.disk!.free).toBeLessThanOrEqual(info.disk!.total)
  expect(info.engineBytes).toBe(123)
  const end = Date.now() + 400
  while (Date.now() < end);
  const { load } = (await probe.read(folder, null)).cpu
  expect(load).toBeGreaterThan(0)
  expect(load).toBeLessThanOrEqual(1)
})

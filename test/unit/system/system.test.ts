/** Settings, the app's log, and what is told of the machine. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os, { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemInfo } from '../../../src-main/bridge/views'
import { AppLog } from '../../../src-main/system/app-log'
import { SystemProbe } from '../../../src-main/system/probes'
import { Problems } from '../../../src-main/system/problems'
import { settings, SettingsStore, windowPlace } from '../../../src-main/system/settings-store'

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

  it('that are damaged in part keep the rest, and a person is told in words', () => {
    mkdirSync(path.dirname(file()), { recursive: true })
    const text = JSON.stringify({ appearance: 'pink', workspace: '/data/mine', window: { width: 1 }, view: { a: '1' } })
    writeFileSync(file(), text)
    const problems: unknown[] = []
    expect(new SettingsStore(file(), (p) => problems.push(p)).get()).toEqual({
      appearance: 'system',
      workspace: '/data/mine',
      window: null,
      view: { a: '1' },
      hubEndpoint: null,
    })
    expect(problems).toEqual([expect.objectContaining({ why: expect.stringMatching(/appearance.*window/) })])
    expect(readFileSync(`${file()}.damaged`, 'utf8')).toBe(text)
  })

  it('take the place of any window', () => {
    const place = windowPlace({ x: -3.5, y: 0.2, width: 120, height: 90.5 }, false)
    expect(place).toEqual({ x: -3, y: 0, width: 400, height: 300, maximized: false })
    expect(settings.parse({ window: place }).window).toEqual(place)
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

it('problems stay until they are dismissed, each once, the newest twenty', () => {
  const problems = new Problems()
  const problem = (n: number) => ({ what: `What ${n}.`, why: 'Why.', next: 'Next.' })
  problems.add(problem(1))
  problems.add(problem(2))
  problems.add({ ...problem(1), next: 'Another.' })
  expect(problems.list).toEqual([problem(1), problem(2)])
  problems.dismiss({ ...problem(1) })
  expect(problems.list).toEqual([problem(2)])
  for (let n = 3; n < 40; n++) problems.add(problem(n))
  expect(problems.list).toEqual(Array.from({ length: 20 }, (_, i) => problem(20 + i)))
  problems.clear()
  expect(problems.list).toEqual([])
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

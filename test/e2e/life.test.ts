/**
 * The life of the main process: with a run going it outlives its window, a second start shows the window again, without a run it ends
 * with its window; and what a killed main leaves is put right at the next start.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findElectron } from '../../scripts/electron-runtime.mjs'
import type { RequestName, RequestParams, RequestResult, RunSummary } from '../../src-main/bridge/contract'
import { launchStudio, type StudioUnderTest, removeFolder } from './launch'

const repository = path.join(import.meta.dirname, '../..')
const folder = mkdtempSync(path.join(tmpdir(), 'studio-life-'))
const folders = { workspace: path.join(folder, 'workspace'), userData: path.join(folder, 'user-data') }
let studio: StudioUnderTest
let page: Page

/** The long demo: its first step goes on for long enough to be looked at. With a microphone to refuse on any machine. */
async function launch(): Promise<void> {
  studio = await launchStudio({
    ...folders,
    args: ['--use-fake-device-for-media-stream'],
    env: { SOME_SECRET_TOKEN: 'abc' },
  })
  page = studio.page
}

beforeAll(launch)
afterAll(async () => {
  await studio?.close()
  await removeFolder(folder)
})

async function ask<N extends RequestName>(name: N, params: RequestParams<N>): Promise<RequestResult<N>> {
  const request = [name, JSON.stringify(params)] as const
  const reply = await page.evaluate(([n, p]) => window.studio.request(n, JSON.parse(p)), request)
  if (!reply.ok) throw new Error(JSON.stringify(reply.error))
  return reply.value as RequestResult<N>
}

async function firstRun(): Promise<RunSummary> {
  const { runs } = await ask('runs/list', { project: 'Demo' })
  return runs.at(-1)!
}

async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`${what}: not within 60 s`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The process id of the engine that works on a run. */
function enginePid(run: string): number {
  const file = path.join(folders.workspace, 'projects/Demo/runs', run, 'heartbeat.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid
}

function recordOf(run: string): { history: { state: string }[] } {
  const file = path.join(folders.workspace, 'projects/Demo/runs', run, 'run.json')
  return JSON.parse(readFileSync(file, 'utf8')) as { history: { state: string }[] }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Starts the app a second time, as a double click would; fulfilled when that process has ended. */
async function startAgain(): Promise<void> {
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const second = spawn(
    findElectron()!.executable,
    [repository, `--user-data-dir=${folders.userData}`, '--disable-gpu', ...sandbox],
    { stdio: 'ignore', env: { ...process.env, STUDIO_WORKSPACE: folders.workspace } },
  )
  await once(second, 'exit')
}

const countWindows = (): Promise<number> =>
  studio.app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)

describe('with a run going', () => {
  let run: string
  let engine: number

  beforeAll(async () => {
    await ask('pipeline/start', { project: 'Demo', steps: { kind: 'next' } })
    await until('the run goes', async () => (await firstRun()).lastMetrics !== null)
    run = (await firstRun()).id
    engine = enginePid(run)
  })

  it('the engine has nothing of the environment that it does not need', () => {
    if (process.platform !== 'linux') return
    expect(readFileSync(`/proc/${engine}/environ`, 'utf8')).not.toContain('SOME_SECRET_TOKEN')
  })

  it('closing the window leaves main and the run alive, and a second start shows it again', async () => {
    await page.close()
    await until('the window is gone', async () => (await countWindows()) === 0)
    expect(lives(engine)).toBe(true)
    const [shown] = await Promise.all([studio.app.waitForEvent('window'), startAgain()])
    page = shown
    await page.waitForLoadState('load')
    expect((await firstRun()).id).toBe(run)
    expect(enginePid(run)).toBe(engine)
  })

  it('another start makes no second window', async () => {
    await startAgain()
    expect(await countWindows()).toBe(1)
  })

  it('a killed main takes its engine along, and the next start shows the run as interrupted', async () => {
    if (['done', 'failed'].includes((await firstRun()).state)) throw new Error('the run was too short for this test')
    await studio.close()
    await until('the engine ends', () => !lives(engine))
    await launch()
    expect(await firstRun()).toMatchObject({ id: run, state: 'interrupted', resumable: true })
  })

  it('Ctrl-C, which reaches every process of the group and twice, leaves the run paused with a last checkpoint', async () => {
    if (process.platform === 'win32') return
    const resumed = Date.now()
    await ask('runs/resume', { project: 'Demo', run })
    await until('it computes', async () => ((await firstRun()).lastMetrics?.time ?? 0) > resumed)
    const { pid } = studio.app.process()
    const exited = once(studio.app.process(), 'exit')
    // Playwright makes the app the leader of its own group.
    process.kill(-pid!, 'SIGINT')
    await new Promise((resolve) => setTimeout(resolve, 100))
    if (lives(pid!)) process.kill(-pid!, 'SIGINT')
    await exited
    expect(recordOf(run).history.at(-1)!.state).toBe('paused')
    await launch()
    const paused = await firstRun()
    expect(paused).toMatchObject({ id: run, state: 'paused', error: null })
    expect(paused.checkpointStep).toBeGreaterThan(0)
  })

  it('and it can be resumed; without a window main ends when the run does', async () => {
    await ask('runs/resume', { project: 'Demo', run })
    await until('the run goes', async () => (await firstRun()).state === 'running')
    const exited = once(studio.app.process(), 'exit')
    await page.close()
    expect((await exited)[0]).toBe(0)
    expect(recordOf(run).history.at(-1)!.state).toBe('done')
  })
})

describe('without a run', () => {
  beforeAll(launch)

  it('the app ends with its window and remembers where that was', async () => {
    await studio.app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0].setSize(1100, 700))
    await ask('settings/appearance', { appearance: 'dark' })
    const exited = once(studio.app.process(), 'exit')
    await studio.app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0].close())
    expect((await exited)[0]).toBe(0)
    expect(existsSync(path.join(folders.userData, 'settings.json'))).toBe(true)
    await launch()
    const size = await studio.app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0].getSize())
    expect(size).toEqual([1100, 700])
    expect((await ask('settings/get', {})).appearance).toBe('dark')
  })

  it('a damaged settings file is told until it is dismissed, and the rest of it holds', async () => {
    await studio.close()
    const file = path.join(folders.userData, 'settings.json')
    const known = JSON.parse(readFileSync(file, 'utf8')) as object
    writeFileSync(file, JSON.stringify({ ...known, window: { width: 'wide' } }))
    await launch()
    expect((await ask('settings/get', {})).appearance).toBe('dark')
    const { problems } = await ask('app/info', {})
    expect(problems).toEqual([expect.objectContaining({ what: 'The settings could not be read.' })])
    await ask('app/dismissProblem', { problem: problems[0] })
    expect((await ask('app/info', {})).problems).toEqual([])
  })

  it('refuses what the page must not do: leave, open windows, fetch from elsewhere, ask for devices', async () => {
    const found = await page.evaluate(async () => {
      const opened = window.open('https://example.com')
      const fetched = await fetch('https://example.com').then(
        () => 'fetched',
        () => 'refused',
      )
      const file = await fetch('file:///etc/passwd').then(
        () => 'fetched',
        () => 'refused',
      )
      // In a callback of its own: what the test evaluates itself is free of the policy.
      const evaluated = await new Promise((resolve) =>
        setTimeout(() => {
          try {
            resolve(new Function('return 1')())
          } catch (error) {
            resolve((error as Error).name)
          }
        }),
      )
      const media = await navigator.mediaDevices.getUserMedia({ audio: true }).then(
        () => 'granted',
        (error: Error) => error.name,
      )
      const notified = await Notification.requestPermission()
      location.href = 'https://example.com'
      await new Promise((resolve) => setTimeout(resolve, 500))
      return { opened, fetched, file, evaluated, media, notified, address: location.href }
    })
    expect(found).toEqual({
      opened: null,
      fetched: 'refused',
      file: 'refused',
      evaluated: 'EvalError',
      media: 'NotAllowedError',
      notified: 'denied',
      address: 'app://studio/index.html',
    })
  })
})

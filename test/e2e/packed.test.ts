/**
 * The packed app: `npm run pack` makes it, and it starts and computes from its archive. Its executable refuses --inspect (a fuse),
 * so the test reaches the page through Chromium's own debugging port.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { removeFolder } from './launch'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findElectron } from '../../scripts/electron-runtime.mjs'

const repository = path.join(import.meta.dirname, '../..')
const folder = mkdtempSync(path.join(tmpdir(), 'studio-packed-'))
const program = path.join(repository, 'release/linux-unpacked/recursivemas-studio')
let app: ChildProcess | undefined
let browser: Browser | undefined
let page: Page

/** The debugging address that Chromium announces on standard error. */
function debuggingAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stderr?.on('data', (data: Buffer) => {
      text += data.toString()
      const address = /DevTools listening on (ws:\S+)/.exec(text)
      if (address) resolve(address[1])
    })
    child.on('exit', (code) => reject(new Error(`The packed app ended (${code}). Its output:\n${text}`)))
  })
}

/**
 * Connects once the app has its page: Chromium leaves a connection that comes earlier without an answer.
 * `address` is the browser's, as announced.
 */
async function connectToPage(address: string): Promise<{ browser: Browser; page: Page }> {
  const list = `http://${new URL(address).host}/json/list`
  const targets = async () => (await (await fetch(list)).json()) as { type: string; url: string }[]
  await vi.waitUntil(async () => (await targets()).some(({ type, url }) => type === 'page' && url.startsWith('app:')), {
    timeout: 60_000,
    interval: 200,
  })
  const connected = await chromium.connectOverCDP(address, { timeout: 60_000 })
  const [page] = connected.contexts().flatMap((context) => context.pages())
  return { browser: connected, page }
}

/** The packed app is Linux's here; on other systems electron-builder lays it out differently. */
describe.runIf(process.platform === 'linux')('the packed app', () => {
  beforeAll(async () => {
    const packed = spawnSync(process.execPath, ['scripts/run.mjs', 'pack'], { cwd: repository, encoding: 'utf8' })
    if (packed.status !== 0) throw new Error(`npm run pack failed:\n${packed.stdout}\n${packed.stderr}`)
    const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
    app = spawn(
      program,
      [...sandbox, '--disable-gpu', '--remote-debugging-port=0', `--user-data-dir=${path.join(folder, 'user-data')}`],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, STUDIO_WORKSPACE: path.join(folder, 'workspace') },
      },
    )
    ;({ browser, page } = await connectToPage(await debuggingAddress(app)))
    await page.getByRole('navigation').first().waitFor()
  }, 300_000)

  afterAll(async () => {
    await browser?.close()
    if (app && app.exitCode === null) {
      app.kill('SIGKILL')
      await once(app, 'exit')
    }
    await removeFolder(folder)
  })

  it('starts without a problem, as a packaged app of the runtime at hand', async () => {
    const reply = await page.evaluate(() => window.studio.request('app/info', {}))
    expect(reply).toMatchObject({
      ok: true,
      value: { name: 'RecursiveMAS Studio', packaged: true, electron: findElectron()?.version, problems: [] },
    })
  })

  it('holds nothing of the development runtime', () => {
    const resources = path.join(path.dirname(program), 'resources')
    expect(existsSync(path.join(resources, 'app'))).toBe(false)
    expect(existsSync(path.join(resources, 'app.asar'))).toBe(true)
    expect(readFileSync(path.join(resources, 'app.asar')).includes('no-sandbox')).toBe(false)
  })

  it('computes: its engine process loads the native modules beside the archive and trains', async () => {
    const started = await page.evaluate(() =>
      window.studio.request('pipeline/start', { project: 'Demo', steps: { kind: 'next' } }),
    )
    expect(started).toMatchObject({ ok: true })
    await expect
      .poll(
        async () => {
          const reply = await page.evaluate(() => window.studio.request('runs/list', { project: 'Demo' }))
          if (!reply.ok) throw new Error(reply.error.what)
          const [run] = reply.value.runs
          if (run.state === 'failed') throw new Error(JSON.stringify(run))
          return run.state === 'done' || (run.progress?.done ?? 0) > 0
        },
        { timeout: 120_000, interval: 500 },
      )
      .toBe(true)
  })
})

/**
 * Starts the built app for an end-to-end test, on whichever runtime the set-up found, with folders of its own, and takes its
 * screenshots. Needs a display: run the tests with `npm test -- e2e`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { _electron, type ElectronApplication, type Page } from 'playwright-core'
import { findElectron } from '../../scripts/electron-runtime.mjs'

const repository = path.join(import.meta.dirname, '../..')
const screenshotFolder = path.join(repository, 'artifacts', 'screenshots')

export interface LaunchOptions {
  /** Folder of the workspace; default: a new temporary one, removed by `close`. */
  readonly workspace?: string
  /** Folder of the app's own settings; default: a new temporary one, removed by `close`. */
  readonly userData?: string
  /** Further command-line options of the app. */
  readonly args?: readonly string[]
  /** Environment variables beside the test's own. */
  readonly env?: Record<string, string>
}

export interface StudioUnderTest {
  readonly app: ElectronApplication
  /** The app's window, its page loaded. */
  readonly page: Page
  readonly workspace: string
  readonly userData: string
  /** What the main process wrote so far on standard output and error. */
  readonly output: () => string
  /** Ends the app, whatever it is doing, and removes the folders that `launchStudio` made. */
  readonly close: () => Promise<void>
}

/** Opens the app and waits for its window. Rejects, with the output of the main process, when none comes. */
export async function launchStudio(options: LaunchOptions = {}): Promise<StudioUnderTest> {
  const runtime = findElectron()
  if (!runtime) throw new Error('There is no Electron runtime. Run the end-to-end tests with: npm test -- e2e')
  const made: string[] = []
  const temporary = (name: string) => {
    const folder = mkdtempSync(path.join(tmpdir(), `studio-${name}-`))
    made.push(folder)
    return folder
  }
  const workspace = options.workspace ?? temporary('workspace')
  const userData = options.userData ?? temporary('user-data')
  const asRoot = process.getuid?.() === 0
  const app = await launchWithRetry({
    executablePath: runtime.executable,
    args: [
      repository,
      `--user-data-dir=${userData}`,
      '--disable-gpu',
      ...(asRoot ? ['--no-sandbox'] : []),
      ...(options.args ?? []),
    ],
    cwd: repository,
    // No emulation: the app's own appearance is what is to be seen.
    colorScheme: null,
    env: { ...withoutUndefined(process.env), STUDIO_WORKSPACE: workspace, ...options.env },
  })
  const output: string[] = []
  const running = app.process()
  running.stdout?.on('data', (data: Buffer) => output.push(data.toString()))
  running.stderr?.on('data', (data: Buffer) => output.push(data.toString()))
  const exited = new Promise<void>((resolve) => running.once('exit', () => resolve()))

  const close = async () => {
    running.kill('SIGKILL')
    await exited
    for (const folder of made) await removeFolder(folder)
  }
  try {
    const page = await app.firstWindow({ timeout: 60_000 })
    // Generous: the two cores may be busy with the run under test.
    page.setDefaultTimeout(60_000)
    await page.waitForLoadState('load')
    return { app, page, workspace, userData, output: () => output.join(''), close }
  } catch (error) {
    await close()
    throw new Error(`The app opened no window. Its output:\n${output.join('')}`, { cause: error })
  }
}

/** The app's own children may write for a moment after it was killed: a folder that was filled meanwhile is emptied anew. */
export async function removeFolder(folder: string): Promise<void> {
  const end = Date.now() + 15_000
  for (;;)
    try {
      rmSync(folder, { recursive: true, force: true })
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
}

/**
 * Playwright misses the page's first navigation when it attaches in the very moment of it, and then waits in vain: another
 * try, after it has ended that process, meets another moment.
 */
async function launchWithRetry(
  options: Parameters<typeof _electron.launch>[0],
  tries = 3,
): Promise<ElectronApplication> {
  try {
    return withLastingPromises(await _electron.launch({ ...options, timeout: 30_000 }))
  } catch (error) {
    if (tries === 1) throw error
    return launchWithRetry(options, tries - 1)
  }
}

/**
 * V8 may collect the promise of what is evaluated in the main process before it is answered, and Playwright then gives up: asked
 * again, it answers. What the tests evaluate may be done twice.
 */
function withLastingPromises(app: ElectronApplication): ElectronApplication {
  const evaluate = app.evaluate.bind(app) as (...args: unknown[]) => Promise<unknown>
  const again = (...args: unknown[]): Promise<unknown> =>
    evaluate(...args).catch((error: Error) => {
      if (!error.message.includes('promise was garbage collected')) throw error
      return evaluate(...args)
    })
  app.evaluate = again as ElectronApplication['evaluate']
  return app
}

/** Content size of the window in CSS pixels: the usual one and the smallest that screens must work in. */
const usualSize = { width: 1280, height: 800 }
const smallSize = { width: 1000, height: 640 }

/**
 * Keeps what the window shows as artifacts/screenshots/NAME-light.png, NAME-dark.png and NAME-small.png (1000 x 640).
 * The window is left as `usualSize`, its appearance as the system's.
 */
export async function takeScreenshots(studio: StudioUnderTest, name: string): Promise<string[]> {
  mkdirSync(screenshotFolder, { recursive: true })
  const files: string[] = []
  const shoot = async (variant: string) => {
    const file = path.join(screenshotFolder, `${name}-${variant}.png`)
    await studio.page.screenshot({ path: file })
    files.push(file)
  }
  await resize(studio, usualSize)
  await setAppearance(studio, 'dark')
  await shoot('dark')
  await setAppearance(studio, 'light')
  await shoot('light')
  await resize(studio, smallSize)
  await shoot('small')
  await resize(studio, usualSize)
  await setAppearance(studio, 'system')
  return files
}

async function resize(
  { app, page }: StudioUnderTest,
  { width, height }: { width: number; height: number },
): Promise<void> {
  await app.evaluate(
    ({ BrowserWindow }, [w, h]) => BrowserWindow.getAllWindows()[0].setContentSize(w, h),
    [width, height],
  )
  await page.waitForFunction(([w, h]) => window.innerWidth === w && window.innerHeight === h, [width, height])
}

/** Sets the appearance as the operating system would, and waits until the page has it. */
async function setAppearance({ app, page }: StudioUnderTest, mode: 'light' | 'dark' | 'system'): Promise<void> {
  const dark = await app.evaluate(({ nativeTheme }, chosen) => {
    nativeTheme.themeSource = chosen
    return nativeTheme.shouldUseDarkColors
  }, mode)
  await page.waitForFunction((wanted) => matchMedia('(prefers-color-scheme: dark)').matches === wanted, dark)
  // Colours change in a transition of at most 150 ms.
  await page.waitForTimeout(250)
}

function withoutUndefined(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

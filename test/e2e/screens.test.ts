/** Every screen of a fresh workspace: what it says, that the keyboard reaches it, and that axe finds nothing, in light and dark. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventChannel } from '../../src-main/bridge/channels'
import { accessibilityProblems } from './accessibility'
import { launchStudio, takeScreenshots, type StudioUnderTest } from './launch'

let studio: StudioUnderTest
const complaints: string[] = []

beforeAll(async () => {
  studio = await launchStudio({ env: { STUDIO_DEMO: 'short' } })
  studio.page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  studio.page.on('pageerror', (error) => complaints.push(error.message))
  await studio.page.getByRole('heading', { name: /^Demo/ }).waitFor()
})
afterAll(() => studio?.close())

async function setAppearance(appearance: 'light' | 'dark' | 'system'): Promise<void> {
  await studio.page.evaluate(
    (wanted) => window.studio.request('settings/appearance', { appearance: wanted }),
    appearance,
  )
  await studio.page.waitForFunction(
    (wanted) => (document.documentElement.dataset.theme ?? 'system') === wanted,
    appearance,
  )
  await studio.page.waitForTimeout(250)
}

const screens = [
  { name: 'overview', entry: 'Overview', shows: 'Run the demo' },
  { name: 'runs-empty', entry: 'Runs', shows: 'No runs yet' },
  { name: 'checkpoints-empty', entry: 'Checkpoints', shows: 'No checkpoints yet' },
  { name: 'results-empty', entry: 'Results', shows: 'No results yet' },
  { name: 'settings', entry: 'Settings', shows: 'Workspace' },
]

describe.each(screens)('$entry', ({ name, entry, shows }) => {
  it('opens and says what goes here', async () => {
    await studio.page.getByRole('navigation').getByRole('button', { name: entry }).click()
    await studio.page.getByText(shows, { exact: true }).first().waitFor()
    await takeScreenshots(studio, name)
  })

  it.each(['light', 'dark'] as const)('has no accessibility problem in %s', async (appearance) => {
    await setAppearance(appearance)
    expect(await accessibilityProblems(studio.page)).toEqual([])
    await setAppearance('system')
  })
})

it('axe would have found a button without a name', async () => {
  await studio.page.evaluate(() => document.querySelector('main')?.append(document.createElement('button')))
  expect(await accessibilityProblems(studio.page)).toEqual([expect.stringContaining('button-name')])
  await studio.page.evaluate(() => document.querySelector('main > button:last-child')?.remove())
})

describe('the keyboard', () => {
  it('finds a screen by a few letters', async () => {
    const { page } = studio
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').waitFor()
    await takeScreenshots(studio, 'palette')
    expect(await accessibilityProblems(page)).toEqual([])
    await page.keyboard.type('sett')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
  })

  it('goes back, and to screens by number', async () => {
    const { page } = studio
    await page.keyboard.press('Control+3')
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    await page.keyboard.press('Alt+ArrowLeft')
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
  })
})

describe('what goes wrong', () => {
  it('is told on top until it is dismissed, readable and accessible', async () => {
    const { app, page } = studio
    const error = { what: 'The disk is full.', why: 'Nothing could be written.', next: 'Make room, then try again.' }
    await app.evaluate(
      ({ BrowserWindow }, [channel, payload]) =>
        BrowserWindow.getAllWindows()[0].webContents.send(channel, 'notice', payload),
      [eventChannel, { level: 'error', error }] as const,
    )
    const note = page.getByRole('alert').filter({ hasText: error.what })
    await note.getByText(error.next).waitFor()
    await takeScreenshots(studio, 'error-note')
    expect(await accessibilityProblems(page)).toEqual([])
    await note.getByRole('button', { name: 'Dismiss' }).click()
    await note.waitFor({ state: 'detached' })
  })
})

describe('reloading', () => {
  it('comes back to the same screen', async () => {
    const { page } = studio
    await page.keyboard.press('Control+5')
    await page.getByRole('heading', { name: 'Results', exact: true }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Results', exact: true }).waitFor()
  })
})

it('nothing was complained about on the console, the security policy included', () => {
  expect(complaints).toEqual([])
})

/**
 * Models in the real app, from a hub on this machine: searched for, downloaded with a pause, looked at, checked, deleted; brought in
 * from a folder and from a Hugging Face cache; a gated one behind a key that is kept in the system's key store, or for the session.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeHub, goodToken } from '../unit/hub/fake-hub'
import { accessibilityProblems } from './accessibility'
import { launchStudio, takeScreenshots, type StudioUnderTest, removeFolder } from './launch'

const planner = path.join(import.meta.dirname, '../../native-assets/demo/models/planner')
const file = (name: string, lfs = false) => ({ path: name, bytes: readFileSync(path.join(planner, name)), lfs })
const files = [
  file('config.json'),
  file('tokenizer.json'),
  file('tokenizer_config.json'),
  file('model.safetensors', true),
  { path: 'README.md', bytes: Buffer.from('# A model'), lfs: false },
]
const needed = files.slice(0, 4)

const hub = new FakeHub()
const folder = mkdtempSync(path.join(tmpdir(), 'studio-models-'))
const workspace = path.join(folder, 'Arbeitsplatz für Modelle')
const cache = path.join(folder, 'cache')
const complaints: string[] = []
let studio: StudioUnderTest
let page: Page

/** A Hugging Face cache as other programs leave it: blobs, and a snapshot of links to them. */
function fillCache(): void {
  const repository = path.join(cache, 'hub', 'models--acme--cached')
  const snapshot = path.join(repository, 'snapshots', 'c'.repeat(40))
  mkdirSync(path.join(repository, 'blobs'), { recursive: true })
  mkdirSync(snapshot, { recursive: true })
  for (const { path: name, bytes } of needed) {
    writeFileSync(path.join(repository, 'blobs', name), bytes)
    symlinkSync(path.join('../../blobs', name), path.join(snapshot, name))
  }
}

async function launch(env: Record<string, string> = {}): Promise<void> {
  studio = await launchStudio({
    workspace,
    env: { STUDIO_DEMO: 'short', HF_ENDPOINT: hub.endpoint, HF_HOME: cache, HF_HUB_CACHE: '', ...env },
  })
  page = studio.page
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.getByRole('heading', { name: /^Demo/ }).waitFor()
}

beforeAll(async () => {
  await hub.start()
  hub.add('acme/tiny', { kind: 'model', files, licence: 'mit' })
  hub.add('acme/gated', { kind: 'model', files, gated: true, licence: 'other' })
  hub.add('acme/rows', {
    kind: 'dataset',
    files: [{ path: 'train.jsonl', bytes: Buffer.from('{"question":"1"}\n'), lfs: false }],
  })
  fillCache()
  mkdirSync(workspace)
  await launch()
})
afterAll(async () => {
  await studio?.close()
  await hub.stop()
  await removeFolder(folder)
})

const open = (entry: string): Promise<void> => page.getByRole('navigation').getByRole('button', { name: entry }).click()
const tab = (name: RegExp): Promise<void> => page.getByRole('tab', { name }).click()
const model = (): Locator => page.getByRole('region', { name: 'Model', exact: true })
const repository = (): Locator => page.getByRole('region', { name: 'Repository', exact: true })
const download = (name: string): Locator => page.getByRole('article', { name: `Download of ${name}` }).first()

/** In light and dark; the appearance is left as the system’s. */
async function isAccessible(): Promise<void> {
  for (const appearance of ['light', 'dark', 'system'] as const) {
    await page.evaluate((wanted) => window.studio.request('settings/appearance', { appearance: wanted }), appearance)
    await page.waitForFunction((wanted) => (document.documentElement.dataset.theme ?? 'system') === wanted, appearance)
    await page.waitForTimeout(250)
    if (appearance !== 'system') expect(await accessibilityProblems(page), appearance).toEqual([])
  }
}

async function search(words: string, name: string): Promise<void> {
  await open('Models')
  await tab(/^Search$/)
  await page.getByRole('searchbox').fill(words)
  await page.getByRole('option', { name: new RegExp(`^${name}\\b`) }).click()
  await repository().getByRole('heading', { name, exact: true }).waitFor()
}

describe('the library', () => {
  it('shows what projects have of their own', async () => {
    await open('Models')
    await page.getByRole('option', { name: /^planner/ }).click()
    await model().getByText('Belongs to the project Demo').waitFor()
    await model().getByText('llama', { exact: true }).waitFor()
    await model().getByText('Fits', { exact: true }).waitFor()
    await takeScreenshots(studio, 'models-library')
    await isAccessible()
  })

  it('says by what a model is used, and does not delete it', async () => {
    await model().getByRole('button', { name: 'Delete the model…' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText(/^It is used by Demo, shortened \(planner\)\./).waitFor()
    expect(await dialog.getByRole('button', { name: 'Delete for good' }).isDisabled()).toBe(true)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })
})

describe('a model of the hub', () => {
  it('is found, with what would be fetched and whether it fits', async () => {
    await search('tiny', 'acme/tiny')
    const shown = repository()
    for (const { path: name } of needed) await shown.getByRole('cell', { name, exact: true }).waitFor()
    await shown.getByText(/^1\sother file is left out/).waitFor()
    await shown.getByText('Fits', { exact: true }).waitFor()
    await shown.getByText(/^Needs about .*; .* are free now$/).waitFor()
    await takeScreenshots(studio, 'models-search')
    await isAccessible()
  })

  it('another revision can be chosen, and one that is not there is told of', async () => {
    const choice = repository().getByLabel('Revision')
    await choice.selectOption('v1')
    await repository()
      .getByRole('button', { name: /^Download/ })
      .waitFor()
    await choice.selectOption({ label: 'Another commit…' })
    await repository().getByLabel('Commit, branch or tag').fill('nowhere')
    await repository().getByRole('button', { name: 'Show it' }).click()
    await repository().getByRole('alert').getByText('has no revision "nowhere"', { exact: false }).waitFor()
    await choice.selectOption('main')
    await repository().getByRole('cell', { name: 'config.json', exact: true }).waitFor()
  })

  it('opens its page in the browser', async () => {
    await studio.app.evaluate(({ shell }) => {
      shell.openExternal = (address) => Promise.resolve(void Object.assign(globalThis, { opened: address }))
    })
    await repository().getByRole('button', { name: 'Open its page' }).click()
    await expect
      .poll(() => studio.app.evaluate(() => (globalThis as { opened?: string }).opened))
      .toBe(`${hub.endpoint}/acme/tiny`)
  })

  it('is downloaded, paused and resumed; the status bar tells of it', async () => {
    hub.faultOf = (_, name) => (name === 'model.safetensors' ? { kind: 'slow' } : null)
    await repository()
      .getByRole('button', { name: /^Download/ })
      .click()
    const status = page
      .getByRole('contentinfo', { name: 'Status' })
      .getByRole('button', { name: /^Downloads: 1 under way/ })
    await status.click()
    const panel = page.getByRole('dialog', { name: 'Downloads' })
    await expect
      .poll(async () => Number(await panel.getByRole('progressbar').getAttribute('aria-valuenow')))
      .toBeGreaterThan(2)
    await panel.getByRole('button', { name: 'Pause the download of acme/tiny' }).click()
    await panel.getByText('Paused', { exact: true }).waitFor()
    await takeScreenshots(studio, 'downloads-panel')
    await isAccessible()

    await panel.getByRole('button', { name: 'Cancel the download of acme/tiny…' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText(/^What came in of it goes: .* in .*acme--tiny\./).waitFor()
    await dialog.getByRole('button', { name: 'Keep it' }).click()

    hub.faultOf = () => null
    await panel.getByRole('button', { name: 'Resume the download of acme/tiny' }).click()
    await panel.getByText('Done', { exact: true }).first().waitFor()
    const fetched = hub.sent.get('acme/tiny')!.filter(({ path: name }) => name === 'model.safetensors')
    expect(fetched.at(-1)!.from).toBeGreaterThan(0)
    for (const { path: name, bytes } of needed)
      expect(readFileSync(path.join(workspace, 'models/acme--tiny', name)).equals(bytes), name).toBe(true)
    await panel.getByRole('button', { name: 'Show', exact: true }).click()
  })

  it('stands in the library with family, source and fit', async () => {
    const shown = model()
    await shown.getByRole('heading', { name: 'acme/tiny', exact: true }).waitFor()
    await shown.getByText('llama', { exact: true }).waitFor()
    await shown.getByText(`acme/tiny on ${new URL(hub.endpoint).host}`).waitFor()
    await shown.getByText(hub.repositories.get('acme/tiny')!.commit.slice(0, 7), { exact: true }).waitFor()
    await shown.getByText('mit', { exact: true }).waitFor()
    await shown.getByText('Fits', { exact: true }).waitFor()
    await page.getByRole('option', { name: /^acme\/tiny/ }).waitFor()
  })

  it('is compared with its checksums, and damage is told by file', async () => {
    await model().getByRole('button', { name: 'Check files' }).click()
    await model()
      .getByText(/4\sfiles compared, all of them as they should be\./)
      .waitFor()
    const weights = path.join(workspace, 'models/acme--tiny/model.safetensors')
    const bytes = readFileSync(weights)
    bytes[bytes.length >> 1] ^= 1
    writeFileSync(weights, bytes)
    await model().getByRole('button', { name: 'Check files' }).click()
    const note = model().getByRole('alert')
    await note.getByText(/^1\sfile of acme\/tiny is damaged or missing\.$/).waitFor()
    await note.getByText('model.safetensors', { exact: false }).waitFor()
    await takeScreenshots(studio, 'models-damaged')
    await isAccessible()
  })

  it('is deleted after one more gesture that names its folder and the space', async () => {
    await model().getByRole('button', { name: 'Delete the model…' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText(/^The folder .*acme--tiny goes with all its files\. .* come back\.$/).waitFor()
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await page.getByText(/^1\smodel deleted, .* free again$/).waitFor()
    expect(existsSync(path.join(workspace, 'models/acme--tiny'))).toBe(false)
    expect(await page.getByRole('option', { name: /^acme\/tiny/ }).count()).toBe(0)
  })
})

describe('what is on this computer already', () => {
  const importFrom = async (entry: RegExp): Promise<void> => {
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('menuitem', { name: entry }).click()
  }

  it('comes in from a folder, whose path may have spaces and umlauts', async () => {
    const own = path.join(folder, 'Übung mit Modellen', 'mein Modell')
    mkdirSync(own, { recursive: true })
    for (const { path: name, bytes } of needed) writeFileSync(path.join(own, name), bytes)
    await studio.app.evaluate(({ dialog }, chosen) => {
      dialog.showOpenDialog = () => Promise.resolve({ canceled: false, filePaths: [chosen] })
    }, own)
    await importFrom(/^A folder/)
    await model().getByRole('heading', { name: 'mein Modell', exact: true }).waitFor()
    await model().getByText(own, { exact: false }).waitFor()
    expect(readdirSync(own).sort()).toEqual(needed.map(({ path: name }) => name).sort())
  })

  it('a folder that is no model is refused with the reason', async () => {
    const none = path.join(folder, 'leer')
    mkdirSync(none)
    await studio.app.evaluate(({ dialog }, chosen) => {
      dialog.showOpenDialog = () => Promise.resolve({ canceled: false, filePaths: [chosen] })
    }, none)
    await importFrom(/^A folder/)
    const note = page.getByRole('alert').filter({ hasText: none })
    await note.waitFor()
    await note.getByRole('button', { name: 'Dismiss' }).click()
  })

  it('comes in from a Hugging Face cache', async () => {
    await importFrom(/cache/)
    const dialog = page.getByRole('dialog', { name: 'Import from a Hugging Face cache' })
    await dialog.getByTitle('acme/cached').waitFor()
    await takeScreenshots(studio, 'models-import-cache')
    await isAccessible()
    await dialog.getByRole('button', { name: /^Import\s+acme\/cached$/ }).click()
    await dialog.getByText('In the library').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await model().getByRole('heading', { name: 'acme/cached', exact: true }).waitFor()
  })
})

describe('a gated model', () => {
  it('says whose terms have to be accepted where, and fails with the same', async () => {
    await search('gated', 'acme/gated')
    const note = repository().getByRole('alert').filter({ hasText: 'is gated' })
    await note.getByText(`${hub.endpoint}/acme/gated`, { exact: false }).waitFor()
    await takeScreenshots(studio, 'models-gated')
    await isAccessible()
    await repository()
      .getByRole('button', { name: /^Download/ })
      .click()
    const failed = download('acme/gated')
    await failed.getByText('Failed', { exact: true }).waitFor()
    await failed.getByRole('alert').getByText(`${hub.endpoint}/acme/gated`, { exact: false }).waitFor()
    await note.getByRole('button', { name: 'Set the key…' }).click()
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
  })

  it('opens with a key, which goes into the key store and stays nowhere on the page', async () => {
    await page.getByText('Not set', { exact: true }).waitFor()
    const field = page.getByLabel('Hub token', { exact: true })
    await field.fill(goodToken)
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByText('Set, in the system’s key store').waitFor()
    expect(await page.content()).not.toContain(goodToken)
    await page.getByText('It comes from HF_ENDPOINT and cannot be changed here.').waitFor()
    await takeScreenshots(studio, 'settings-keys')
    await isAccessible()

    await open('Models')
    await tab(/^Downloads/)
    await download('acme/gated').getByRole('button', { name: 'Try again' }).click()
    await download('acme/gated').getByText('Done', { exact: true }).waitFor()
    await takeScreenshots(studio, 'downloads')
    await isAccessible()
    expect(hub.leaks).toEqual([])
  })

  it('the key can be replaced and removed', async () => {
    await open('Settings')
    await page.getByRole('button', { name: 'Replace…' }).click()
    await page.getByLabel('New hub token').fill(`${goodToken} `)
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('Not set', { exact: true }).waitFor()
  })
})

it('a data set comes from the hub too', async () => {
  await open('Models')
  await tab(/^Search$/)
  await page.getByText('Data sets', { exact: true }).click()
  await page.getByRole('searchbox').fill('rows')
  await page.getByRole('option', { name: /^acme\/rows/ }).click()
  await repository().getByRole('cell', { name: 'train.jsonl', exact: true }).waitFor()
  await repository()
    .getByRole('button', { name: /^Download/ })
    .click()
  await tab(/^Downloads/)
  await download('acme/rows').getByText('Done', { exact: true }).waitFor()
})

it('nothing was complained about on the console, the security policy included', () => {
  expect(complaints).toEqual([])
})

it('without a key store the key is for this session only, and the settings say why', async () => {
  await studio.close()
  await launch({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${path.join(folder, 'no-bus')}` })
  await open('Settings')
  await page.getByLabel('Hub token', { exact: true }).fill(goodToken)
  await page.getByRole('button', { name: 'Keep it' }).click()
  await page.getByText('Set, for this session only').waitFor()
  await page.getByRole('alert').getByText('key store', { exact: false }).first().waitFor()
  await takeScreenshots(studio, 'settings-key-session')
  await isAccessible()
})

/** Data sets in the real app: a large file of odd names browsed, the demo's data looked at as prompts, checked, split. */
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessibilityProblems } from './accessibility'
import { launchStudio, takeScreenshots, type StudioUnderTest } from './launch'

const rows = 200_000
let studio: StudioUnderTest
let page: Page
let folder: string
const complaints: string[] = []

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio Daten ä-'))
  const file = path.join(folder, 'große Datei.csv')
  mkdirSync(folder, { recursive: true })
  const out = createWriteStream(file)
  out.write('id,"the ""question"" a.b",score\n')
  for (let i = 0; i < rows; i++)
    if (
      !out.write(
        `${String(i).padStart(7, '0')},"question number ${i} ${i === 123_456 ? 'Needle' : 'hay'}",${(i * 7919) % rows}\n`,
      )
    )
      await once(out, 'drain')
  out.end()
  await once(out, 'finish')
  studio = await launchStudio({ env: { STUDIO_DEMO: 'short' } })
  page = studio.page
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  await studio.app.evaluate(({ dialog }, chosen) => {
    dialog.showOpenDialog = () => Promise.resolve({ canceled: false, filePaths: [chosen] })
  }, file)
})
afterAll(async () => {
  await studio?.close()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

const cell = (text: string) => page.getByRole('gridcell', { name: text, exact: true })
const tab = (name: RegExp | string) => page.getByRole('tab', { name }).click()
async function accessible(): Promise<void> {
  await page.waitForTimeout(250)
  expect(await accessibilityProblems(page)).toEqual([])
}

it('lists a file of this computer and opens it where it lies', async () => {
  await page.getByRole('navigation').getByRole('button', { name: 'Datasets' }).click()
  await accessible()
  await page
    .getByRole('button', { name: /Add a file/ })
    .first()
    .click()
  await page.getByRole('heading', { name: 'große Datei.csv' }).waitFor()
  // text stays text: no number loses its zeros
  await cell('0000000').waitFor()
  await accessible()
  await takeScreenshots(studio, 'dataset-rows')
})

it('goes to the last row, sorts, filters and searches', async () => {
  const grid = page.getByRole('grid')
  await grid.focus()
  await page.keyboard.press('End')
  await cell('0199999').waitFor()
  await page.keyboard.press('Home')
  await cell('0000000').waitFor()
  await page.getByRole('columnheader', { name: /^score/ }).click()
  await cell('0000000').waitFor()
  await page.getByRole('columnheader', { name: /^score/ }).click()
  // a csv holds text: 99999 is the last of its scores, not 199999
  const best = Array.from({ length: rows }, (_, i) => i).find((i) => (i * 7919) % rows === 99_999)!
  await cell(String(best).padStart(7, '0')).waitFor()
  await page.getByLabel('Search in all columns').fill('needle')
  await cell('0123456').waitFor()
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await takeScreenshots(studio, 'dataset-search')
})

it('shows a row whole, and what a column holds', async () => {
  await cell('0123456').dblclick()
  await page.getByRole('region', { name: 'Row in full' }).getByText('question number 123456 Needle').waitFor()
  await accessible()
  await page.keyboard.press('Escape')
  await tab('Statistics')
  await page
    .getByText(/Lengths of|Values of/)
    .first()
    .waitFor()
  await accessible()
  await takeScreenshots(studio, 'dataset-statistics')
})

it('previews the demo’s prompts with its slots, exactly as they are asked', async () => {
  await page.getByRole('navigation').getByRole('button', { name: 'Datasets' }).click()
  await page.getByRole('button', { name: 'Datasets', exact: true }).last().click()
  await takeScreenshots(studio, 'datasets')
  await page.getByRole('option', { name: /^train.jsonl/ }).click()
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await page.getByRole('tab', { name: /Prompt/ }).click()
  await page
    .getByText(/tokens?/)
    .first()
    .waitFor()
  await page.locator('.prompt').waitFor()
  const question = (
    JSON.parse(
      readFileSync(path.join(import.meta.dirname, '../../native-assets/demo/train.jsonl'), 'utf8').split('\n')[0],
    ) as { question: string }
  ).question
  expect(await page.locator('.prompt').innerText()).toContain(question)
  // a project's own data is looked at with its own prompts
  const own = await page.locator('.prompt').innerText()
  const prompts = page
    .locator('label')
    .filter({ hasText: /^Prompts/ })
    .locator('select')
  expect(await prompts.inputValue()).not.toBe('')
  await prompts.selectOption({ label: 'built in' })
  const shown = () => page.locator('.prompt').innerText({ timeout: 5000 })
  await expect.poll(shown, { timeout: 20_000 }).not.toBe(own)
  await prompts.selectOption({ index: 1 })
  await expect.poll(shown, { timeout: 20_000 }).toBe(own)
  await accessible()
  await takeScreenshots(studio, 'dataset-preview')
})

it('checks every row, and splits the set in two by a seed', async () => {
  await tab(/Fields/)
  await page.getByRole('button', { name: 'Check every row' }).click()
  await page.getByRole('region', { name: 'Outcome of the check' }).waitFor()
  await accessible()
  await takeScreenshots(studio, 'dataset-fields')
  const opened = await page.evaluate(() =>
    window.studio.request('datasets/open', { id: 'Demo/train.jsonl', ticket: 'test-open' }),
  )
  if (!opened.ok) throw new Error(JSON.stringify(opened.error))
  const { handle, rows: all } = opened.value
  const made = await page.evaluate(
    (of) =>
      window.studio.request('datasets/split', {
        handle: of,
        name: 'Zweiteilung ä',
        seed: 7,
        heldOut: 100,
        ticket: 'test-split',
      }),
    handle,
  )
  if (!made.ok) throw new Error(JSON.stringify(made.error))
  const lines = (file: string) =>
    readFileSync(path.join(studio.workspace, 'datasets/Zweiteilung ä', file), 'utf8')
      .trimEnd()
      .split('\n')
  expect([lines('train.jsonl').length, lines('held-out.jsonl').length]).toEqual([all - 100, 100])
  expect(new Set([...lines('train.jsonl'), ...lines('held-out.jsonl')]).size).toBeLessThanOrEqual(all)
})

it('without a complaint of the page', () => expect(complaints).toEqual([]))

/** Data sets in the real app: a large file of odd names listed, browsed, searched and counted. */
import { createWriteStream, mkdirSync, mkdtempSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessibilityProblems } from './accessibility'
import { launchStudio, takeScreenshots, type StudioUnderTest, removeFolder } from './launch'

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
  if (folder) await removeFolder(folder)
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

it('without a complaint of the page', () => expect(complaints).toEqual([]))

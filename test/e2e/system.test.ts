/**
 * A system of library models on library data, made with the wizard in the real app, trained and evaluated: small models of another
 * make than the demo's project, rows whose columns are called otherwise, everything chosen by hand.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessibilityProblems } from './accessibility'
import { launchStudio, takeScreenshots, type StudioUnderTest, removeFolder } from './launch'

const demo = path.join(import.meta.dirname, '../../native-assets/demo')
const roles = ['planner', 'critic', 'solver']
let studio: StudioUnderTest
let page: Page
let workspace: string

beforeAll(async () => {
  workspace = mkdtempSync(path.join(tmpdir(), 'studio ä system-'))
  for (const role of roles)
    cpSync(path.join(demo, 'models', role), path.join(workspace, 'models', `lab--${role}`), { recursive: true })
  const rows = readFileSync(path.join(demo, 'train.jsonl'), 'utf8').trimEnd().split('\n').slice(0, 60)
  const named = rows.map((line) => {
    const { question, ...others } = JSON.parse(line) as Record<string, unknown>
    return JSON.stringify({ 'what is asked': question, ...others })
  })
  const folder = path.join(workspace, 'datasets', 'clock rows')
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'train.jsonl'), named.slice(0, 48).join('\n') + '\n')
  writeFileSync(path.join(folder, 'held-out.jsonl'), named.slice(48).join('\n') + '\n')
  studio = await launchStudio({ workspace, env: { STUDIO_DEMO: 'short' } })
  page = studio.page
})
afterAll(async () => {
  await studio?.close()
  if (workspace) await removeFolder(workspace)
})

const next = (name: string): Promise<void> => page.getByRole('button', { name: `Next: ${name}` }).click()
const field = (name: string) => page.getByLabel(name, { exact: true })

async function accessible(): Promise<void> {
  await page.waitForTimeout(250)
  expect(await accessibilityProblems(page)).toEqual([])
}

it('opens the wizard on a style', async () => {
  await page.getByRole('navigation').getByRole('button', { name: 'System' }).click()
  await page.getByRole('button', { name: 'New system', exact: true }).click()
  await page.getByText('How the agents work together').waitFor()
  await page.getByRole('radio', { name: /Sequential/ }).check()
  await accessible()
  await takeScreenshots(studio, 'wizard-style')
})

it('takes a model of the library for each agent', async () => {
  await next('Models')
  await page.getByText('The planner has no model.').waitFor()
  for (const role of roles) await page.getByLabel(new RegExp(`^${role}`)).selectOption({ label: `lab--${role}` })
  await page.getByText('has no model.').first().waitFor({ state: 'detached' })
  await accessible()
  await takeScreenshots(studio, 'wizard-models')
})

it('takes data of the library, its fields from the columns that hold them', async () => {
  await next('Data')
  const part = (name: RegExp) => page.getByRole('region', { name })
  await part(/^Training/)
    .getByLabel('Data set')
    .selectOption({ label: 'clock rows' })
  await part(/^Training/)
    .getByLabel('File')
    .selectOption('train.jsonl')
  await part(/^Training/)
    .getByLabel('Question')
    .selectOption('what is asked')
  await part(/^Evaluation/)
    .getByLabel('Data set')
    .selectOption({ label: 'clock rows' })
  await part(/^Evaluation/)
    .getByLabel('File')
    .selectOption('held-out.jsonl')
  await part(/^Evaluation/)
    .getByLabel('Question')
    .selectOption('what is asked')
  await page.getByText('What it comes to').waitFor()
  await page.getByRole('complementary').getByText('48', { exact: true }).waitFor()
  await page.getByRole('complementary').getByText('12', { exact: true }).waitFor()
  await accessible()
  await takeScreenshots(studio, 'wizard-data')
})

it('takes settings within their bounds, and says what is none', async () => {
  await next('Training')
  await field('Rounds').fill('9')
  await page.getByText('A whole number from 1 to 8.').waitFor()
  await field('Rounds').fill('2')
  await field('Latent steps').fill('3')
  await field('Prompts').selectOption('Demo')
  const inner = page.getByRole('region', { name: 'Inner links' })
  await inner.getByLabel('Steps').fill('6')
  await inner.getByLabel('Rows a step').fill('4')
  const outer = page.getByRole('region', { name: 'Outer links' })
  await outer.getByLabel('Steps').fill('4')
  await outer.getByLabel('Rows a step').fill('4')
  await field('Longest answer').fill('8')
  await field('Grading').selectOption('exact')
  await field('The same team passing text').uncheck()
  await accessible()
  await takeScreenshots(studio, 'wizard-training')
})

it('is made and started, and its steps train and evaluate it to the end', async () => {
  await next('Check and start')
  const start = page.getByRole('button', { name: 'Make it and start' })
  await page.getByText('1 thing to put right first.').waitFor()
  expect(await start.isDisabled()).toBe(true)
  await field('Name of the system').fill('Clock team')
  await page.getByText('thing to put right first.').waitFor({ state: 'detached' })
  await accessible()
  await takeScreenshots(studio, 'wizard-check')
  await start.click()
  await page.getByRole('heading', { name: 'Clock team' }).waitFor()
  await page.getByRole('button', { name: 'Delete the project…' }).click()
  await page
    .getByRole('alertdialog')
    .getByText(/stop it first/)
    .waitFor()
  expect(await page.getByRole('button', { name: 'Delete for good' }).isDisabled()).toBe(true)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'See the results' }).waitFor({ timeout: 240_000 })
  const reply = await page.evaluate(() => window.studio.request('results/table', { project: 'Clock team' }))
  if (!reply.ok) throw new Error(JSON.stringify(reply.error))
  const cells = reply.value.rows.flatMap(({ title, cells: row }) => row.map((cell) => `${title}: ${cell?.accuracy.n}`))
  expect(cells).toEqual([
    ...['Trained links: 12', 'Trained links: 12'],
    ...['Untrained links: 12', 'Untrained links: 12'],
    ...['The answering agent alone: 12', 'The answering agent alone: undefined'],
  ])
  await takeScreenshots(studio, 'own-system')
})

it('shows its choices afterwards, and keeps its models', async () => {
  await page.getByRole('navigation').getByRole('button', { name: 'System' }).click()
  await page.getByText('question from what is asked').first().waitFor()
  await page.getByRole('button', { name: 'New system like this' }).waitFor()
  await accessible()
  const reply = await page.evaluate(() => window.studio.request('models/delete', { id: 'library/lab--critic' }))
  expect(reply.ok ? '' : reply.error.why).toContain('Clock team')
})

it('is deleted after one more gesture that says what goes and what stays', async () => {
  await page.getByRole('navigation').getByRole('button', { name: 'Overview' }).click()
  await page.getByRole('button', { name: 'Delete the project…' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText(/with 9\sruns: .* come back\. The models and data sets that it uses stay\./).waitFor()
  await accessible()
  await takeScreenshots(studio, 'delete-project')
  await dialog.getByRole('button', { name: 'Delete for good' }).click()
  await page.getByText(/^“Clock team” deleted, .* free again$/).waitFor()
  await page.getByRole('navigation').getByRole('button', { name: 'Project: Demo' }).waitFor()
  expect(existsSync(path.join(workspace, 'projects', 'Clock team'))).toBe(false)
  expect(existsSync(path.join(workspace, 'models', 'lab--critic', 'config.json'))).toBe(true)
  expect(existsSync(path.join(workspace, 'datasets', 'clock rows', 'train.jsonl'))).toBe(true)
})

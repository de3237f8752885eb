/**
 * The demo, shortened, in the real app: run it all with one button, reload the window in the middle, kill the engine in the
 * middle, resume, and read the results. What is shown on the way is kept as pictures.
 */
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { MetricPoint, PipelineView, RunSummary } from '../../src-main/bridge/contract'
import { accessibilityProblems } from './accessibility'
import { launchStudio, takeScreenshots, type StudioUnderTest } from './launch'

const project = 'Demo'
/** Checkpoints of the short pipeline's outer links are this many steps apart. */
const saveEvery = 3

let studio: StudioUnderTest
let page: Page
const complaints: string[] = []

beforeAll(async () => {
  studio = await launchStudio({ env: { STUDIO_DEMO: 'short' } })
  page = studio.page
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
})
afterAll(() => studio?.close())

async function runs(): Promise<RunSummary[]> {
  const reply = await page.evaluate((name) => window.studio.request('runs/list', { project: name }), project)
  if (!reply.ok) throw new Error(JSON.stringify(reply.error))
  return reply.value.runs
}

async function runOf(step: string): Promise<RunSummary> {
  const run = (await runs()).find((candidate) => candidate.step === step)
  if (!run) throw new Error(`no run of ${step}`)
  return run
}

async function pipeline(): Promise<PipelineView> {
  const reply = await page.evaluate((name) => window.studio.request('pipeline/get', { project: name }), project)
  if (!reply.ok) throw new Error(JSON.stringify(reply.error))
  return reply.value
}

async function metrics(run: string): Promise<MetricPoint[]> {
  const reply = await page.evaluate(
    ([name, id]) => window.studio.request('runs/metrics', { project: name, run: id }),
    [project, run],
  )
  if (!reply.ok) throw new Error(JSON.stringify(reply.error))
  return reply.value.points
}

/** Waits for `condition`; fails with what was seen last. */
async function until<T>(
  what: string,
  seconds: number,
  look: () => Promise<T>,
  condition: (seen: T) => boolean,
): Promise<T> {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const seen = await look()
    if (condition(seen)) return seen
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s. Last seen: ${JSON.stringify(seen)}`)
    await page.waitForTimeout(100)
  }
}

/** Reads a run's journal over and over, and kills its engine as soon as the checkpoint of `step` is told of. */
async function killAfterCheckpoint(folder: string, step: number): Promise<void> {
  const end = Date.now() + 120_000
  const told = new RegExp(`"kind":"checkpoint"[^\\n]*"step":${step}\\b`)
  while (!told.test(readFileSync(path.join(folder, 'journal.jsonl'), 'utf8'))) {
    if (Date.now() > end) throw new Error(`no checkpoint of step ${step} in ${folder}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const { pid } = JSON.parse(readFileSync(path.join(folder, 'heartbeat.json'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
}

const open = (entry: string): Promise<void> => page.getByRole('navigation').getByRole('button', { name: entry }).click()

async function isAccessible(): Promise<void> {
  for (const appearance of ['light', 'dark', 'system'] as const) {
    await page.evaluate((wanted) => window.studio.request('settings/appearance', { appearance: wanted }), appearance)
    await page.waitForFunction((wanted) => (document.documentElement.dataset.theme ?? 'system') === wanted, appearance)
    await page.waitForTimeout(250)
    if (appearance !== 'system') expect(await accessibilityProblems(page), appearance).toEqual([])
  }
}

/** What the run's view shows: points in the loss chart, steps done (1 of 1 where it is done), and the log. */
async function shown(): Promise<{ points: number; done: number; log: string }> {
  const detail = page.getByRole('region', { name: 'Run', exact: true })
  const chart = page.getByRole('img', { name: /^Loss\. / })
  const points = Number(/^Loss\. (\d+) points/.exec((await chart.getAttribute('aria-label')) ?? '')?.[1])
  const bar = detail.getByRole('progressbar')
  const done = (await bar.count()) > 0 ? Number(await bar.getAttribute('aria-valuenow')) : 100
  await detail.getByRole('tab', { name: 'Log' }).click()
  const log = detail.getByRole('log', { name: 'Log' })
  await log.locator('pre').waitFor()
  const text = await log.innerText()
  await detail.getByRole('tab', { name: 'Charts' }).click()
  await chart.waitFor()
  return { points, done, log: text.trimEnd() }
}

it('one button starts all of it', async () => {
  await page.getByRole('button', { name: 'Run the demo' }).click()
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
  await until('the first run', 60, runs, (all) => all.some((run) => run.state === 'running'))
  await page.getByRole('contentinfo', { name: 'Status' }).getByText('Inner link', { exact: false }).waitFor()
})

it('reloading in the middle loses nothing', async () => {
  await open('Runs')
  await page.getByRole('option', { name: /^Inner link: planner/ }).click()
  await page.getByRole('heading', { name: 'Inner link: planner', exact: true }).waitFor()
  await page.getByRole('img', { name: /^Loss\. / }).waitFor()
  const before = await runs()
  const seen = await shown()
  await page.reload()
  await page.getByRole('heading', { name: 'Inner link: planner', exact: true }).waitFor()
  await page.getByRole('img', { name: /^Loss\. / }).waitFor()
  const after = await runs()
  expect(after.map((run) => run.id)).toEqual(before.map((run) => run.id))
  expect(after.some((run) => run.state === 'running')).toBe(true)
  // The run goes on meanwhile: nothing is less than it was, and what was there is there.
  const now = await shown()
  expect(seen.points).toBeGreaterThan(0)
  expect(now.points).toBeGreaterThanOrEqual(seen.points)
  expect(now.done).toBeGreaterThanOrEqual(seen.done)
  expect(seen.log).not.toBe('')
  expect(now.log.startsWith(seen.log)).toBe(true)
})

it('a killed engine leaves an interrupted run', async () => {
  const run = await until(
    'the outer links to start',
    120,
    () => runOf('outer'),
    (seen) => seen.state !== 'queued',
  )
  await open('Overview')
  await takeScreenshots(studio, 'overview-running')
  await open('Runs')
  await page.getByRole('option', { name: /^Outer links/ }).click()
  const folder = path.join(studio.workspace, 'projects', project, 'runs', run.id)
  await killAfterCheckpoint(folder, saveEvery)

  const detail = page.getByRole('region', { name: 'Run', exact: true })
  await detail.getByText('Interrupted', { exact: true }).waitFor()
  const dead = await runOf('outer')
  expect(dead.state).toBe('interrupted')
  expect(dead.resumable).toBe(true)
  expect(dead.checkpointStep).toBeGreaterThanOrEqual(saveEvery)
  await detail.getByRole('button', { name: 'Resume' }).waitFor()
  await page.getByRole('img', { name: /^Loss\. / }).waitFor()
  await page.getByRole('img', { name: /^Gradient norm: planner → critic/ }).waitFor()
  await detail.getByRole('button', { name: 'Run again' }).waitFor()
  await takeScreenshots(studio, 'run-interrupted')
  await isAccessible()
})

it('resumes and comes to its end, every step once', async () => {
  const detail = page.getByRole('region', { name: 'Run', exact: true })
  await detail.getByRole('button', { name: 'Resume' }).click()
  await detail.getByText('Done', { exact: true }).waitFor({ timeout: 180_000 })
  const run = await runOf('outer')
  const steps = (await metrics(run.id)).map((point) => point.step)
  expect(steps.length).toBeGreaterThan(saveEvery)
  expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b))
  await page.getByRole('img', { name: new RegExp(`^Loss\\. ${steps.length} points`) }).waitFor()
  await takeScreenshots(studio, 'run-done')
  await isAccessible()
  await detail.getByRole('tab', { name: 'Log' }).click()
  await detail.getByRole('log', { name: 'Log' }).locator('pre').waitFor()
  await takeScreenshots(studio, 'run-log')
  await isAccessible()
  await detail.getByRole('tab', { name: 'Charts' }).click()
})

it('runs the rest of the pipeline', async () => {
  await open('Overview')
  const state = (await pipeline()).state
  if (state !== 'running' && state !== 'done') {
    await page.getByRole('button', { name: /^(Resume|Run the rest of the demo)$/ }).click()
  }
  await until('the pipeline', 240, pipeline, (seen) => seen.state === 'done')
  await page.getByRole('button', { name: 'See the results' }).waitFor()
  await takeScreenshots(studio, 'overview-done')
  await isAccessible()
})

it('compares the systems, with intervals', async () => {
  await page.getByRole('button', { name: 'See the results' }).click()
  const table = page.getByRole('table').first()
  await table.waitFor()
  for (const system of ['Trained links', 'Untrained links']) {
    const row = table.getByRole('row').filter({ has: page.getByRole('rowheader', { name: system, exact: true }) })
    expect(await row.getByRole('cell').first().innerText()).toMatch(/:\s+\d+\.\d\s%\s+\(\d+\.\d–\d+\.\d\)\s+n = \d+$/)
  }
  await page.getByRole('img', { name: /^Right answers over rounds\. / }).waitFor()
  await page.getByText(/^p (=|<) /).waitFor()
  await takeScreenshots(studio, 'results')
  await isAccessible()
})

it('shows a question: prompts with slots, latents by round, text and grade', async () => {
  await page.getByRole('button', { name: /^Questions of Trained links, 3 rounds:/ }).click()
  const detail = page.getByRole('region', { name: 'Question', exact: true })
  await detail.getByRole('heading', { name: 'Question 1', exact: true }).waitFor()
  await detail.getByText('Exact match').waitFor()
  await detail.getByRole('img', { name: /^Latents of the planner: 3 rounds/ }).waitFor()
  await takeScreenshots(studio, 'question-top')
  expect(await detail.getByText(/^\d+\slatents\sfrom\ssolver$/).count()).toBeGreaterThan(0)
  await detail.getByText('Round 1', { exact: true }).click()
  await takeScreenshots(studio, 'question')
  await isAccessible()

  const list = page.getByRole('listbox', { name: 'Questions' })
  const all = await list.getByRole('option').count()
  await page.getByText('Wrong', { exact: true }).click()
  const reply = await page.evaluate(
    async ([name]) => {
      const listed = await window.studio.request('results/list', { project: name })
      const result = listed.ok ? listed.value.results.find((each) => each.step === 'trained-3') : undefined
      return result?.accuracy
    },
    [project],
  )
  const wrong = Math.round((1 - (reply?.value ?? NaN)) * (reply?.n ?? NaN))
  expect(all).toBe(reply?.n)
  await until(
    'only wrong answers',
    5,
    () => list.getByRole('option').count(),
    (count) => count === wrong,
  )
})

it('walks a list by keyboard', async () => {
  await page.getByText('All', { exact: true }).click()
  const list = page.getByRole('listbox', { name: 'Questions' })
  await list.getByRole('option').first().click()
  await list.focus()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('heading', { name: 'Question 2', exact: true }).waitFor()
  await page.keyboard.press('End')
  await page.keyboard.press('Home')
  await page.getByRole('heading', { name: 'Question 1', exact: true }).waitFor()
})

it('saves a chart as PNG and CSV', async () => {
  const folder = path.join(studio.userData, 'exports')
  await studio.app.evaluate(({ session }, to) => {
    session.defaultSession.on('will-download', (_event, item) => item.setSavePath(`${to}/${item.getFilename()}`))
  }, folder)
  await open('Runs')
  await page.getByRole('option', { name: /^Outer links/ }).click()
  for (const kind of ['PNG', 'CSV']) {
    await page.getByRole('button', { name: 'Export Loss', exact: true }).click()
    await page.getByRole('menuitem', { name: `Save as ${kind}` }).click()
  }
  const files = await until(
    'two files',
    10,
    async () => {
      try {
        return readdirSync(folder).sort()
      } catch {
        return []
      }
    },
    (seen) => seen.length === 2,
  )
  expect(files).toEqual(['outer-links-loss.csv', 'outer-links-loss.png'])
  const points = await metrics((await runOf('outer')).id)
  const csv = readFileSync(path.join(folder, files[0]), 'utf8').trim().split('\r\n')
  expect(csv[0]).toBe('step,loss')
  expect(csv.slice(1)).toEqual(points.map((point) => `${point.step},${point.loss}`))
  expect(readFileSync(path.join(folder, files[1])).subarray(1, 4).toString()).toBe('PNG')
})

it('draws several runs over each other', async () => {
  await page.getByRole('option', { name: /^Inner link: planner/ }).click()
  await page.getByRole('option', { name: /^Inner link: critic/ }).click({ modifiers: ['ControlOrMeta'] })
  await page.getByRole('heading', { name: /^2\straining runs$/ }).waitFor()
  await page.getByRole('img', { name: /^Loss\. (?=.*Inner link: planner: \d)(?=.*Inner link: critic: \d)/ }).waitFor()
  await takeScreenshots(studio, 'runs-overlaid')
  await isAccessible()
  await page.getByRole('option', { name: /^Outer links/ }).click()
})

it('lists the checkpoints', async () => {
  await open('Checkpoints')
  await page
    .getByRole('region', { name: 'Checkpoint', exact: true })
    .getByRole('heading', { name: 'Links', exact: true })
    .waitFor()
  await page.getByRole('button', { name: 'Export for the reference program…' }).waitFor()
  await takeScreenshots(studio, 'checkpoints')
  await isAccessible()
})

it('names what a deletion frees, and asks once more', async () => {
  await open('Runs')
  await page.getByRole('option', { name: /^Solver alone/ }).click()
  await page.getByRole('button', { name: 'Delete the run…' }).click()
  await page.getByText(/\scome back\./).waitFor()
  await takeScreenshots(studio, 'delete-dialog')
  await isAccessible()
  await page.getByRole('button', { name: 'Delete for good' }).click()
  await page.getByText(/^1\srun deleted, .* free again$/).waitFor()
  expect((await runs()).some((run) => run.step === 'solver-alone')).toBe(false)
})

it('a run that fails says why, and what to do next', async () => {
  const data = path.join(studio.workspace, 'projects', project, 'assets', 'held-out.jsonl')
  renameSync(data, `${data}.away`)
  await page.getByRole('option', { name: /^Untrained links, 1 round/ }).click()
  await page.getByRole('heading', { name: 'Untrained links, 1 round', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Run again' }).click()
  const detail = page.getByRole('region', { name: 'Run', exact: true })
  await detail.getByText('Failed', { exact: true }).waitFor()
  await detail.getByRole('alert').getByText('held-out.jsonl', { exact: false }).first().waitFor()
  await detail.getByRole('button', { name: 'Run again' }).waitFor()
  await takeScreenshots(studio, 'run-failed')
  await isAccessible()
})

it('nothing was complained about on the console, the security policy included', () => {
  expect(complaints).toEqual([])
})

/**
 * `npm run demo [-- --short] [--json FILE] [--out DIR]`: the demo's whole pipeline in the terminal. Progress goes to
 * standard error, the comparison table to standard output.
 */
import { access, constants, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { comparisonTable, summary } from '../demo/comparison'
import { findDemoFolder } from '../demo/demo-folder'
import { runPipeline } from '../demo/run-pipeline'
import { UserError } from '../engine/errors'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import type { JobEvent, JobEventOf } from '../engine/job-events'
import { readPipeline, type Pipeline, type PipelineStep } from '../workspace/pipeline'
import { parseOrHelp } from './options'
import { duration, progressLine } from './progress-line'
import { stoppedCode, stopOnSignals } from './stop-on-signals'

const usage = `npm run demo -- [--short] [--json FILE] [--out DIR]
  --short      a few steps and rows only: shows that everything works, not what it can do
  --json FILE  also writes the accuracies (fractions) as JSON
  --out DIR    keeps the runs there; default: a temporary folder that is removed at the end`

/** Returns the exit code. Throws UserError, UsageError. */
export async function runDemo(args: readonly string[]): Promise<number> {
  const parsed = parseOrHelp(
    args,
    { short: { type: 'boolean' }, json: { type: 'string' }, out: { type: 'string' } },
    usage,
  )
  if (!parsed) return 0
  const { values } = parsed
  const short = values.short ?? process.env.STUDIO_DEMO === 'short'
  const base = findDemoFolder()
  const pipeline = await readPipeline(base, short ? 'pipeline.short.json' : 'pipeline.json')

  if (values.json !== undefined) await checkTarget(values.json)

  const temporary = values.out === undefined
  const out = temporary ? await mkdtemp(path.join(tmpdir(), 'recursivemas-demo-')) : path.resolve(values.out!)
  const { signal, restore } = stopOnSignals()
  const started = performance.now()
  try {
    const cells = await runPipeline(pipeline, { base, out, signal, onEvent: terminalReport(pipeline) })
    if (cells === null) {
      if (temporary) await rm(out, { recursive: true, force: true })
      process.stderr.write('Stopped.\n')
      return stoppedCode
    }
    const seconds = (performance.now() - started) / 1000
    const result = summary(cells, seconds)
    process.stdout.write(comparisonTable(pipeline.systems, cells))
    process.stderr.write(
      `${result.rows} held-out questions, 95 % intervals in brackets; everything took ${duration(seconds)}.\n`,
    )
    if (values.json !== undefined) await writeJsonWhole(path.resolve(values.json), result)
    if (short) process.stderr.write('The shortened demo shows that every part works; its links are hardly trained.\n')
    if (temporary) await rm(out, { recursive: true, force: true })
    else process.stderr.write(`The runs are in ${out}.\n`)
    return 0
  } catch (error) {
    process.stderr.write(`The runs so far, with their logs, are in ${out}.\n`)
    throw error
  } finally {
    restore()
  }
}

/** Whether the result can be written there is found out before the work, not after it. */
async function checkTarget(file: string): Promise<void> {
  const folder = path.dirname(path.resolve(file))
  const isFolder = (p: string) =>
    stat(p).then(
      (s) => s.isDirectory(),
      () => false,
    )
  const refused = (why: string) =>
    new UserError({
      what: 'The table cannot be written there.',
      why,
      next: 'Name a file in an existing folder with --json.',
    })
  if (await isFolder(path.resolve(file))) throw refused(`${file} is a folder.`)
  if (!(await isFolder(folder))) throw refused(`There is no folder ${folder}.`)
  await access(folder, constants.W_OK).catch(() => {
    throw refused(`The folder ${folder} cannot be written to.`)
  })
}

/** Says on standard error how far the steps are. */
function terminalReport(pipeline: Pipeline): (step: PipelineStep, event: JobEvent) => void {
  const line = progressLine()
  const titles = new Map<string, string>()
  let loss: number | null = null
  return (step, event) => {
    const number = String(pipeline.steps.indexOf(step) + 1).padStart(2)
    const label = `[${number}/${pipeline.steps.length}] ${step.title}`
    switch (event.kind) {
      case 'started':
        loss = null
        return
      case 'phase':
        titles.set(event.phase, event.title)
        return
      case 'metrics':
        loss = event.loss
        return
      case 'progress':
        return line.show(`${label}: ${progressText(event, titles.get(event.phase), loss)}`)
      case 'validation':
        return line.finish(
          `${label}: step ${event.step}, ${event.name} ${(100 * event.value).toFixed(1)} % of ${event.n}`,
        )
      case 'log':
        return event.level === 'warning' ? line.finish(`${label}: ${event.message}`) : undefined
      case 'finished':
        return line.finish(`${label}: ${finishedText(event, loss)}`)
      case 'checkpoint':
      case 'question':
      case 'memory':
      case 'memory-used':
      case 'stopped':
      case 'failed':
        return
      default:
        throw new Error(`event ${JSON.stringify(event satisfies never)}`)
    }
  }
}

function progressText(event: JobEventOf<'progress'>, title: string | undefined, loss: number | null): string {
  const { phase, done, total, rate, secondsLeft, writing } = event
  const parts = [`${title ?? phase} ${done}${total > 0 ? `/${total}` : ''}`]
  if (loss !== null) parts.push(`loss ${loss.toFixed(4)}`)
  if (rate !== null) parts.push(`${rate.toFixed(1)}/s`)
  if (secondsLeft !== null) parts.push(`${duration(secondsLeft)} left`)
  if (writing) parts.push(`writing ${writing.text.slice(-40).replaceAll('\n', ' ')}`)
  return parts.join(', ')
}

function finishedText(event: JobEventOf<'finished'>, loss: number | null): string {
  const took = `done in ${duration(event.seconds)}`
  if (event.accuracy) return `${(100 * event.accuracy.value).toFixed(1)} % right, ${took}`
  return loss === null ? took : `loss ${loss.toFixed(4)}, ${took}`
}

/**
 * `npm run demo [-- --short] [--json FILE] [--out DIR]`: the demo's whole pipeline in the terminal. Progress goes to
 * standard error, the comparison table to standard output.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { comparisonTable, summary } from '../demo/comparison'
import { findDemoFolder } from '../demo/demo-folder'
import { runPipeline } from '../demo/run-pipeline'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import type { JobEvent } from '../engine/job-events'
import { readPipeline } from '../workspace/pipeline'
import { parseOptions } from './options'
import { duration, progressLine } from './progress-line'

const usage = `npm run demo -- [--short] [--json FILE] [--out DIR]
  --short      a few steps and rows only: shows that everything works, not what it can do
  --json FILE  also writes the accuracies (fractions) as JSON
  --out DIR    keeps the runs there; default: a temporary folder that is removed at the end`

/** Returns the exit code. Throws UserError, UsageError. */
export async function runDemo(args: readonly string[]): Promise<number> {
  const { values } = parseOptions(
    args,
    { short: { type: 'boolean' }, json: { type: 'string' }, out: { type: 'string' }, help: { type: 'boolean' } },
    usage,
  )
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const short = values.short ?? process.env.STUDIO_DEMO === 'short'
  const base = findDemoFolder()
  const pipeline = await readPipeline(base, short ? 'pipeline.short.json' : 'pipeline.json')

  const stop = new AbortController()
  const onInterrupt = () => {
    if (stop.signal.aborted) process.exit(130)
    stop.abort()
    process.stderr.write('\nStopping at the next step; press Ctrl-C again to end at once.\n')
  }
  process.on('SIGINT', onInterrupt)

  const out =
    values.out === undefined ? await mkdtemp(path.join(tmpdir(), 'recursivemas-demo-')) : path.resolve(values.out)
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1000
  const line = progressLine()
  const total = pipeline.steps.length
  const titles = new Map<string, string>()
  let loss: number | null = null
  try {
    const cells = await runPipeline(pipeline, {
      base,
      out,
      signal: stop.signal,
      onEvent: (step, event) => {
        const number = `[${String(pipeline.steps.indexOf(step) + 1).padStart(2)}/${total}] ${step.title}`
        if (event.kind === 'started') loss = null
        if (event.kind === 'phase') titles.set(event.phase, event.title)
        if (event.kind === 'metrics') loss = event.loss
        if (event.kind === 'progress') line.show(`${number}: ${progressText(event, titles.get(event.phase), loss)}`)
        if (event.kind === 'finished') line.finish(`${number}: ${finishedText(event, loss)}`)
        if (event.kind === 'log' && event.level === 'warning') line.finish(`${number}: ${event.message}`)
      },
    })
    if (cells === null) {
      line.finish('Stopped.')
      return 130
    }
    process.stdout.write(comparisonTable(pipeline.systems, cells))
    const result = summary(cells, seconds())
    process.stderr.write(
      `${result.rows} held-out questions, 95 % intervals in brackets; everything took ${duration(seconds())}.\n`,
    )
    if (values.json !== undefined) await writeJsonWhole(path.resolve(values.json), result)
    if (values.out !== undefined) process.stderr.write(`The runs are in ${out}.\n`)
    return 0
  } finally {
    process.off('SIGINT', onInterrupt)
    if (values.out === undefined) await rm(out, { recursive: true, force: true })
  }
}

function progressText(
  event: Extract<JobEvent, { kind: 'progress' }>,
  title: string | undefined,
  loss: number | null,
): string {
  const { phase, done, total, rate, secondsLeft } = event
  const parts = [`${title ?? phase} ${done}${total > 0 ? `/${total}` : ''}`]
  if (loss !== null) parts.push(`loss ${loss.toFixed(4)}`)
  if (rate !== null) parts.push(`${rate.toFixed(1)}/s`)
  if (secondsLeft !== null) parts.push(`${duration(secondsLeft)} left`)
  return parts.join(', ')
}

function finishedText(event: Extract<JobEvent, { kind: 'finished' }>, loss: number | null): string {
  const took = `done in ${duration(event.seconds)}`
  if (event.accuracy) return `${(100 * event.accuracy.value).toFixed(1)} % right, ${took}`
  return loss === null ? took : `loss ${loss.toFixed(4)}, ${took}`
}

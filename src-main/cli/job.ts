/**
 * `npm run job -- spec.json [--resume]`: one job of the app without a window. Events go to standard output as JSON lines; the exit
 * code is 0 only when the job finished. Ctrl-C asks it to stop at a state that can be resumed, a later one ends it at once.
 */
import { prepareJobData } from '../datasets/job-data'
import { runJob } from '../engine/engine'
import type { JobEvent } from '../engine/job-events'
import { readSpecFile } from '../jobs/read-spec'
import { runGuarded } from '../jobs/serve-job'
import { parseOrHelp } from './options'
import { stoppedCode, stopOnSignals } from './stop-on-signals'
import { UsageError } from './usage-error'

const usage = `npm run job -- spec.json [--resume]
  spec.json  what to do; relative paths in it are relative to its folder
  --resume   go on from where the run in the spec's output folder stopped`

/** Returns the exit code. Throws UserError, UsageError. */
export async function runJobCommand(args: readonly string[]): Promise<number> {
  const parsed = parseOrHelp(args, { resume: { type: 'boolean', default: false } }, usage, true)
  if (!parsed) return 0
  const { values, positionals } = parsed
  if (positionals.length !== 1) throw new UsageError('Name one spec file.', usage)
  const given = await readSpecFile(positionals[0])
  const { signal, restore } = stopOnSignals()
  try {
    const { spec, takeBack } = await prepareJobData(given, { signal })
    try {
      return exitCodeOf(await runGuarded(runJob, spec, { emit: writeLine, signal, resume: values.resume === true }))
    } finally {
      await takeBack()
    }
  } finally {
    restore()
  }
}

function exitCodeOf(last: JobEvent): number {
  if (last.kind === 'finished') return 0
  if (last.kind === 'stopped') {
    process.stderr.write(`Stopped at step ${last.step}${last.resumable ? '; go on with --resume' : ''}.\n`)
    return stoppedCode
  }
  if (last.kind === 'failed') {
    process.stderr.write(`${last.what}\n${last.why}\n${last.next}\n`)
    if (process.env.STUDIO_DEBUG && last.detail !== undefined) process.stderr.write(`${last.detail}\n`)
  }
  return 1
}

function writeLine(event: JobEvent): void {
  process.stdout.write(JSON.stringify(event) + '\n')
}

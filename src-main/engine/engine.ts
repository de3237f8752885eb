/**
 * The engine's front door: takes a job, streams events, ends with exactly one `finished`, `stopped` or `failed`.
 * Runs in the engine process of the app, in the command line and in tests alike.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  checkSameSettings,
  isUnused,
  setAsideEarlierRun,
  specFile,
  takeBackStart,
  writeStart,
  type Start,
} from './earlier-run'
import { UserError } from './errors'
import { evaluate } from './evaluation/runner'
import { explainingDiskErrors, prepareOutputFolder, takeBackFolder } from './formats/disk-errors'
import { jobContext, StopRequested, type JobContext } from './job-context'
import type { JobEvent } from './job-events'
import { jobSpec, type JobSpec } from './job-spec'
import { Resources } from './job-setup'
import type { JobNews } from './progress'
import { withSystem } from './released/system-spec'
import { RunFolder } from './run-folder'
import { loadTrainingState } from './training/checkpoints'
import { trainInner } from './training/inner'
import { checkpointToResume } from './training/loop'
import { readsTwice } from './training/outer-choices'
import { trainOuter } from './training/outer'

export interface RunOptions {
  /** Receives every event, in order. */
  readonly emit: (event: JobEvent) => void
  /** Aborting asks the job to stop at the next step boundary, in a state that can be resumed. */
  readonly signal?: AbortSignal
  /**
   * Continue from the newest checkpoint (training) or the questions already answered (evaluation) in the output folder, with the
   * settings that the run was started with. Otherwise what an earlier run left there is set aside.
   */
  readonly resume?: boolean
}

type Ending = Extract<JobNews, { kind: 'finished' | 'stopped' }>

/** Space that a run needs at the least, bytes; checkpoints of large links need more and say so when they are written. */
const smallestSpace = 16 * 2 ** 20

export async function runJob(spec: JobSpec, options: RunOptions): Promise<void> {
  const started = performance.now()
  let folder: RunFolder | null = null
  let step = 0
  /** How to undo the start while nothing was worked out yet; null where there is something to keep. */
  let start: Start | null = null
  let madeFolder: string | null = null
  const say = (news: JobNews): void => {
    const event = timed(news)
    if (event.kind !== 'started' && event.kind !== 'log') start = null
    if (event.kind === 'metrics') step = event.step
    else if (event.kind === 'started') step = event.resumedFrom ?? 0
    else if (event.kind === 'question') step++
    options.emit(event)
    folder?.write(event)
  }
  try {
    const job = await withSystem(checked(spec))
    madeFolder = await prepareOutputFolder(job.output, { needBytes: smallestSpace })
    folder = new RunFolder(job.output)
    const resume = options.resume ?? false
    const unsure = resume ? await checkSameSettings(job) : null
    const fresh = !resume || isUnused(job.output)
    const before = await readFile(specFile(job.output), 'utf8').catch(() => null)
    const aside = resume ? null : await settingAside(job.output)
    if (fresh) start = { aside, spec: before }
    await writeStart(job)
    const ctx = jobContext({
      output: job.output,
      resume,
      signal: options.signal,
      say: listening(folder, say),
    })
    if (unsure !== null) ctx.warn(unsure)
    if (aside !== null) ctx.warn(`The folder held an earlier run: it is in ${join(job.output, aside)} now.`)
    const ending = await explainingDiskErrors({ folder: job.output, doing: 'The run could not write its files' }, () =>
      work(ctx, job, started),
    )
    const last = timed(ending)
    // a journal that cannot say that the run finished is a failure; a stop can be resumed in any case
    if (last.kind === 'finished') await writingEnd(folder, last)
    else tryToWrite(folder, last)
    options.emit(last)
  } catch (error) {
    const last = timed(error instanceof StopRequested ? { kind: 'stopped', step, resumable: true } : failure(error))
    const undone = start !== null && last.kind === 'failed' && (await takenBack(spec.output, start, madeFolder))
    options.emit(last)
    if (!undone) tryToWrite(folder, last)
  }
}

/** A job that failed before its first work leaves the folder as it found it. False where that could not be done. */
async function takenBack(output: string, start: Start, madeFolder: string | null): Promise<boolean> {
  try {
    await takeBackStart(output, start)
    await takeBackFolder(output, madeFolder)
    return true
  } catch {
    return false
  }
}

const timed = (news: JobNews): JobEvent => ({ ...news, time: Date.now() }) as JobEvent

function writingEnd(folder: RunFolder, last: JobEvent): Promise<void> {
  return explainingDiskErrors(
    { folder: folder.path, doing: "The run's end could not be written to its journal" },
    async () => folder.write(last),
  )
}

/** The folder may be what failed: the caller hears the event in any case. */
function tryToWrite(folder: RunFolder | null, last: JobEvent): void {
  try {
    folder?.write(last)
  } catch {
    return
  }
}

function settingAside(output: string): Promise<string | null> {
  return explainingDiskErrors({ folder: output, doing: 'What an earlier run left could not be set aside' }, () =>
    setAsideEarlierRun(output),
  )
}

function checked(spec: JobSpec): JobSpec {
  const result = jobSpec.safeParse(spec)
  if (result.success && result.data.device === 'cuda')
    throw new UserError({
      what: 'The job cannot be run on CUDA.',
      why: 'This version computes on the processor only.',
      next: 'Set "device" to "cpu", or leave it out.',
    })
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new UserError({
    what: 'The job cannot be run.',
    why: `${issue.path.join('.') || 'the job'}: ${issue.message}.`,
    next: 'Correct the setting and start again.',
  })
}

async function work(ctx: JobContext, job: JobSpec, started: number): Promise<Ending> {
  const readers = job.kind === 'inner' ? [job] : job.agents
  const resources = new Resources({ ...job, keepsPasses: readsTwice(job) }, (message) => ctx.warn(message), readers)
  const seconds = () => (performance.now() - started) / 1000
  try {
    switch (job.kind) {
      case 'inner':
      case 'outer': {
        const from = await checkpointToResume(ctx)
        ctx.say({ kind: 'started', job: job.kind, resumedFrom: from?.step ?? null })
        const resumed = from && (await loadTrainingState(from.folder))
        const end =
          job.kind === 'inner'
            ? await trainInner(ctx, job, resources, resumed)
            : await trainOuter(ctx, job, resources, resumed)
        return end.kind === 'stopped'
          ? { kind: 'stopped', step: end.step, resumable: true }
          : { kind: 'finished', seconds: seconds(), checkpoint: end.checkpoint }
      }
      case 'evaluate': {
        const verdict = await evaluate(ctx, job, resources)
        return { kind: 'finished', seconds: seconds(), ...verdict }
      }
      default:
        throw new Error(`job ${String(job satisfies never)}`)
    }
  } finally {
    resources.tellContexts()
    await resources.dispose()
  }
}

/** Before a training run says its first number, those of steps that come again (all, without a checkpoint) are taken out of its file. */
function listening(folder: RunFolder, say: (news: JobNews) => void): (news: JobNews) => void {
  return (news) => {
    if (news.kind === 'started' && news.job !== 'evaluate') folder.forgetMetricsAfter(news.resumedFrom ?? -1)
    say(news)
  }
}

function failure(error: unknown): Extract<JobNews, { kind: 'failed' }> {
  if (error instanceof UserError) return { kind: 'failed', what: error.what, why: error.why, next: error.next }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return {
    kind: 'failed',
    what: 'The job failed by a defect of the program.',
    why: message,
    next: 'The log has the details; resume the run, or report it with the log.',
    ...(stack === undefined ? {} : { detail: stack }),
  }
}

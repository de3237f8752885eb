/**
 * The engine's front door: takes a job, streams events, ends with exactly one `finished`, `stopped` or `failed`.
 * Runs in the engine process of the app, in the command line and in tests alike.
 */
import { join } from 'node:path'
import { checkSameSettings } from './earlier-run'
import { UserError } from './errors'
import { evaluate } from './evaluation/runner'
import { explainingDiskErrors, prepareOutputFolder, takeBackFolder } from './formats/disk-errors'
import { checkAgainst } from './formats/schema-faults'
import { jobContext, StopRequested, type JobContext } from './job-context'
import type { JobEvent } from './job-events'
import { jobSpec, type JobSpec } from './job-spec'
import { Resources } from './job-setup'
import { startPeak } from './memory/machine'
import type { JobNews } from './progress'
import { withSystem } from './released/system-spec'
import { RunRecord } from './run-record'
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
  startPeak()
  const resume = options.resume ?? false
  let record: RunRecord | null = null
  let ctx: JobContext | null = null
  let madeFolder: string | null = null
  let step = 0
  const say = (news: JobNews): void => {
    const event = timed(news)
    if (event.kind === 'metrics') step = event.step
    else if (event.kind === 'started') step = event.resumedFrom ?? 0
    else if (event.kind === 'question') step++
    options.emit(event)
    record?.write(event)
  }
  try {
    const job = await withSystem(checked(spec))
    madeFolder = await prepareOutputFolder(job.output, { needBytes: smallestSpace })
    const unsure = resume ? await checkSameSettings(job) : null
    record = new RunRecord(job, resume)
    const own = (ctx = context(job, record, options, say))
    if (unsure !== null) ctx.warn(unsure)
    const ending = await explainingDiskErrors({ folder: job.output, doing: 'The run could not write its files' }, () =>
      work(own, job, started),
    )
    const last = timed(ending)
    // a journal that cannot say that the run finished is a failure; a stop can be resumed in any case
    if (last.kind === 'finished') await writingEnd(job.output, record, last)
    else tryToWrite(record, last)
    options.emit(last)
  } catch (error) {
    const last = timed(error instanceof StopRequested ? await stopped(ctx, step) : failure(error))
    options.emit(last)
    if (record?.begun) tryToWrite(record, last)
    else await takeBackFolder(spec.output, madeFolder)
  }
}

function context(
  job: JobSpec,
  record: RunRecord,
  { resume = false, signal }: RunOptions,
  say: (news: JobNews) => void,
): JobContext {
  const begin = async () => {
    const aside = await record.begin()
    if (aside !== null) ctx.warn(`The folder held an earlier run: it is in ${join(job.output, aside)} now.`)
  }
  const ctx = jobContext({ output: job.output, resume, signal, begin, say })
  return ctx
}

/** A run that was asked to stop can be resumed, also where it had not begun yet. */
async function stopped(ctx: JobContext | null, step: number): Promise<JobNews> {
  try {
    await ctx?.begin()
    return { kind: 'stopped', step, resumable: true }
  } catch (error) {
    return failure(error)
  }
}

const timed = (news: JobNews): JobEvent => ({ ...news, time: Date.now() }) as JobEvent

function writingEnd(output: string, record: RunRecord, last: JobEvent): Promise<void> {
  return explainingDiskErrors(
    { folder: output, doing: "The run's end could not be written to its journal" },
    async () => record.write(last),
  )
}

/** The folder may be what failed: the caller hears the event in any case. */
function tryToWrite(record: RunRecord, last: JobEvent): void {
  try {
    record.write(last)
  } catch {
    return
  }
}

function checked(spec: JobSpec): JobSpec {
  const result = checkAgainst(jobSpec, spec, 'the job')
  if (result.ok && result.data.device === 'cuda')
    throw new UserError({
      what: 'The job cannot be run on CUDA.',
      why: 'This version computes on the processor only.',
      next: 'Set "device" to "cpu", or leave it out.',
    })
  if (result.ok) return result.data
  throw new UserError({
    what: 'The job cannot be run.',
    why: `${result.why}.`,
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
    resources.tellMemory(ctx)
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

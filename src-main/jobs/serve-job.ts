/**
 * The engine process's whole life: waits for a job, runs it with a heartbeat, hands every event on, and ends. Apart from
 * engine-process.ts so that it runs in tests over any channel.
 */
import type { runJob } from '../engine/engine'
import { UserError } from '../engine/errors'
import { prepareOutputFolder, takeBackFolder } from '../engine/formats/disk-errors'
import type { JobEvent } from '../engine/job-events'
import type { JobSpec } from '../engine/job-spec'
import { toEngine, type EngineChannel } from './engine-messages'
import { refuseIfBusy, startHeartbeat } from './heartbeat'

/** Fulfilled when main has taken the last event and lets the process go. */
export function serveJob(channel: EngineChannel, run: typeof runJob): Promise<void> {
  const stop = new AbortController()
  let started = false
  return new Promise((resolve) => {
    channel.listen((raw) => {
      const message = toEngine.parse(raw)
      switch (message.kind) {
        case 'start':
          if (started) throw new Error('an engine process runs one job')
          started = true
          void work(channel, run, message.spec, message.resume, stop.signal)
          return
        case 'stop':
          stop.abort()
          return
        case 'exit':
          resolve()
          return
      }
    })
    channel.send({ kind: 'ready' })
  })
}

async function work(
  channel: EngineChannel,
  run: typeof runJob,
  spec: JobSpec,
  resume: boolean,
  signal: AbortSignal,
): Promise<void> {
  const beat = setInterval(
    () => channel.send({ kind: 'heartbeat', time: Date.now(), memoryBytes: process.memoryUsage.rss() }),
    1000,
  )
  await runGuarded(run, spec, { emit: (event) => channel.send({ kind: 'event', event }), signal, resume })
  clearInterval(beat)
  channel.send({ kind: 'ended' })
}

/**
 * Runs a job with a heartbeat in its folder, and makes sure that its last event tells how it ended: what escapes as an error, or
 * ends in silence, becomes `failed`. Also what the command line runs.
 */
export async function runGuarded(
  run: typeof runJob,
  spec: JobSpec,
  options: { emit: (event: JobEvent) => void; signal: AbortSignal; resume: boolean },
): Promise<JobEvent> {
  let last: JobEvent | undefined
  const emit = (event: JobEvent): void => {
    last = event
    options.emit(event)
  }
  let stopHeartbeat: () => Promise<void> = async () => undefined
  let madeFolder: string | null = null
  try {
    madeFolder = await prepareOutputFolder(spec.output)
    await refuseIfBusy(spec.output)
    stopHeartbeat = startHeartbeat(spec.output)
    await run(spec, { ...options, emit })
    if (!isLast(last)) throw new Error('The job ended without saying how.')
  } catch (error) {
    if (!isLast(last)) emit(failedEvent(error))
  } finally {
    await stopHeartbeat()
    // holds nothing where the job failed at its very start
    await takeBackFolder(spec.output, madeFolder)
  }
  return last!
}

export function failedEvent(error: unknown, time = Date.now()): JobEvent {
  if (error instanceof UserError) {
    const { what, why, next } = error
    return { kind: 'failed', time, what, why, next }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return {
    kind: 'failed',
    time,
    what: 'The job failed by a defect of the program.',
    why: message,
    next: 'The log has the details; resume, or report it with the log.',
    ...(stack === undefined ? {} : { detail: stack }),
  }
}

function isLast(event: JobEvent | undefined): boolean {
  return event?.kind === 'finished' || event?.kind === 'stopped' || event?.kind === 'failed'
}

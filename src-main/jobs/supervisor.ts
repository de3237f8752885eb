/**
 * One engine process for one job, from start to end, whatever happens to it: hands events on, keeps the log, asks it to stop and
 * ends it when it does not, and says in the end how it went.
 */
import path from 'node:path'
import type { StudioError } from '../bridge/contract'
import type { JobEvent } from '../engine/job-events'
import type { JobSpec } from '../engine/job-spec'
import { fromEngine, type EngineChild, type SpawnEngine } from './engine-messages'
import { RunLog } from './run-log'

export type Ending =
  | { readonly kind: 'finished' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly error: StudioError }
  /** The process ended without a last word; `asked`: we had asked it to stop, or ended it. */
  | { readonly kind: 'died'; readonly error: StudioError; readonly asked: boolean; readonly everStarted: boolean }

export interface SupervisorListener {
  event(event: JobEvent): void
  memory(bytes: number): void
  log(from: number, text: string): void
  problem(error: unknown): void
}

export class Supervisor {
  readonly done: Promise<Ending>
  private readonly log: RunLog
  private child: EngineChild | undefined
  private ending: Ending | undefined
  private everStarted = false
  private asked = false
  private exited = false
  private graceTimer: NodeJS.Timeout | undefined
  private finish!: (ending: Ending) => void

  constructor(
    private readonly spec: JobSpec,
    private readonly options: {
      resume: boolean
      spawn: SpawnEngine
      listener: SupervisorListener
      /** Milliseconds between asking to stop and ending the process. */
      grace: number
    },
  ) {
    const { listener } = options
    this.done = new Promise((resolve) => (this.finish = resolve))
    this.log = new RunLog(path.join(spec.output, 'log.txt'), listener.log, listener.problem)
    try {
      this.child = options.spawn({
        message: (message) => this.receive(message),
        output: (text) => this.log.append(text),
        exit: (code, cause) => void this.exit(code, cause),
      })
    } catch (error) {
      void this.exit(null, (error as Error).message)
    }
  }

  get pid(): number | undefined {
    return this.child?.pid
  }

  /** Asks at first; ends the process after the grace time, or at once when asked again. */
  stop(): void {
    if (this.exited) return
    if (this.asked) return this.kill()
    this.asked = true
    this.child?.send({ kind: 'stop' })
    this.graceTimer = setTimeout(() => this.kill(), this.options.grace)
  }

  kill(): void {
    this.asked = true
    if (!this.exited) this.child?.kill()
  }

  private receive(raw: unknown): void {
    const checked = fromEngine.safeParse(raw)
    if (!checked.success) {
      this.options.listener.problem(
        new Error('An engine process sent a message that does not fit.', { cause: checked.error }),
      )
      return
    }
    const message = checked.data
    switch (message.kind) {
      case 'ready':
        this.child?.send({ kind: 'start', spec: this.spec, resume: this.options.resume })
        // Asked while the process was coming up: it stops at its first boundary.
        if (this.asked) this.child?.send({ kind: 'stop' })
        return
      case 'event':
        this.everStarted ||= message.event.kind === 'started'
        this.ending = endingOf(message.event) ?? this.ending
        this.log.event(message.event)
        this.options.listener.event(message.event)
        return
      case 'heartbeat':
        this.options.listener.memory(message.memoryBytes)
        return
      case 'ended':
        this.child?.send({ kind: 'exit' })
        return
    }
  }

  private async exit(code: number | null, cause: string | null): Promise<void> {
    if (this.exited) return
    this.exited = true
    clearTimeout(this.graceTimer)
    const ending = this.ending ?? this.died(code, cause)
    if (ending.kind === 'died') this.log.line(Date.now(), `${ending.error.what} ${ending.error.why}`)
    await this.log.close()
    this.finish(ending)
  }

  private died(code: number | null, cause: string | null): Ending {
    const lastLine = this.log.lastLine()
    const how = cause ?? (code === null ? 'Its process ended' : `Its process ended with code ${code}`)
    const error = this.asked
      ? {
          what: 'The run was ended.',
          why: 'It did not come to a step boundary in time, so its process was ended.',
          next: 'Resume it: it goes on from its last checkpoint.',
        }
      : {
          what: 'The engine ended unexpectedly.',
          why: `${how}${lastLine === null ? '.' : `; the last line of its log: ${withoutFolders(lastLine)}`}`,
          next: this.everStarted
            ? `Resume it: it goes on from its last checkpoint.${/memory/.test(cause ?? '') ? ' Close other programs first, or choose a smaller batch.' : ''}`
            : 'The log has the details.',
        }
    return { kind: 'died', error, asked: this.asked, everStarted: this.everStarted }
  }
}

/** Absolute paths cut down to their last name: the whole path stands in the log. */
function withoutFolders(line: string): string {
  return line.replace(/(?<![\w.])(?:[A-Za-z]:)?(?:[/\\][^\s/\\"']+)+[/\\]([^\s/\\"']+)/g, '$1')
}

function endingOf(event: JobEvent): Ending | undefined {
  switch (event.kind) {
    case 'finished':
    case 'stopped':
      return { kind: event.kind }
    case 'failed': {
      const { what, why, next } = event
      return { kind: 'failed', error: { what, why, next } }
    }
    default:
      return undefined
  }
}

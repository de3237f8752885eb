/**
 * Main's end of the data process: started at the first call, started again after it ended. What it held is then void, which whoever
 * listens is told, and every call under way is answered with an error that says so.
 */
import type { RowOrderState, StudioError } from '../bridge/contract'
import { UserError } from '../engine/errors'
import type { Child, Spawn } from '../jobs/child'
import type { FromData, Operation, Params, Progress, Result, ToData } from './messages'

export interface DataListener {
  progress(progress: Progress): void
  order(state: RowOrderState): void
  /** The process ended by itself: every handle is void. */
  lost(error: StudioError): void
  output(text: string): void
}

/** Milliseconds without a call and without a data set that is open, after which the process ends. */
const idleMs = 60_000

/** Handles that one process may make. */
const handlesEach = 1_000_000

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

interface Running {
  child: Child<ToData> | null
  readonly calls: Map<number, Waiting>
  ready: boolean
  readonly unsent: ToData[]
}

export class DataProcess {
  private running: Running | null = null
  private calls = 0
  private started = 0
  private idle: NodeJS.Timeout | undefined

  constructor(
    private readonly spawn: Spawn<ToData>,
    private readonly listener: DataListener,
  ) {}

  get pid(): number | undefined {
    return this.running?.child?.pid
  }

  /** Throws UserError. */
  call<O extends Operation>(operation: O, params: Params<O>, ticket: string | null = null): Promise<Result<O>> {
    clearTimeout(this.idle)
    return new Promise<unknown>((resolve, reject) => {
      const running = this.running ?? this.start()
      const id = this.calls++
      running.calls.set(id, { resolve, reject })
      this.send(running, { kind: 'call', id, operation, params, ticket })
    }) as Promise<Result<O>>
  }

  cancel(ticket: string): void {
    if (this.running) this.send(this.running, { kind: 'cancel', ticket })
  }

  /** It ends after a while unless it is called again, or `needed` by then. */
  rest(needed: () => boolean, after = idleMs): void {
    clearTimeout(this.idle)
    this.idle = setTimeout(() => {
      if (this.running && this.running.calls.size > 0) this.rest(needed, after)
      else if (!needed()) this.stop()
    }, after)
    this.idle.unref()
  }

  /** Ends the process; what is under way is answered with an error. */
  stop(): void {
    clearTimeout(this.idle)
    const { running } = this
    this.running = null
    if (!running) return
    running.child?.kill()
    failAll(running, { what: 'The data was not read.', why: 'The workspace is closed.', next: 'Open it again.' })
  }

  private start(): Running {
    const running: Running = { child: null, calls: new Map(), ready: false, unsent: [] }
    const firstHandle = 1 + (this.started++ % 900) * handlesEach
    // known before anything can be heard of it
    this.running = running
    try {
      running.child = this.spawn({
        message: (message) => this.receive(running, message as FromData, firstHandle),
        output: (text) => this.listener.output(text),
        exit: (code, cause) => this.exited(running, code, cause),
      })
    } catch (error) {
      this.running = null
      throw error
    }
    return running
  }

  private send(running: Running, message: ToData): void {
    if (running.ready) running.child?.send(message)
    else running.unsent.push(message)
  }

  private receive(running: Running, message: FromData, firstHandle: number): void {
    if (message.kind === 'ready') {
      running.ready = true
      running.child?.send({ kind: 'start', firstHandle })
      for (const unsent of running.unsent.splice(0)) running.child?.send(unsent)
      return
    }
    if (this.running !== running) return
    switch (message.kind) {
      case 'progress':
        this.listener.progress(message.progress)
        return
      case 'order':
        this.listener.order(message.state)
        return
    }
    const waiting = running.calls.get(message.id)
    running.calls.delete(message.id)
    switch (message.kind) {
      case 'done':
        waiting?.resolve(message.value)
        return
      case 'refused':
        waiting?.reject(new UserError(message.error))
        return
      case 'failed':
        waiting?.reject(Object.assign(new Error(message.message), { stack: message.stack }))
        return
    }
  }

  private exited(running: Running, code: number | null, cause: string | null): void {
    if (this.running !== running) return
    this.running = null
    const error: StudioError = {
      what: 'The process that reads data ended unexpectedly.',
      why: `${cause ?? (code === null ? 'It ended without a word' : `It ended with code ${code}`)}.`,
      next: `Open the data set again.${/memory/.test(cause ?? '') ? ' Close other programs first.' : ''}`,
    }
    failAll(running, error)
    this.listener.lost(error)
  }
}

function failAll({ calls }: Running, error: StudioError): void {
  for (const { reject } of calls.values()) reject(new UserError(error))
  calls.clear()
}

/**
 * Runs wait here for their turn; one engine works at a time unless told otherwise. Every change of a run's state goes through the
 * store, so what the disk says and what the page shows are the same.
 */
import type { RunState } from '../bridge/contract'
import { UserError } from '../engine/errors'
import type { JobEvent } from '../engine/job-events'
import type { JobSpec } from '../engine/job-spec'
import { isResumable } from '../workspace/run-views'
import { stateOf } from '../workspace/run-record'
import type { Run, RunKey, RunStore, StateChange } from '../workspace/run-store'
import type { SpawnEngine } from './engine-messages'
import { failedEvent } from './serve-job'
import { Supervisor, type Ending } from './supervisor'

/** A run's turn has come: either its spec, or why it cannot start yet. */
export type Prepared =
  | {
      readonly kind: 'ready'
      readonly spec: JobSpec
      /** Goes on from what its folder holds; otherwise the engine sets that aside. */
      readonly resume: boolean
      /** What is worth knowing about this start. */
      readonly detail?: string
      /** Called when the run's engine has ended, or never started: what was prepared for a run that did not begin goes again. */
      readonly takeBack?: () => Promise<void>
    }
  | { readonly kind: 'waiting'; readonly why: string }

export interface QueueListener {
  /** A run has another state. */
  state(run: Run): void
  event(run: Run, event: JobEvent): void
  log(run: RunKey, from: number, text: string): void
  /** Nothing runs and nothing waits any more. */
  idle(): void
  problem(error: unknown): void
}

export interface QueueOptions {
  readonly store: RunStore
  readonly spawn: SpawnEngine
  /** Throws UserError where the run can never start as it is. */
  readonly prepare: (run: Run) => Promise<Prepared>
  readonly listener: QueueListener
  readonly concurrency?: number
  /** Milliseconds between asking a run to stop and ending its process. */
  readonly grace?: number
}

interface Working {
  readonly key: RunKey
  readonly supervisor: Supervisor
  memoryBytes: number | null
}

export class JobQueue {
  private waiting: RunKey[] = []
  private readonly working = new Map<string, Working>()
  /** Runs between waiting and working. */
  private readonly preparing = new Set<string>()
  /** Those of them that shall not start any more. */
  private readonly cancelled = new Set<string>()
  private closed = false

  constructor(private readonly options: QueueOptions) {}

  get busy(): boolean {
    return this.waiting.length + this.preparing.size + this.working.size > 0
  }

  /** Resident memory of the running engines; null where none runs or none has said. */
  get engineBytes(): number | null {
    const known = [...this.working.values()].flatMap(({ memoryBytes }) => memoryBytes ?? [])
    return known.length > 0 ? known.reduce((a, b) => a + b) : null
  }

  /** Place in the queue, 0 = next; null = not waiting. */
  position(key: RunKey): number | null {
    const at = this.waiting.findIndex((other) => same(other, key))
    return at < 0 ? null : at
  }

  /** A fresh run (its state is queued already) takes its place. */
  add(run: Run): void {
    this.waiting.push({ project: run.project, id: run.id })
    this.advance()
  }

  /** A run that was stopped, died or failed goes on. Throws UserError where it cannot. */
  async resume(key: RunKey): Promise<Run> {
    const run = await this.options.store.get(key)
    if (!isResumable(run))
      throw new UserError({
        what: 'This run cannot be resumed.',
        why: `It is ${stateOf(run.record)}.`,
        next: stateOf(run.record) === 'done' ? 'Start a new run of the step.' : 'Wait until it ends.',
      })
    const queued = await this.setState(key, 'queued')
    this.add(queued)
    return queued
  }

  /** Out of the queue, or asked to stop; asked a second time it is ended at once. Throws UserError where it does not go on. */
  async cancel(key: RunKey): Promise<Run> {
    const run = await this.options.store.get(key)
    const stopped = await this.tryCancel(key)
    if (stopped) return stopped
    throw new UserError({
      what: 'This run cannot be stopped.',
      why: `It is ${stateOf(run.record)}.`,
      next: 'Nothing has to be done.',
    })
  }

  /** `cancel` for several: none of them starts while others are being stopped, and ones that have ended meanwhile are left. */
  async cancelAll(keys: readonly RunKey[]): Promise<void> {
    const waiting = keys.filter((key) => this.position(key) !== null)
    this.waiting = this.waiting.filter((other) => !waiting.some((key) => same(other, key)))
    for (const key of keys) if (this.preparing.has(textOf(key))) this.cancelled.add(textOf(key))
    const others = keys.filter((key) => !waiting.includes(key))
    await Promise.all([...waiting.map((key) => this.leaveQueue(key)), ...others.map((key) => this.tryCancel(key))])
    this.advance()
  }

  /** Undefined where nothing of the run goes on. */
  private async tryCancel(key: RunKey): Promise<Run | undefined> {
    const { store } = this.options
    if (this.position(key) !== null) {
      this.waiting = this.waiting.filter((other) => !same(other, key))
      const paused = await this.leaveQueue(key)
      this.advance()
      return paused
    }
    const working = this.working.get(textOf(key))
    if (working) {
      const run = store.known(key)
      const stopping = stateOf(run.record) === 'stopping' ? run : await this.setState(key, 'stopping')
      working.supervisor.stop()
      return stopping
    }
    if (this.preparing.has(textOf(key))) {
      this.cancelled.add(textOf(key))
      return store.known(key)
    }
    return store.endForeign(key)
  }

  private leaveQueue(key: RunKey): Promise<Run> {
    return this.setState(key, 'paused', { detail: 'Taken out of the queue.' })
  }

  /** Stops everything for the end of the app: running jobs get `grace` milliseconds for their last checkpoint. */
  async shutdown(grace: number): Promise<void> {
    this.closed = true
    this.waiting = []
    const working = [...this.working.values()]
    for (const { supervisor } of working) supervisor.stop()
    const timer = setTimeout(() => working.forEach(({ supervisor }) => supervisor.kill()), grace)
    await Promise.all(working.map(({ supervisor }) => supervisor.done))
    clearTimeout(timer)
    while (this.working.size + this.preparing.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  }

  private advance(): void {
    const limit = this.options.concurrency ?? 1
    while (!this.closed && this.working.size + this.preparing.size < limit) {
      const key = this.waiting.shift()
      if (!key) break
      void this.start(key)
    }
    if (!this.busy) this.options.listener.idle()
  }

  private async start(key: RunKey): Promise<void> {
    const { store, listener, prepare } = this.options
    this.preparing.add(textOf(key))
    try {
      const run = store.known(key)
      const prepared = await prepare(run)
      const takeBack = async () => {
        if (prepared.kind === 'ready') await prepared.takeBack?.().catch(listener.problem)
      }
      if (this.closed) return void (await takeBack())
      if (this.cancelled.has(textOf(key))) {
        await takeBack()
        await this.leaveQueue(key)
      } else if (prepared.kind === 'waiting') await this.setState(key, 'paused', { detail: prepared.why })
      else await this.launch(run, prepared, takeBack)
    } catch (error) {
      if (!(error instanceof UserError)) listener.problem(error)
      const failed = failedEvent(error)
      if (failed.kind === 'failed') {
        const { what, why, next } = failed
        // Where even this cannot be written, the problem was told and the queue goes on.
        await this.setState(key, 'failed', { error: { what, why, next } }).catch(listener.problem)
      }
    } finally {
      this.preparing.delete(textOf(key))
      this.cancelled.delete(textOf(key))
      this.advance()
    }
  }

  private async launch(
    run: Run,
    { spec, resume, detail }: Extract<Prepared, { kind: 'ready' }>,
    takeBack: () => Promise<void>,
  ): Promise<void> {
    const { store, spawn, listener, grace = 60_000 } = this.options
    const key: RunKey = { project: run.project, id: run.id }
    store.own(key)
    if (!resume) store.forgetJournal(key)
    let working: Working | undefined
    try {
      await this.setState(key, 'running', { spec, detail })
      // The app may end, or the run be stopped, while its record is being written.
      if (this.closed) return void (await this.setState(key, 'paused', { detail: 'The app was closed.' }))
      if (this.cancelled.has(textOf(key))) return void (await this.leaveQueue(key))
      working = {
        key,
        memoryBytes: null,
        supervisor: new Supervisor(spec, {
          resume,
          spawn,
          grace,
          listener: {
            event: (event) => listener.event(store.addEvent(key, event), event),
            memory: (bytes) => {
              if (working) working.memoryBytes = bytes
            },
            log: (from, text) => listener.log(key, from, text),
            problem: listener.problem,
          },
        }),
      }
      this.working.set(textOf(key), working)
    } finally {
      if (!working) {
        await takeBack()
        store.disown(key)
      }
    }
    void working.supervisor.done.then(async (ending) => {
      await takeBack()
      const { state, change } = stateAfter(ending)
      await store.findCheckpoints(key).catch(listener.problem)
      await this.setState(key, state, change).catch(listener.problem)
      store.disown(key)
      this.working.delete(textOf(key))
      this.advance()
    })
  }

  private async setState(key: RunKey, state: RunState, change?: StateChange): Promise<Run> {
    const writing = this.options.store.setState(key, state, change)
    // The page need not wait for the disk.
    this.options.listener.state(this.options.store.known(key))
    return writing
  }
}

function stateAfter(ending: Ending): { state: RunState; change: StateChange } {
  switch (ending.kind) {
    case 'finished':
      return { state: 'done', change: {} }
    case 'stopped':
      return { state: 'paused', change: {} }
    case 'failed':
      return { state: 'failed', change: { error: ending.error } }
    case 'died':
      if (ending.asked) return { state: 'paused', change: { detail: ending.error.why } }
      return { state: ending.everStarted ? 'interrupted' : 'failed', change: { error: ending.error } }
  }
}

function same(a: RunKey, b: RunKey): boolean {
  return a.project === b.project && a.id === b.id
}

function textOf(key: RunKey): string {
  return `${key.project}/${key.id}`
}

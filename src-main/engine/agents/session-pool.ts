/**
 * Sessions of agents that share one memory. Each is opened when it is first needed; where the next would not fit beside the others,
 * those that were used longest ago make room, never in the middle of a call. One that is needed again is opened again: what it computes
 * is the same, only later.
 */
import { collectGarbage } from '../memory/collect'
import type { EngineSession } from '../onnx/session'

/** Who has a session. */
export interface SessionOwner {
  /** Bytes that it takes while it is open and works; 0: not known, and not counted. */
  readonly footprint: number
  open(): Promise<EngineSession>
}

interface Entry {
  readonly owner: SessionOwner
  session: Promise<EngineSession>
  /** Calls that use it now. */
  calls: number
}

export class SessionPool {
  /** Least recently used first. */
  private entries: Entry[] = []
  private waiting: (() => void)[] = []
  /** One after another makes room and opens. */
  private last: Promise<unknown> = Promise.resolve()
  /** Sessions opened so far. */
  loads = 0

  /** Bytes for all together; more than one is never open beyond it. */
  constructor(public limit = Infinity) {}

  /** Runs `work` with the owner's session, which stays open until it is done. */
  async use<T>(owner: SessionOwner, work: (session: EngineSession) => Promise<T>): Promise<T> {
    const entry = await this.take(owner)
    try {
      return await work(await entry.session)
    } finally {
      entry.calls--
      this.wakeAll()
    }
  }

  /** Closes the owner's session, if it is open, as soon as no call uses it. */
  async drop(owner: SessionOwner): Promise<void> {
    for (;;) {
      const entry = this.entries.find((e) => e.owner === owner)
      if (!entry) return
      if (entry.calls === 0) return this.close(entry)
      await this.someCallsEnd()
    }
  }

  private take(owner: SessionOwner): Promise<Entry> {
    const taken = this.last.then(() => this.opened(owner))
    this.last = taken.catch(() => undefined)
    return taken
  }

  private async opened(owner: SessionOwner): Promise<Entry> {
    const known = this.entries.find((e) => e.owner === owner)
    if (known) {
      this.entries = [...this.entries.filter((e) => e !== known), known]
      known.calls++
      return known
    }
    await this.makeRoom(owner.footprint)
    const entry: Entry = { owner, session: owner.open(), calls: 1 }
    this.entries.push(entry)
    try {
      await entry.session
      this.loads++
    } catch (error) {
      // the next call tries again
      this.entries = this.entries.filter((e) => e !== entry)
      this.wakeAll()
      throw error
    }
    return entry
  }

  private async makeRoom(bytes: number): Promise<void> {
    while (this.entries.length > 0 && this.entries.reduce((n, { owner }) => n + owner.footprint, bytes) > this.limit) {
      const idle = this.entries.find(({ calls }) => calls === 0)
      if (idle) {
        await this.close(idle)
        collectGarbage()
      } else await this.someCallsEnd()
    }
  }

  private someCallsEnd(): Promise<void> {
    return new Promise((wake) => this.waiting.push(wake))
  }

  private wakeAll(): void {
    for (const wake of this.waiting.splice(0)) wake()
  }

  private async close(entry: Entry): Promise<void> {
    this.entries = this.entries.filter((e) => e !== entry)
    // a session that could not be opened has nothing to release, and said so to whoever asked for it
    await (await entry.session.catch(() => null))?.dispose()
  }
}

/**
 * Events on their way to the page, slowed down to what an eye can follow: of what replaces itself the last value is kept, of what adds
 * up everything, and at most every 250 ms one event goes out for each run.
 */
import type { EventName, EventPayload, MetricPoint, RunSummary } from './contract'

export type Send = <N extends EventName>(name: N, payload: EventPayload<N>) => void

interface Pending {
  run: (() => RunSummary) | null
  points: MetricPoint[]
  log: { from: number; text: string } | null
  timer: NodeJS.Timeout | null
  lastSent: number
}

/** Unsent log text is cut at this length: a page that needs more reads the file. */
const logLimit = 65_536

export class RunPublisher {
  private readonly pending = new Map<string, Pending>()

  constructor(
    private readonly send: Send,
    private readonly interval = 250,
  ) {}

  /** `run` makes the summary when it is sent. */
  changed(project: string, run: string, summary: () => RunSummary, urgent: boolean): void {
    this.of(project, run).run = summary
    this.schedule(project, run, urgent)
  }

  metrics(project: string, run: string, point: MetricPoint): void {
    this.of(project, run).points.push(point)
    this.schedule(project, run, false)
  }

  log(project: string, run: string, from: number, text: string): void {
    const pending = this.of(project, run)
    const log = pending.log ?? { from, text: '' }
    // Where something would be left out, the page sees a gap between its offset and `from`, and asks for the rest.
    pending.log = log.text.length + text.length > logLimit ? { from, text } : { from: log.from, text: log.text + text }
    this.schedule(project, run, false)
  }

  /** Sends nothing more about this run. */
  forget(project: string, run: string): void {
    const pending = this.pending.get(`${project}/${run}`)
    if (pending?.timer) clearTimeout(pending.timer)
    this.pending.delete(`${project}/${run}`)
  }

  private of(project: string, run: string): Pending {
    const key = `${project}/${run}`
    let pending = this.pending.get(key)
    if (!pending) {
      pending = { run: null, points: [], log: null, timer: null, lastSent: 0 }
      this.pending.set(key, pending)
    }
    return pending
  }

  private schedule(project: string, run: string, urgent: boolean): void {
    const pending = this.of(project, run)
    if (urgent) return this.flush(project, run)
    if (pending.timer) return
    const wait = Math.max(0, pending.lastSent + this.interval - Date.now())
    pending.timer = setTimeout(() => this.flush(project, run), wait)
  }

  private flush(project: string, run: string): void {
    const pending = this.of(project, run)
    if (pending.timer) clearTimeout(pending.timer)
    pending.timer = null
    pending.lastSent = Date.now()
    const { run: summary, points, log } = pending
    pending.run = null
    pending.points = []
    pending.log = null
    if (summary) this.send('run/changed', { run: summary() })
    if (points.length > 0) this.send('run/metrics', { project, run, points })
    if (log) this.send('run/log', { project, run, ...log })
  }
}

/** A stretch of work with a bar: counts, smooths the rate, and says both at a bearable pace. */
import type { JobEvent } from './job-events'

type Untimed<E> = E extends unknown ? Omit<E, 'time'> : never
/** A job event before it has its time. */
export type JobNews = Untimed<JobEvent>

/** Rates are measured over at most this long, and not before there is this much data; milliseconds. */
const windowLength = 30_000
const shortestWindow = 3_000
const pace = 250

export class Progress {
  private done: number
  private readonly marks: { time: number; done: number }[] = []
  private lastSaid = 0

  constructor(
    private readonly say: (news: JobNews) => void,
    private readonly phase: string,
    title: string,
    private readonly total: number,
    unit: string,
    /** What was done before (a resumed job). */
    already = 0,
    private readonly now: () => number = Date.now,
  ) {
    this.done = already
    say({ kind: 'phase', phase, title, total, unit })
    this.marks.push({ time: now(), done: already })
  }

  add(count = 1): void {
    this.done += count
    const time = this.now()
    this.marks.push({ time, done: this.done })
    while (this.marks.length > 2 && this.marks[1].time <= time - windowLength) this.marks.shift()
    if (time - this.lastSaid < pace && this.done !== this.total) return
    this.lastSaid = time
    const rate = this.rate(time)
    const left = this.total > 0 && rate !== null && rate > 0 ? Math.max(0, this.total - this.done) / rate : null
    this.say({ kind: 'progress', phase: this.phase, done: this.done, total: this.total, rate, secondsLeft: left })
  }

  /** Units a second over the last half minute. */
  private rate(time: number): number | null {
    const from = this.marks[0]
    return time - from.time < shortestWindow ? null : ((this.done - from.done) / (time - from.time)) * 1000
  }
}

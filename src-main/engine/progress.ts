/** A stretch of work with a bar: counts, smooths the rate, and says both at a bearable pace. */
import type { JobEvent, JobEventOf } from './job-events'

type Untimed<E> = E extends unknown ? Omit<E, 'time'> : never
/** A job event before it has its time. */
export type JobNews = Untimed<JobEvent>

/** Rates are measured over at most this long, and not before there is this much data; milliseconds. */
const windowLength = 30_000
const shortestWindow = 3_000
const pace = 250
/** Characters of a text being written that are shown. */
const longestText = 400

type Writing = NonNullable<JobEventOf<'progress'>['writing']>

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
    if (time - this.lastSaid >= pace || this.done === this.total) this.tell(time)
  }

  /** Between two counts, which may be minutes apart: the text that is being written, its end where it is long. */
  writing(writing: Writing): void {
    const time = this.now()
    if (time - this.lastSaid >= pace) this.tell(time, { ...writing, text: writing.text.slice(-longestText) })
  }

  private tell(time: number, writing?: Writing): void {
    this.lastSaid = time
    const { phase, done, total } = this
    const rate = this.rate(time)
    const secondsLeft = total > 0 && rate !== null && rate > 0 ? Math.max(0, total - done) / rate : null
    this.say({ kind: 'progress', phase, done, total, rate, secondsLeft, ...(writing ? { writing } : {}) })
  }

  /** Units a second over the last half minute. */
  private rate(time: number): number | null {
    const from = this.marks[0]
    return time - from.time < shortestWindow ? null : ((this.done - from.done) / (time - from.time)) * 1000
  }
}

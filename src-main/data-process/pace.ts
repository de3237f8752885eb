/** Slows values that replace each other down to what an eye can follow. */

const interval = 250

/** Hands on at most four values a second; `last` hands the last one on at once, and nothing after it. */
export class Pace<T> {
  private waiting: T | undefined
  private timer: NodeJS.Timeout | undefined
  private sent = 0
  private ended = false

  constructor(private readonly send: (value: T) => void) {}

  next(value: T): void {
    if (this.ended) return
    this.waiting = value
    this.timer ??= setTimeout(() => this.flush(), Math.max(0, this.sent + interval - Date.now()))
  }

  last(value: T): void {
    if (this.ended) return
    this.stop()
    this.send(value)
  }

  stop(): void {
    this.ended = true
    clearTimeout(this.timer)
  }

  private flush(): void {
    this.timer = undefined
    this.sent = Date.now()
    const { waiting } = this
    this.waiting = undefined
    if (waiting !== undefined) this.send(waiting)
  }
}

/**
 * A run's log.txt: what the engine process prints, and its notes and phases with their times. Losing the log (a full disk) never
 * stops the run.
 */
import { createWriteStream, statSync, type WriteStream } from 'node:fs'
import type { JobEvent } from '../engine/job-events'
import { inGigabytes } from '../engine/memory/estimate'

export class RunLog {
  private readonly stream: WriteStream
  private size: number
  private readonly tail: string[] = []

  /** `onText` hears what was appended, with the byte offset where it starts. */
  constructor(
    file: string,
    private readonly onText: (from: number, text: string) => void,
    onProblem: (error: unknown) => void,
  ) {
    this.size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    this.stream = createWriteStream(file, { flags: 'a' })
    this.stream.once('error', onProblem)
    this.stream.on('error', () => undefined)
  }

  append(text: string): void {
    if (text === '') return
    const from = this.size
    this.size += Buffer.byteLength(text)
    if (!this.stream.destroyed) this.stream.write(text)
    this.tail.push(text)
    if (this.tail.length > 50) this.tail.splice(0, this.tail.length - 50)
    this.onText(from, text)
  }

  line(time: number, text: string): void {
    this.append(`${new Date(time).toISOString()} ${text}\n`)
  }

  /** The events that a person looks for in a log; numbers have their own files. */
  event(event: JobEvent): void {
    const text = describe(event)
    if (text !== null) this.line(event.time, text)
  }

  /** The last line that says anything. */
  lastLine(): string | null {
    const lines = this.tail.join('').split('\n')
    return lines.reverse().find((line) => line.trim() !== '') ?? null
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.stream.destroyed) resolve()
      else this.stream.end(() => resolve())
    })
  }
}

function describe(event: JobEvent): string | null {
  switch (event.kind) {
    case 'started':
      return event.resumedFrom === null ? `started (${event.job})` : `resumed from ${event.resumedFrom} (${event.job})`
    case 'phase':
      return event.total > 0 ? `${event.title}: ${event.total} ${event.unit}` : event.title
    case 'validation':
      return `validation at step ${event.step}: ${event.name} ${event.value} (n = ${event.n})${event.best ? ', best so far' : ''}`
    case 'checkpoint':
      return `checkpoint at step ${event.step}: ${event.folder}`
    case 'memory':
      return `memory: ${event.reason}`
    case 'memory-used':
      return event.peak === null
        ? null
        : `memory: ${inGigabytes(event.peak)} at the most, about ${inGigabytes(event.estimate)} had been expected`
    case 'log':
      return event.level === 'warning' ? `warning: ${event.message}` : event.message
    case 'finished':
      return `finished in ${event.seconds.toFixed(1)} s`
    case 'stopped':
      return `stopped at step ${event.step}`
    case 'failed':
      return `failed: ${event.what} ${event.why}${event.detail ? `\n${event.detail}` : ''}`
    case 'progress':
    case 'metrics':
    case 'question':
      return null
  }
}

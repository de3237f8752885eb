/**
 * Progress for a person at a terminal, on standard error: one line that is rewritten in place; where the output is a
 * file or a pipe, a new line every few seconds.
 */
export interface ProgressLine {
  /** Replaces the line. */
  show(text: string): void
  /** Ends the line with this text and starts a new one. */
  finish(text: string): void
}

/** Milliseconds between two lines where lines cannot be rewritten. */
const plainInterval = 5000

export function progressLine(stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  let last = -Infinity
  return {
    show(text) {
      if (stream.isTTY) stream.write(`\r\x1b[2K${text.slice(0, Math.max(20, stream.columns - 1))}`)
      else if (performance.now() - last >= plainInterval) {
        last = performance.now()
        stream.write(`${text}\n`)
      }
    },
    finish(text) {
      last = performance.now()
      stream.write(stream.isTTY ? `\r\x1b[2K${text}\n` : `${text}\n`)
    },
  }
}

/** "48 s", "3 min 20 s", "2 h 5 min". */
export function duration(seconds: number): string {
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

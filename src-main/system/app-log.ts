/** Main's own log: logs/main.log in the workspace, and the one before it. Losing the log never stops the app. */
import { appendFileSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../engine/formats/make-folder'

const largest = 1 << 20

export class AppLog {
  private readonly file: string

  constructor(folder: string) {
    this.file = path.join(folder, 'main.log')
  }

  /** Synchronous: what is logged last before a crash is what is looked for. */
  write(text: string, error?: unknown): void {
    const line = `${new Date().toISOString()} ${text}${error === undefined ? '' : `: ${describe(error)}`}\n`
    if (process.env.STUDIO_DEBUG) process.stderr.write(line)
    try {
      makeFolder(path.dirname(this.file))
      if ((statSync(this.file, { throwIfNoEntry: false })?.size ?? 0) > largest) renameSync(this.file, `${this.file}.1`)
      appendFileSync(this.file, line)
    } catch {
      process.stderr.write(line)
    }
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : `\ncaused by ${describe(error.cause)}`
  return `${error.stack ?? error.message}${cause}`
}

/**
 * What a run leaves of its events in its folder: journal.jsonl (all but numbers and bars), metrics.jsonl (numbers: metrics and
 * validations). Append-only; a resumed training run first takes away metrics of steps that it will make again.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JobEvent } from './job-events'

export class RunFolder {
  private readonly opened = new Set<string>()

  constructor(readonly path: string) {}

  /** Losing a line here (a full disk) must not hide the reason why: errors go to the caller. */
  write(event: JobEvent): void {
    const name = fileOf(event)
    if (!name) return
    const file = join(this.path, name)
    const start = this.opened.has(name) || endsWhole(file) ? '' : '\n'
    this.opened.add(name)
    appendFileSync(file, start + JSON.stringify(event) + '\n')
  }

  /** Keeps the numbers of steps up to `step`. */
  forgetMetricsAfter(step: number): void {
    const file = join(this.path, 'metrics.jsonl')
    if (!existsSync(file)) return
    const kept = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => stepOf(line) <= step)
    writeFileSync(`${file}.new`, kept.map((line) => line + '\n').join(''))
    renameSync(`${file}.new`, file)
  }
}

/** False where a killed process left half a line: what is appended must not become part of it. */
function endsWhole(file: string): boolean {
  if (!existsSync(file)) return true
  const text = readFileSync(file)
  return text.length === 0 || text[text.length - 1] === 10
}

function fileOf(event: JobEvent): string | null {
  switch (event.kind) {
    case 'metrics':
    case 'validation':
      return 'metrics.jsonl'
    case 'progress':
      return null
    default:
      return 'journal.jsonl'
  }
}

/** Half a line, which a killed process leaves, belongs to no step. */
function stepOf(line: string): number {
  try {
    return (JSON.parse(line) as { step: number }).step
  } catch {
    return Infinity
  }
}

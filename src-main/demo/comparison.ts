/** What the demo's evaluations say together: accuracy by system and rounds, as a table for people and as plain numbers. */
import type { JobEventOf } from '../engine/job-events'

export type Accuracy = NonNullable<JobEventOf<'finished'>['accuracy']>

/** One evaluation: a row (system) and a column (rounds) of the table. */
export interface Cell {
  readonly system: string
  readonly rounds: number
  readonly accuracy: Accuracy
}

export interface System {
  readonly id: string
  readonly title: string
}

/** Systems as rows, rounds as columns, each cell with its 95 % interval. A system at one number of rounds has one cell. */
export function comparisonTable(systems: readonly System[], cells: readonly Cell[]): string {
  const rounds = [...new Set(cells.map((c) => c.rounds))].sort((a, b) => a - b)
  const text = ({ value, low, high }: Accuracy) => {
    const percent = (x: number) => (100 * x).toFixed(1)
    return `${percent(value)} % (${percent(low)} to ${percent(high)})`
  }
  const rows = systems.map(({ id, title }) => [
    title,
    ...rounds.map((r) => {
      const cell = cells.find((c) => c.system === id && c.rounds === r)
      return cell ? text(cell.accuracy) : ''
    }),
  ])
  const all = [['', ...rounds.map((r) => (r === 1 ? '1 round' : `${r} rounds`))], ...rows]
  const widths = all[0].map((_, i) => Math.max(...all.map((row) => row[i].length)))
  const line = (row: readonly string[]) =>
    `| ${row.map((c, i) => (i ? c.padStart(widths[i]) : c.padEnd(widths[i]))).join(' | ')} |`
  const rule = `| ${widths.map((w, i) => (i ? '-'.repeat(w - 1) + ':' : '-'.repeat(w))).join(' | ')} |`
  return [line(all[0]), rule, ...rows.map(line)].join('\n') + '\n'
}

/** The summary that `npm run demo -- --json` writes; accuracies are fractions. */
export interface DemoSummary {
  /** Held-out questions of each evaluation. */
  readonly rows: number
  readonly seconds: number
  /** By number of rounds. */
  readonly untrained: Readonly<Record<string, number>>
  readonly trained: Readonly<Record<string, number>>
  readonly text: Readonly<Record<string, number>>
  readonly solverAlone: number
}

export function summary(cells: readonly Cell[], seconds: number): DemoSummary {
  const of = (system: string) =>
    Object.fromEntries(cells.filter((c) => c.system === system).map((c) => [String(c.rounds), c.accuracy.value]))
  const rows = new Set(cells.map((c) => c.accuracy.n))
  const alone = cells.find((c) => c.system === 'solver-alone')
  if (rows.size !== 1 || !alone)
    throw new Error(`evaluations on ${[...rows].join(', ')} rows, solver alone: ${alone !== undefined}`)
  return {
    rows: alone.accuracy.n,
    seconds: Math.round(seconds * 10) / 10,
    untrained: of('untrained'),
    trained: of('trained'),
    text: of('text'),
    solverAlone: alone.accuracy.value,
  }
}

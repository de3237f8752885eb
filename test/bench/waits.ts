/** Times that a person waits for, with what is aimed at. */
import { table } from './table'

export interface Wait {
  readonly what: string
  /** Of every time that it was done, milliseconds. */
  readonly ms: readonly number[]
  /** At most so much, 95 % of the times; null: nothing is aimed at. */
  readonly target: number | null
}

export interface Waits {
  readonly waits: readonly Wait[]
}

/** The value below or at which a share of the values lies: the smallest such value. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
}

export function waitsTable({ waits }: Waits): string {
  const rows = waits.map(({ what, ms, target }) => {
    const late = quantile(ms, 0.95)
    return [
      what,
      String(ms.length),
      milliseconds(quantile(ms, 0.5)),
      milliseconds(late),
      target === null ? '' : milliseconds(target),
      target === null ? '' : late <= target ? 'met' : 'BEHIND',
    ]
  })
  return table([['wait', 'times', 'median, ms', '95 %, ms', 'aimed at', ''], ...rows])
}

const milliseconds = (ms: number) => ms.toFixed(ms < 10 ? 1 : 0)

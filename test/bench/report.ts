/** Tables for a person. Times in seconds, memory in MB (MiB). */
import { type Agreement, tolerance } from './agreement'
import type { Need } from './flops'
import type { GemmRecord, WorkName, WorkRecord } from './measure'
import { median } from './measure'
import type { BaselineRecord, Variant } from './run-child'
import { bandwidthTarget, sessionTarget, targets } from './targets'

export interface Pair {
  readonly work: WorkName
  readonly variant: Variant
  readonly ours: WorkRecord
  readonly theirs: BaselineRecord
  /** Both processes, start to end. */
  readonly minutes: number
}

/** Columns as wide as their widest cell; the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((r) => r[i].length)))
  return rows
    .map(
      (r) =>
        r
          .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
          .join('  ')
          .trimEnd() + '\n',
    )
    .join('')
}

const seconds = (s: number) => s.toFixed(s < 0.1 ? 4 : s < 10 ? 3 : 1)
const percent = (share: number) => `${Math.round(100 * share)} %`

/** Our own times; several records of one work are its processes. */
export function ownTable(
  records: ReadonlyMap<WorkName, readonly WorkRecord[]>,
  need: Readonly<Record<WorkName, Need>>,
  gemm: GemmRecord | null,
): string {
  const head = ['work', 'median', 'min', 'processor', 'load', 'slowest session', 'memory', 'peak memory']
  if (gemm) head.push('of GEMM peak', 'of bandwidth')
  const rows = [...records].map(([work, all]) => {
    const time = median(all.flatMap((r) => r.seconds))
    const { flops, stepBytes } = need[work]
    const cells = [
      work,
      seconds(time),
      seconds(Math.min(...all.map((r) => r.min))),
      seconds(median(all.map((r) => r.cpu_median))),
      seconds(median(all.map((r) => r.load_s))),
      seconds(Math.max(...all.flatMap((r) => r.sessions.map((s) => s.seconds)))),
      String(Math.round(median(all.map((r) => r.loaded_mb ?? NaN)))),
      String(Math.max(...all.map((r) => r.peak_mb))),
    ]
    if (gemm) {
      cells.push(flops > 0 ? percent(flops / time / 1e9 / gemm.peakGflops) : '')
      cells.push(stepBytes ? percent(stepBytes / time / 1e9 / gemm.bandwidth) : '')
    }
    return cells
  })
  return table([head, ...rows])
}

export function gemmLines(gemm: GemmRecord): string {
  const rates = Object.entries(gemm.gflops).map(([product, rate]) => `${product} ${rate} GFLOP/s`)
  return `float32 products through our own session: ${rates.join(', ')}; one-row products read ${gemm.bandwidth.toFixed(1)} GB/s\n`
}

export function agreementTable(agreements: ReadonlyMap<string, readonly Agreement[]>): string {
  const rows = [...agreements].flatMap(([work, all]) =>
    all.map(({ name, difference, agrees }) => [
      work,
      name,
      difference === 0 ? '0' : difference.toExponential(1),
      agrees === null ? 'not judged' : agrees ? 'agrees' : 'DIFFERS',
    ]),
  )
  return table([['work', 'result', 'largest difference', `within ${tolerance}`], ...rows])
}

/** Speed-ups of paired runs: baseline's seconds by ours, median and range of the pairs. */
export function pairTable(pairs: readonly Pair[]): string {
  const groups = new Map<string, Pair[]>()
  for (const pair of pairs) {
    const key = `${pair.work} ${pair.variant}`
    groups.set(key, [...(groups.get(key) ?? []), pair])
  }
  const rows = [...groups.values()].map((group) => {
    const { work, variant } = group[0]
    const ratios = group.map((p) => p.theirs.median / p.ours.median)
    const target = targets[variant][work]
    const middle = median(ratios)
    const peaks = [median(group.map((p) => p.ours.peak_mb)), median(group.map((p) => p.theirs.peak_mb))]
    return [
      work,
      variant,
      String(group.length),
      seconds(median(group.map((p) => p.ours.median))),
      seconds(median(group.map((p) => p.theirs.median))),
      `${middle.toFixed(2)}x`,
      `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`,
      target === undefined ? '' : `${target}x`,
      target === undefined ? '' : middle >= target ? 'met' : 'BEHIND',
      `${Math.round(peaks[0])} / ${Math.round(peaks[1])}`,
      peaks[0] <= peaks[1] ? 'met' : 'ABOVE',
    ]
  })
  const head = ['work', 'against', 'pairs', 'ours', 'theirs', 'speed-up', 'range', 'target', '', 'peak memory', '']
  return table([head, ...rows])
}

export function aims(): string {
  return (
    `Also aimed at: every session made in under ${sessionTarget} s; decode at ${percent(bandwidthTarget)} of the bandwidth ` +
    'or more (its column counts the whole time, the prompt too).\n'
  )
}

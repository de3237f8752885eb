/** Tables for a person. Times in seconds, memory in MB (MiB). */
import { type Agreement, tolerance } from './agreement'
import type { Need } from './flops'
import type { BenchCase } from './cases'
import type { GemmRecord, WorkRecord } from './measure'
import { median } from './measure'
import type { BaselineRecord, Variant } from './run-child'
import { table } from './table'
import { bandwidthTarget, sessionTarget, targets } from './targets'

export interface Pair {
  /** The case's name. */
  readonly work: string
  readonly variant: Variant
  readonly ours: WorkRecord
  /** null: the baseline has no such work. */
  readonly theirs: BaselineRecord | null
  /** Both processes, start to end. */
  readonly minutes: number
}

const seconds = (s: number) => s.toFixed(Math.abs(s) < 0.1 ? 4 : Math.abs(s) < 10 ? 3 : 1)
const percent = (share: number) => `${Math.round(100 * share)} %`

/** Our own times; several records of one work are its processes. */
export function ownTable(
  records: ReadonlyMap<string, readonly WorkRecord[]>,
  need: ReadonlyMap<string, Need>,
  gemm: GemmRecord | null,
): string {
  const head = ['work', 'median', 'min', 'processor', 'load', 'slowest session', 'memory', 'peak memory']
  if (gemm) head.push('of GEMM peak', 'of bandwidth')
  const rows = [...records].map(([work, all]) => {
    const time = median(all.flatMap((r) => r.seconds))
    const { flops, stepBytes } = need.get(work)!
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
  const groups = new Map<string, (Pair & { theirs: BaselineRecord })[]>()
  for (const pair of pairs) {
    if (!isPair(pair)) continue
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
  const alone = [...new Set(pairs.filter((p) => !isPair(p)).map((p) => p.work))]
  return (
    (rows.length > 0 ? table([head, ...rows]) : '') +
    (alone.length > 0 ? `The baseline has no such work, this engine was measured alone: ${alone.join(', ')}.\n` : '')
  )
}

const isPair = (pair: Pair): pair is Pair & { theirs: BaselineRecord } => pair.theirs !== null

export interface SeriesPoint {
  readonly case: BenchCase
  /** Medians, seconds; null where only this engine was measured. */
  readonly ours: number
  readonly theirs: number | null
}

/** How time grows with size; the empty text when none of the points belongs to a series. */
export function seriesTable(points: readonly SeriesPoint[]): string {
  const series = new Map<string, SeriesPoint[]>()
  for (const point of points) {
    const { series: of } = point.case
    if (of) series.set(of.name, [...(series.get(of.name) ?? []), point])
  }
  const rows = [...series.values()].flat().map(({ case: c, ours, theirs }) => {
    const { name, size, unit } = c.series!
    return [
      name,
      `${size} ${unit}${size === 1 ? '' : 's'}`,
      seconds(ours),
      milliseconds(ours / size),
      theirs === null ? 'alone' : seconds(theirs),
      theirs === null ? '' : milliseconds(theirs / size),
      theirs === null ? '' : `${(theirs / ours).toFixed(2)}x`,
    ]
  })
  if (rows.length === 0) return ''
  const head = ['series', 'size', 'ours', 'ms a unit', 'theirs', 'ms a unit', 'speed-up']
  const lines = [...series].flatMap(([name, all]) =>
    all[0].case.series!.linear
      ? [lineText(`${name}, ours`, all, (p) => p.ours), lineText(`${name}, theirs`, all, (p) => p.theirs)]
      : [],
  )
  return table([head, ...rows]) + lines.join('')
}

const milliseconds = (s: number) => (1000 * s).toFixed(s < 0.1 ? 2 : 0)

function lineText(what: string, points: readonly SeriesPoint[], time: (p: SeriesPoint) => number | null): string {
  const known = points.flatMap((p): [number, number][] => {
    const t = time(p)
    return t === null ? [] : [[p.case.series!.size, t]]
  })
  // two points are always on a line
  if (known.length < 3) return ''
  const { start, slope, furthest } = straightLine(known)
  return `${what}: ${seconds(slope)} s a ${points[0].case.series!.unit} and ${seconds(start)} s once; no point is further than ${percent(furthest)} from that line\n`
}

/** Least-squares line through (x, y); `furthest` is the largest distance of a y from it, as a share of the line's value there. */
export function straightLine(points: readonly (readonly [number, number])[]): {
  start: number
  slope: number
  furthest: number
} {
  const mean = (of: (p: readonly [number, number]) => number) => points.reduce((n, p) => n + of(p), 0) / points.length
  const [x0, y0] = [mean(([x]) => x), mean(([, y]) => y)]
  const slope = mean(([x, y]) => (x - x0) * (y - y0)) / mean(([x]) => (x - x0) ** 2)
  const start = y0 - slope * x0
  const furthest = Math.max(...points.map(([x, y]) => Math.abs(y / (start + slope * x) - 1)))
  return { start, slope, furthest }
}

export function aims(): string {
  return (
    `Also aimed at: every session made in under ${sessionTarget} s; decode at ${percent(bandwidthTarget)} of the bandwidth ` +
    'or more (its column counts the whole time, the prompt too).\n'
  )
}

/** What a chart is given: numbers by step, with names. Plain data, no chart library. */
import type { MetricPoint } from '../../src-main/bridge/contract'

export interface Series {
  readonly label: string
  readonly x: readonly number[]
  /** null = no value there; the line has a gap. */
  readonly y: readonly (number | null)[]
  /** Place in the palette, from 0; the same thing has the same colour in every chart. */
  readonly color: number
  /** Intervals, drawn as whiskers; same length as `x`. */
  readonly low?: readonly number[]
  readonly high?: readonly number[]
}

/**
 * Moves the points of several series that stand at one x apart, by at most `room` to each side, so that equal values and their
 * intervals can be told from each other. Callers that tell exact values round x back.
 */
export function dodge(series: readonly Series[], room = 0.09): Series[] {
  const step = series.length > 1 ? (2 * room) / (series.length - 1) : 0
  return series.map((line, i) => ({ ...line, x: line.x.map((x) => x + (series.length > 1 ? i * step - room : 0)) }))
}

/** From the first to the last step of a run, for one x axis on all its charts; undefined without any. */
export function stepRange(
  points: readonly { readonly step: number }[],
  validations: readonly { readonly step: number }[] = [],
): { readonly from: number; readonly to: number } | undefined {
  const ends = [points[0], points.at(-1), validations[0], validations.at(-1)].flatMap((end) => (end ? [end.step] : []))
  return ends.length > 0 ? { from: Math.min(...ends), to: Math.max(...ends) } : undefined
}

/** A vertical line with a word: a checkpoint that was the best, a resume. */
export interface Mark {
  readonly x: number
  readonly label: string
}

/** One value of every point by step; absent samples stay absent. */
export function byStep(
  points: readonly MetricPoint[],
  label: string,
  color: number,
  pick: (point: MetricPoint) => number | null | undefined,
): Series {
  const x: number[] = []
  const y: (number | null)[] = []
  let any = false
  for (const point of points) {
    const value = pick(point)
    x.push(point.step)
    y.push(value ?? null)
    if (value !== undefined && value !== null) any = true
  }
  return any ? { label, x, y, color } : { label, x: [], y: [], color }
}

/** Gradient norms: for each link, one series a round; links by their keys. */
export function gradientsByLink(
  points: readonly MetricPoint[],
): { readonly link: string; readonly series: readonly Series[] }[] {
  const rounds = new Map<string, number>()
  for (const { gradNorms } of points) {
    for (const [link, norms] of Object.entries(gradNorms ?? {}))
      rounds.set(link, Math.max(rounds.get(link) ?? 0, norms.length))
  }
  const links = [...rounds].sort(([a], [b]) => a.localeCompare(b))
  return links.map(([link, count]) => ({
    link,
    series: Array.from({ length: count }, (_, round) =>
      byStep(points, `round ${round + 1}`, round, (point) => point.gradNorms?.[link]?.[round]),
    ).filter((series) => series.x.length > 0),
  }))
}

/** Cross-entropy by round, where more than one round was supervised. */
export function lossesByRound(points: readonly MetricPoint[]): Series[] {
  const count = points.reduce((most, point) => Math.max(most, point.roundLosses?.length ?? 0), 0)
  const series = Array.from({ length: count }, (_, round) =>
    byStep(points, `round ${round + 1}`, round, (point) => point.roundLosses?.[round]),
  ).filter((line) => line.x.length > 0)
  return series.length > 1 ? series : []
}

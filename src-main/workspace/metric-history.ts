/**
 * The curves of a training run out of metrics.jsonl, thinned to what a chart can show. Thinning keeps, of every stretch, its lowest
 * and highest loss, so that a spike stays a spike.
 */
import path from 'node:path'
import type { MetricHistory, MetricPoint, ValidationPoint } from '../bridge/contract'
import { eventsIn, metricPointOf, validationPointOf } from './run-journal'

/** At most `limit` points. Steps that a resumed run did again count once, as they came out the last time. */
export async function metricHistory(folder: string, limit: number): Promise<MetricHistory> {
  const points: MetricPoint[] = []
  const validations: ValidationPoint[] = []
  for (const name of ['metrics.jsonl', 'journal.jsonl'])
    for await (const event of eventsIn(path.join(folder, name))) {
      if (event.kind === 'metrics') appendByStep(points, metricPointOf(event))
      else if (event.kind === 'validation') appendValidation(validations, validationPointOf(event))
    }
  return { points: thin(points, limit), validations, total: points.length }
}

function appendByStep(points: MetricPoint[], point: MetricPoint): void {
  while (points.length > 0 && points[points.length - 1].step >= point.step) points.pop()
  points.push(point)
}

/** Several measurements may belong to one step, under different names. */
function appendValidation(points: ValidationPoint[], point: ValidationPoint): void {
  for (let i = points.length - 1; i >= 0 && points[i].step >= point.step; i--)
    if (points[i].step > point.step || points[i].name === point.name) points.splice(i, 1)
  points.push(point)
}

/** First and last point, and of every stretch between the two with the lowest and the highest loss. */
export function thin(points: readonly MetricPoint[], limit: number): MetricPoint[] {
  if (points.length <= limit) return [...points]
  const stretches = Math.max(1, Math.floor((limit - 2) / 2))
  const inner = points.length - 2
  const kept: MetricPoint[] = [points[0]]
  for (let s = 0; s < stretches; s++) {
    const from = 1 + Math.floor((s * inner) / stretches)
    const to = 1 + Math.floor(((s + 1) * inner) / stretches)
    let low = from
    let high = from
    for (let i = from; i < to; i++) {
      if (points[i].loss < points[low].loss) low = i
      if (points[i].loss > points[high].loss) high = i
    }
    kept.push(points[Math.min(low, high)])
    if (low !== high) kept.push(points[Math.max(low, high)])
  }
  return [...kept, points[points.length - 1]]
}

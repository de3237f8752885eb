/**
 * A small picture of what an agent thought: norms, cosines to the round before, and a plane. Everything is computed from one
 * question's states alone, so it is the same whatever batch the question was in.
 */
import type { LatentsRecord } from './sample-record'

/** `rounds`: per round the raw states of one agent for one question, [L, H] each. Same order out. */
export function summariseLatents(rounds: readonly Float32Array[], width: number): LatentsRecord[] {
  const plane = principalPlane(rounds, width)
  return rounds.map((states, r) => {
    const count = states.length / width
    const before = r > 0 ? rounds[r - 1] : null
    return {
      norms: places(count).map((t) => rounded(norm(row(states, t, width)))),
      cosines: places(count).map((t) =>
        before && t * width < before.length ? rounded(cosine(row(states, t, width), row(before, t, width))) : null,
      ),
      projection: plane[r].map(([x, y]): [number, number] => [rounded(x), rounded(y)]),
    }
  })
}

/** Numbers for the eye: five significant digits. */
function rounded(x: number): number {
  return Number(x.toPrecision(5))
}

const powerSteps = 40

/** Coordinates of every state on the first two principal axes of all of them. Axes point so that their largest part is positive. */
function principalPlane(rounds: readonly Float32Array[], width: number): [number, number][][] {
  const rows = rounds.flatMap((s) => places(s.length / width).map((t) => row(s, t, width)))
  const mean = new Float64Array(width)
  for (const r of rows) for (let i = 0; i < width; i++) mean[i] += r[i] / rows.length
  const centred = rows.map((r) => Float64Array.from(r, (x, i) => x - mean[i]))
  const first = principalAxis(centred, width)
  const x = centred.map((r) => dot(r, first))
  const rest = centred.map((r, k) => r.map((v, i) => v - x[k] * first[i]))
  const second = principalAxis(rest, width)
  const y = rest.map((r) => dot(r, second))
  let k = 0
  return rounds.map((s) => places(s.length / width).map(() => [x[k], y[k++]]))
}

/** Power iteration on the covariance, without forming it; zeros where the rows have no spread. */
function principalAxis(rows: readonly Float64Array[], width: number): Float64Array {
  let axis = Float64Array.from({ length: width }, (_, i) => 1 + ((i * 7919) % 101) / 101)
  for (let step = 0; step < powerSteps; step++) {
    const next = new Float64Array(width)
    for (const r of rows) {
      const along = dot(r, axis)
      for (let i = 0; i < width; i++) next[i] += along * r[i]
    }
    const length = norm(next)
    if (!(length > 1e-12)) return new Float64Array(width)
    axis = next.map((v) => v / length)
  }
  const largest = axis.reduce((best, v) => (Math.abs(v) > Math.abs(best) ? v : best), 0)
  return largest < 0 ? axis.map((v) => -v) : axis
}

function places(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}

function row(states: Float32Array, t: number, width: number): Float32Array {
  return states.subarray(t * width, (t + 1) * width)
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i]
  return sum
}

function norm(a: ArrayLike<number>): number {
  return Math.sqrt(dot(a, a))
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return dot(a, b) / Math.max(norm(a) * norm(b), 1e-12)
}

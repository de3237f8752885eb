/**
 * Ridge regression with an intercept, in closed form: the linear map that minimises
 *   sum_n |W x_n + b - y_n|^2 + lambda |W|^2,   lambda = ridge * (mean variance of an input, times the rows).
 * The sums of products over the rows come from the caller (float32, chunk by chunk) and are added in float64; the equations are
 * solved in float64 by Cholesky. One factorisation serves any number of targets of the same inputs. On one core 2048 inputs take 1.5 s,
 * and 2048 outputs 5 s more; twice the width takes eight times as long.
 */
import { UserError } from '../errors'

/** `a`^T `b` for a [rows, aWidth] and b [rows, bWidth]: [aWidth, bWidth]. */
export type Products = (a: Float32Array, aWidth: number, b: Float32Array, bWidth: number) => Promise<Float32Array>

export interface RidgeOptions {
  readonly width: number
  /** Relative to the mean variance of the inputs. */
  readonly ridge: number
  readonly products: Products
  /** Awaited between pieces of work; throwing there ends it. */
  readonly between: () => Promise<void>
}

export interface LinearMap {
  /** [out, in] */
  readonly weight: Float32Array
  readonly bias: Float32Array
}

/** Rows that are multiplied at once: float32 sums over more of them would lose digits. */
const chunkRows = 1024

/** Rows or columns of a block of the solver: a block of the factor stays in a core's cache. */
const blockSize = 64

export class Ridge {
  private constructor(
    private readonly x: Float32Array,
    private readonly mean: Float64Array,
    /** Lower factor of the regularised products, and its transpose: [width, width] each. */
    private readonly lower: Float64Array,
    private readonly upper: Float64Array,
    private readonly options: RidgeOptions,
  ) {}

  /** Prepares for inputs [rows, width], which are kept by reference. UserError where the inputs do not determine a map. */
  static async of(x: Float32Array, options: RidgeOptions): Promise<Ridge> {
    const { width, ridge, between } = options
    const mean = meanOf(x, width)
    const lower = new Float64Array(width * width)
    for (const rows of chunks(x.length / width)) {
      await between()
      const part = centred(x, width, mean, rows)
      add(lower, await options.products(part, width, part, width))
    }
    let trace = 0
    for (let i = 0; i < width; i++) trace += lower[i * width + i]
    const lambda = (ridge * trace) / width
    for (let i = 0; i < width; i++) lower[i * width + i] += lambda
    await factorise(lower, width, between)
    return new Ridge(x, mean, lower, transposed(lower, width), options)
  }

  /** The map to targets of `out` numbers each; `rows(from, to)` gives those of a stretch of rows, [to - from, out]. */
  async to(out: number, rows: (from: number, to: number) => Float32Array): Promise<LinearMap> {
    const { width, products, between } = this.options
    const count = this.x.length / width
    const sums = new Float64Array(out * width)
    const mean = new Float64Array(out)
    for (const [from, to] of chunks(count)) {
      await between()
      const y = rows(from, to)
      for (let i = 0; i < y.length; i++) mean[i % out] += y[i] / count
      // the inputs are centred, so that the mean of the targets adds nothing
      add(sums, await products(y, out, centred(this.x, width, this.mean, [from, to]), width))
    }
    await solveRows(sums, out, this.lower, this.upper, width, between)
    const bias = Float32Array.from(mean, (m, o) => {
      let b = m
      for (let i = 0; i < width; i++) b -= sums[o * width + i] * this.mean[i]
      return b
    })
    return { weight: Float32Array.from(sums), bias }
  }
}

function chunks(rows: number): [from: number, to: number][] {
  return Array.from({ length: Math.ceil(rows / chunkRows) }, (_, c) => [
    c * chunkRows,
    Math.min(rows, (c + 1) * chunkRows),
  ])
}

function meanOf(x: Float32Array, width: number): Float64Array {
  const mean = new Float64Array(width)
  const rows = x.length / width
  for (let n = 0; n < rows; n++) for (let i = 0; i < width; i++) mean[i] += x[n * width + i]
  return mean.map((m) => m / Math.max(1, rows))
}

function centred(x: Float32Array, width: number, mean: Float64Array, [from, to]: [number, number]): Float32Array {
  const part = x.slice(from * width, to * width)
  for (let at = 0; at < part.length; at += width) for (let i = 0; i < width; i++) part[at + i] -= mean[i]
  return part
}

function add(into: Float64Array, part: Float32Array): void {
  for (let i = 0; i < into.length; i++) into[i] += part[i]
}

function transposed(a: Float64Array, n: number): Float64Array {
  const t = new Float64Array(n * n)
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) t[j * n + i] = a[i * n + j]
  return t
}

/** Cholesky in place: the lower triangle becomes L with L L^T = a, the rest zero. */
async function factorise(a: Float64Array, n: number, between: () => Promise<void>): Promise<void> {
  for (let from = 0; from < n; from += blockSize) {
    await between()
    const to = Math.min(n, from + blockSize)
    subtractDots(a, from * n + from, n, a, from * n, n, a, from * n, n, n - from, to - from, from)
    for (let j = from; j < to; j++) {
      let pivot = a[j * n + j]
      for (let k = from; k < j; k++) pivot -= a[j * n + k] ** 2
      if (!(pivot > 0)) throw undetermined()
      const root = (a[j * n + j] = Math.sqrt(pivot))
      for (let i = j + 1; i < n; i++) {
        let v = a[i * n + j]
        for (let k = from; k < j; k++) v -= a[i * n + k] * a[j * n + k]
        a[i * n + j] = v / root
      }
    }
  }
  for (let i = 0; i < n; i++) a.fill(0, i * n + i + 1, (i + 1) * n)
}

/** In place, per row c of [rows, n]: c := (L L^T)^-1 c. `upper` is L^T, so that every sum runs along memory. */
async function solveRows(
  c: Float64Array,
  rows: number,
  lower: Float64Array,
  upper: Float64Array,
  n: number,
  between: () => Promise<void>,
): Promise<void> {
  for (let from = 0; from < n; from += blockSize) {
    await between()
    const to = Math.min(n, from + blockSize)
    subtractDots(c, from, n, c, 0, n, lower, from * n, n, rows, to - from, from)
    for (let r = 0; r < rows * n; r += n)
      for (let i = from; i < to; i++) {
        let v = c[r + i]
        for (let k = from; k < i; k++) v -= lower[i * n + k] * c[r + k]
        c[r + i] = v / lower[i * n + i]
      }
  }
  for (let to = n; to > 0; to -= Math.min(to, blockSize)) {
    await between()
    const from = Math.max(0, to - blockSize)
    subtractDots(c, from, n, c, to, n, upper, from * n + to, n, rows, to - from, n - to)
    for (let r = 0; r < rows * n; r += n)
      for (let i = to - 1; i >= from; i--) {
        let v = c[r + i]
        for (let k = i + 1; k < to; k++) v -= upper[i * n + k] * c[r + k]
        c[r + i] = v / upper[i * n + i]
      }
  }
}

/**
 * t[r][c] -= sum_k a[r][k] b[c][k] for `rows` x `columns` and `length` terms; each matrix has its offset and row stride. Four by
 * four sums at a time, so that a number that is read takes part in four.
 */
function subtractDots(
  t: Float64Array,
  tAt: number,
  tStride: number,
  a: Float64Array,
  aAt: number,
  aStride: number,
  b: Float64Array,
  bAt: number,
  bStride: number,
  rows: number,
  columns: number,
  length: number,
): void {
  if (length === 0) return
  let r = 0
  for (; r + 4 <= rows; r += 4) {
    let c = 0
    for (; c + 4 <= columns; c += 4)
      subtractTile(
        t,
        tAt + r * tStride + c,
        tStride,
        a,
        aAt + r * aStride,
        aStride,
        b,
        bAt + c * bStride,
        bStride,
        length,
      )
    for (; c < columns; c++) for (let i = 0; i < 4; i++) subtractDot(r + i, c)
  }
  for (; r < rows; r++) for (let c = 0; c < columns; c++) subtractDot(r, c)

  function subtractDot(row: number, column: number): void {
    let s = 0
    for (let k = 0; k < length; k++) s += a[aAt + row * aStride + k] * b[bAt + column * bStride + k]
    t[tAt + row * tStride + column] -= s
  }
}

/** The sixteen sums of a tile of four rows by four columns. */
function subtractTile(
  t: Float64Array,
  at: number,
  tStride: number,
  a: Float64Array,
  a0: number,
  aStride: number,
  b: Float64Array,
  b0: number,
  bStride: number,
  length: number,
): void {
  const a1 = a0 + aStride
  const a2 = a1 + aStride
  const a3 = a2 + aStride
  const b1 = b0 + bStride
  const b2 = b1 + bStride
  const b3 = b2 + bStride
  let s00 = 0
  let s01 = 0
  let s02 = 0
  let s03 = 0
  let s10 = 0
  let s11 = 0
  let s12 = 0
  let s13 = 0
  let s20 = 0
  let s21 = 0
  let s22 = 0
  let s23 = 0
  let s30 = 0
  let s31 = 0
  let s32 = 0
  let s33 = 0
  for (let k = 0; k < length; k++) {
    const u0 = a[a0 + k]
    const u1 = a[a1 + k]
    const u2 = a[a2 + k]
    const u3 = a[a3 + k]
    const v0 = b[b0 + k]
    const v1 = b[b1 + k]
    const v2 = b[b2 + k]
    const v3 = b[b3 + k]
    s00 += u0 * v0
    s01 += u0 * v1
    s02 += u0 * v2
    s03 += u0 * v3
    s10 += u1 * v0
    s11 += u1 * v1
    s12 += u1 * v2
    s13 += u1 * v3
    s20 += u2 * v0
    s21 += u2 * v1
    s22 += u2 * v2
    s23 += u2 * v3
    s30 += u3 * v0
    s31 += u3 * v1
    s32 += u3 * v2
    s33 += u3 * v3
  }
  const sums = [
    [s00, s01, s02, s03],
    [s10, s11, s12, s13],
    [s20, s21, s22, s23],
    [s30, s31, s32, s33],
  ]
  sums.forEach((row, i) => row.forEach((s, j) => (t[at + i * tStride + j] -= s)))
}

function undetermined(): UserError {
  return new UserError({
    what: 'The least-squares start has no solution.',
    why: 'The latents of the rows do not tell all directions of the input apart, and no ridge holds the rest.',
    next: 'Give the aligned start more rows, or a ridge above 0.',
  })
}

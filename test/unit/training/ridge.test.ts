/** Ridge regression against another way of solving it, its own objective's slopes, and the equations that it must fulfil. */
import { describe, expect, it } from 'vitest'
import { Ridge, type RidgeOptions } from '../../../src-main/engine/training/ridge'
import { lcg } from './toy-agent'

/** The products in double precision, rounded once. */
const products: RidgeOptions['products'] = async (a, aWidth, b, bWidth) => {
  const out = new Float32Array(aWidth * bWidth)
  for (let i = 0; i < aWidth; i++)
    for (let j = 0; j < bWidth; j++) {
      let sum = 0
      for (let n = 0; n < a.length / aWidth; n++) sum += a[n * aWidth + i] * b[n * bWidth + j]
      out[i * bWidth + j] = sum
    }
  return out
}
const between = async () => undefined

function draw(random: () => number, rows: number, width: number, shift = 0): Float32Array {
  return Float32Array.from({ length: rows * width }, () => random() * 2 - 1 + shift)
}

const solve = async (x: Float32Array, width: number, y: Float32Array, out: number, ridge: number) =>
  (await Ridge.of(x, { width, ridge, products, between })).to(out, (from, to) => y.subarray(from * out, to * out))

/** The penalty that `ridge` stands for. */
function lambdaOf(x: Float32Array, width: number, ridge: number): number {
  const rows = x.length / width
  let sum = 0
  for (let i = 0; i < width; i++) {
    let [first, second] = [0, 0]
    for (let n = 0; n < rows; n++) {
      first += x[n * width + i]
      second += x[n * width + i] ** 2
    }
    sum += second - first ** 2 / rows
  }
  return (ridge * sum) / width
}

/** Gauss with pivots on the system of all unknowns at once, the intercept one of them: [W b] by output. */
function bordered(x: Float32Array, width: number, y: Float32Array, out: number, lambda: number): number[][] {
  const rows = x.length / width
  const input = (n: number, i: number) => (i < width ? x[n * width + i] : 1)
  return Array.from({ length: out }, (_, o) => {
    const m = Array.from({ length: width + 1 }, (_, i) => {
      const row = Array.from({ length: width + 2 }, (_, j) => {
        let sum = 0
        for (let n = 0; n < rows; n++) sum += input(n, i) * (j <= width ? input(n, j) : y[n * out + o])
        return sum
      })
      if (i < width) row[i] += lambda
      return row
    })
    for (let c = 0; c <= width; c++) {
      const pivot = m.slice(c).reduce((best, row, k) => (Math.abs(row[c]) > Math.abs(m[best][c]) ? c + k : best), c)
      ;[m[c], m[pivot]] = [m[pivot], m[c]]
      for (let r = 0; r <= width; r++) {
        if (r === c) continue
        const f = m[r][c] / m[c][c]
        for (let k = c; k < width + 2; k++) m[r][k] -= f * m[c][k]
      }
    }
    return m.map((row, c) => row[width + 1] / row[c])
  })
}

describe('Ridge', () => {
  const [rows, width, out, ridge] = [40, 6, 3, 0.2]
  const random = lcg(3)
  const x = draw(random, rows, width, 0.7)
  const y = draw(random, rows, out, -2)
  const lambda = lambdaOf(x, width, ridge)

  it('gives what Gauss gives for the system with the intercept as one unknown more', async () => {
    const { weight, bias } = await solve(x, width, y, out, ridge)
    bordered(x, width, y, out, lambda).forEach((solution, o) => {
      for (let i = 0; i < width; i++) expect(Math.abs(weight[o * width + i] - solution[i])).toBeLessThan(2e-6)
      expect(Math.abs(bias[o] - solution[width])).toBeLessThan(2e-6)
    })
  })

  it('is where the objective has no slope, and rises to every side', async () => {
    const { weight, bias } = await solve(x, width, y, out, ridge)
    const at = [...weight, ...bias]
    const objective = (p: readonly number[]) => {
      let sum = 0
      for (let n = 0; n < rows; n++)
        for (let o = 0; o < out; o++) {
          let v = p[out * width + o] - y[n * out + o]
          for (let i = 0; i < width; i++) v += p[o * width + i] * x[n * width + i]
          sum += v * v
        }
      for (let i = 0; i < out * width; i++) sum += lambda * p[i] * p[i]
      return sum
    }
    const least = objective(at)
    const step = 1e-3
    for (let i = 0; i < at.length; i++) {
      const [up, down] = [step, -step].map((d) => objective(at.map((v, k) => (k === i ? v + d : v))))
      const slope = (up - down) / (2 * step)
      // curvature 2 (sum of squares + lambda) is above 10 here: this is a distance below 1e-5 from the exact place
      expect(Math.abs(slope)).toBeLessThan(1e-4)
      expect(up).toBeGreaterThan(least)
      expect(down).toBeGreaterThan(least)
    }
  })

  it('fulfils the normal equations where there are several blocks and odd ends', async () => {
    const [rows, width, out] = [1500, 151, 7]
    const random = lcg(5)
    const x = draw(random, rows, width, 1)
    const y = draw(random, rows, out)
    const { weight, bias } = await solve(x, width, y, out, 1e-3)
    const lambda = lambdaOf(x, width, 1e-3)
    const residual = new Float64Array(rows * out)
    for (let n = 0; n < rows; n++)
      for (let o = 0; o < out; o++) {
        let v = bias[o] - y[n * out + o]
        for (let i = 0; i < width; i++) v += weight[o * width + i] * x[n * width + i]
        residual[n * out + o] = v
      }
    for (let o = 0; o < out; o++) {
      let whole = 0
      for (let n = 0; n < rows; n++) whole += residual[n * out + o]
      expect(Math.abs(whole / rows)).toBeLessThan(1e-6)
      for (let i = 0; i < width; i++) {
        let slope = lambda * weight[o * width + i]
        for (let n = 0; n < rows; n++) slope += residual[n * out + o] * x[n * width + i]
        expect(Math.abs(slope / rows)).toBeLessThan(1e-6)
      }
    }
  })

  it('serves several targets of the same inputs, and holds inputs that say the same thing twice', async () => {
    const twice = Float32Array.from({ length: rows * 2 }, (_, k) => x[(k >> 1) * width])
    const made = await Ridge.of(twice, { width: 2, ridge: 1e-6, products, between })
    const target = Float32Array.from({ length: rows }, (_, n) => 3 * x[n * width] + 1)
    const first = await made.to(1, (from, to) => target.subarray(from, to))
    expect(first.weight[0]).toBeCloseTo(1.5, 3)
    expect(first.weight[1]).toBeCloseTo(1.5, 3)
    expect(first.bias[0]).toBeCloseTo(1, 4)
    const second = await made.to(1, (from, to) => target.map((v) => -2 * v).subarray(from, to))
    expect(second.weight[0]).toBeCloseTo(-3, 3)
  })

  it('says so where nothing determines the map', async () => {
    const flat = new Float32Array(rows * 2).fill(1)
    await expect(Ridge.of(flat, { width: 2, ridge: 0, products, between })).rejects.toMatchObject({
      what: expect.stringContaining('no solution') as string,
      next: expect.stringContaining('ridge') as string,
    })
  })

  it('can be stopped', async () => {
    const stop = async () => {
      throw new Error('stopped')
    }
    await expect(Ridge.of(x, { width, ridge, products, between: stop })).rejects.toThrow('stopped')
  })
})

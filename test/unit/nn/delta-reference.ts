/** The gated delta rule and its gradient place by place in double precision, written from the definition alone. */

/** One row. q, k [T, keyHeads*dk]; v [T, heads*dv]; decay, beta [T, heads]; state [heads, dk, dv]. */
export interface ReferenceRow {
  readonly q: ArrayLike<number>
  readonly k: ArrayLike<number>
  readonly v: ArrayLike<number>
  readonly decay: ArrayLike<number>
  readonly beta: ArrayLike<number>
  readonly state: ArrayLike<number>
}

export interface ReferenceHeads {
  readonly keyHeads: number
  readonly valueHeads: number
  readonly keyDim: number
  readonly valueDim: number
}

type Gradients = Record<'q' | 'k' | 'v' | 'decay' | 'beta', Float64Array>

/** Output [T, heads*dv], state after the row, and the gradient of sum(output * cotangent). */
export function deltaReference(
  row: ReferenceRow,
  time: number,
  h: ReferenceHeads,
  cotangent?: ArrayLike<number>,
): { output: Float64Array; state: Float64Array; gradients: Gradients } {
  const { keyDim: dk, valueDim: dv } = h
  const scale = 1 / Math.sqrt(dk)
  const output = new Float64Array(time * h.valueHeads * dv)
  const state = Float64Array.from(row.state)
  const zero = (x: ArrayLike<number>) => new Float64Array(x.length)
  const gradients: Gradients = {
    q: zero(row.q),
    k: zero(row.k),
    v: zero(row.v),
    decay: zero(row.decay),
    beta: zero(row.beta),
  }
  for (let head = 0; head < h.valueHeads; head++) {
    const keyHead = Math.floor((head * h.keyHeads) / h.valueHeads)
    const k = (t: number, i: number) => (t * h.keyHeads + keyHead) * dk + i
    const v = (t: number, j: number) => (t * h.valueHeads + head) * dv + j
    const g = (t: number) => t * h.valueHeads + head
    let s = state.slice(head * dk * dv, (head + 1) * dk * dv)
    const before: Float64Array<ArrayBuffer>[] = []
    const found: Float64Array[] = []
    for (let t = 0; t < time; t++) {
      before.push(s)
      const factor = Math.exp(row.decay[g(t)])
      s = s.map((x) => x * factor)
      const read = Float64Array.from({ length: dv }, (_, j) => sum(dk, (i) => s[i * dv + j] * row.k[k(t, i)]))
      found.push(read)
      for (let i = 0; i < dk; i++) {
        for (let j = 0; j < dv; j++) s[i * dv + j] += row.k[k(t, i)] * row.beta[g(t)] * (row.v[v(t, j)] - read[j])
      }
      for (let j = 0; j < dv; j++) output[v(t, j)] = scale * sum(dk, (i) => s[i * dv + j] * row.q[k(t, i)])
    }
    state.set(s, head * dk * dv)
    if (!cotangent) continue
    // backwards: ds is the gradient of the state after place t
    let after = s
    let ds = new Float64Array(dk * dv)
    for (let t = time - 1; t >= 0; t--) {
      const factor = Math.exp(row.decay[g(t)])
      const step = row.beta[g(t)]
      const decayed = before[t].map((x) => x * factor)
      const write = Float64Array.from({ length: dv }, (_, j) => row.v[v(t, j)] - found[t][j])
      for (let i = 0; i < dk; i++) {
        for (let j = 0; j < dv; j++) {
          gradients.q[k(t, i)] += scale * after[i * dv + j] * cotangent[v(t, j)]
          ds[i * dv + j] += scale * row.q[k(t, i)] * cotangent[v(t, j)]
        }
      }
      const dWrite = Float64Array.from({ length: dv }, (_, j) => sum(dk, (i) => ds[i * dv + j] * row.k[k(t, i)]))
      gradients.beta[g(t)] = sum(dv, (j) => dWrite[j] * write[j])
      for (let j = 0; j < dv; j++) gradients.v[v(t, j)] = step * dWrite[j]
      const previous = new Float64Array(dk * dv)
      let dFactor = 0
      for (let i = 0; i < dk; i++) {
        for (let j = 0; j < dv; j++) {
          const at = i * dv + j
          gradients.k[k(t, i)] += ds[at] * step * write[j] - decayed[at] * step * dWrite[j]
          const dDecayed = ds[at] - row.k[k(t, i)] * step * dWrite[j]
          dFactor += dDecayed * before[t][at]
          previous[at] = dDecayed * factor
        }
      }
      gradients.decay[g(t)] = dFactor * factor
      ds = previous
      after = before[t]
    }
  }
  return { output, state, gradients }
}

function sum(n: number, f: (i: number) => number): number {
  let total = 0
  for (let i = 0; i < n; i++) total += f(i)
  return total
}

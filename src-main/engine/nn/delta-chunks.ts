/**
 * The gated delta rule over whole chunks of places, and its gradient, as matrix products. Within a chunk (C places, rows of
 * matrices are places; S the state before it) with G_i the sum of log decays up to i, D_ij = exp(G_i - G_j) for j <= i,
 * strict() what lies below the diagonal, b the step sizes, E = diag(exp G), F = diag(exp(G_C - G)), s the scale of queries:
 *
 *   u_i = b_i (v_i - exp(G_i) S^T k_i - sum_(j<i) D_ij (k_i . k_j) u_j)      what place i writes to the state
 *   (I + A) U = b (V - E K S),  A = strict(b D o K K^T)                       all places at once
 *   O = s E Q S + P U,  P = s D o Q K^T                                       read after writing
 *   S' = exp(G_C) S + (F K)^T U                                               state after the chunk
 *
 * Layout: chunks in front, [n, B, heads, C, ..]; places that fill the last chunk have no effect (step size and log decay 0).
 */
import { dimProduct, type Dim, type Graph, type Value } from '../onnx/graph'
import * as op from '../onnx/ops'

/** Places of a chunk: small enough for the inverse to cost little, large enough for products. A power of two. */
export const CHUNK = 32

/** Values of rows, by place: queries and keys [B, T, keyHeads*dk], values [B, T, heads*dv], log decay and step size [B, T, heads]. */
export interface DeltaRows {
  readonly q: Value
  readonly k: Value
  readonly v: Value
  readonly decay: Value
  readonly beta: Value
}

export interface DeltaHeads {
  readonly keyHeads: number
  readonly valueHeads: number
  readonly keyDim: number
  readonly valueDim: number
}

/** Rows in chunks, with what does not depend on the state. */
interface Chunks {
  readonly plan: Plan
  /** [n, B, heads, C, dk], each key head as often as it is used. */
  readonly q: Value
  readonly k: Value
  readonly v: Value
  /** [n, B, heads, C, 1] */
  readonly beta: Value
  /** exp G [.., C, 1], exp(G_C - G) [.., C, 1], exp G_C [.., 1, 1]. */
  readonly grown: Value
  readonly left: Value
  readonly whole: Value
  /** D, P and (I + A)^-1, [.., C, C]. */
  readonly decays: Value
  readonly reads: Value
  readonly inverse: Value
  /** b E K and b V. */
  readonly decayedKeys: Value
  readonly scaledValues: Value
}

interface Plan {
  readonly batch: Dim
  readonly time: Dim
  readonly chunks: Dim
  /** Places after the last one, which fill its chunk. */
  readonly rest: Dim
}

/** Output [B, T, heads*dv] and the state after the rows; state [B, heads, dk, dv]. */
export function chunkedDelta(
  g: Graph,
  rows: DeltaRows,
  state: Value,
  h: DeltaHeads,
  scale: number,
): { output: Value; state: Value } {
  const c = chunked(g, rows, h, scale)
  const run = runChunks(g, c, state)
  const before = op.fusedMatmul(g, op.mul(g, c.q, c.grown), run.before, { alpha: scale })
  return { output: toRows(g, c.plan, op.add(g, before, op.matmul(g, c.reads, run.writes))), state: run.after }
}

/** U and the state before it, of every chunk; with what the run needs of all: (I + A)^-1 b E K and F K. */
function runChunks(
  g: Graph,
  c: Chunks,
  state: Value,
): { writes: Value; before: Value; after: Value; fromState: Value; keys: Value } {
  const fromState = op.matmul(g, c.inverse, c.decayedKeys)
  const fresh = op.matmul(g, c.inverse, c.scaledValues)
  const keys = op.mul(g, c.k, c.left)
  const { states, stacked } = op.scan(g, [state], [fresh, fromState, keys, c.whole], (b, [s], [own, w, k, whole]) => {
    const u = op.sub(b, own, op.matmul(b, w, s))
    return { states: [op.add(b, op.mul(b, s, whole), op.fusedMatmul(b, k, u, { transA: true }))], stacked: [u, s] }
  })
  return { writes: stacked[0], before: stacked[1], after: states[0], fromState, keys }
}

/**
 * Gradients of the rows from the one of the output [B, T, heads*dv]; everything within is computed again from the rows.
 * With dS' of the state after a chunk, from the last chunk to the first:
 *
 *   dU = P^T dO + F K dS',  dS = exp(G_C) dS' + s (E Q)^T dO - ((I + A)^-1 b E K)^T dU
 *
 * then, with Y = (I + A)^-T dU: dV = b Y, dA = -Y U^T, and so on through each product. A log decay acts through sums G_i
 * alone, and these enter in pairs with q_i and k_i: dG_i = q_i . dq_i + k_i . (dk_i where the place decays what came before
 * it, minus dk_i where it is itself decayed by later ones); G_C also through the state.
 */
export function chunkedDeltaGradients(
  g: Graph,
  rows: DeltaRows,
  state: Value,
  dOutput: Value,
  h: DeltaHeads,
  scale: number,
): DeltaRows {
  const c = chunked(g, rows, h, scale)
  const { writes, before, fromState, keys } = runChunks(g, c, state)
  const { q, k, beta, grown, left, whole, decays } = c
  const dO = toChunks(g, c.plan, dOutput, h.valueHeads, h.valueDim)
  // from the last chunk to the first: gradients of U, and of the state after each chunk
  const none = op.zeros(g, 'float32', state.shape)
  const toState = op.fusedMatmul(g, op.mul(g, q, grown), dO, { transA: true, alpha: scale })
  const own = op.fusedMatmul(g, c.reads, dO, { transA: true })
  const { stacked } = op.scan(
    g,
    [none],
    [own, keys, toState, fromState, whole],
    (b, [d], [p, k, r, w, whole]) => {
      const du = op.add(b, p, op.matmul(b, k, d))
      const kept = op.add(b, op.mul(b, d, whole), r)
      return { states: [op.sub(b, kept, op.fusedMatmul(b, w, du, { transA: true }))], stacked: [du, d] }
    },
    true,
  )
  const [dU, dAfter] = stacked
  const along = (a: Value, b: Value, axes: readonly number[]) => op.reduceSum(g, op.mul(g, a, b), axes)

  // of the right-hand side b (V - E K S), and through A
  const dRight = op.fusedMatmul(g, c.inverse, dU, { transA: true })
  const dSystem = op.mul(g, op.mul(g, op.fusedMatmul(g, dRight, writes, { transB: true, alpha: -1 }), decays), below(g))
  const between = op.matmul(g, dSystem, k)
  const unread = op.mul(g, op.fusedMatmul(g, dRight, before, { transB: true }), grown)
  const direct = op.sub(g, between, unread)
  // of reads: scores within the chunk, and the state before it
  const dScores = op.mul(g, op.fusedMatmul(g, dO, writes, { transB: true, alpha: scale }), decays)
  const fromBefore = op.mul(g, op.fusedMatmul(g, dO, before, { transB: true, alpha: scale }), grown)
  const dq = op.add(g, fromBefore, op.matmul(g, dScores, k))
  // of keys at places that decay from (their own) and at places that decay since
  const dkOwn = op.mul(g, beta, direct)
  const dkWritten = op.mul(g, op.fusedMatmul(g, writes, dAfter, { transB: true }), left)
  const dkSeen = op.add(
    g,
    op.fusedMatmul(g, dScores, q, { transA: true }),
    op.fusedMatmul(g, dSystem, op.mul(g, k, beta), { transA: true }),
  )
  const dkSince = op.add(g, dkSeen, dkWritten)

  const dG = op.add(g, along(q, dq, [-1]), along(k, op.sub(g, dkOwn, dkSince), [-1]))
  const dWhole = op.add(g, along(k, dkWritten, [-2, -1]), op.mul(g, along(dAfter, before, [-2, -1]), whole))
  const flat = op.reshape(g, dG, dG.shape.slice(0, -1))
  const dDecay = op.add(g, op.cumSum(g, flat, 'end'), op.squeeze(g, dWhole, [dWhole.shape.length - 1]))
  const dBeta = op.add(g, along(dRight, c.v, [-1]), along(k, direct, [-1]))
  const byKeyHead = (x: Value) => {
    const group = h.valueHeads / h.keyHeads
    if (group === 1) return x
    const [n, batch, , places, width] = x.shape
    return op.reduceSum(g, op.reshape(g, x, [n, batch, h.keyHeads, group, places, width]), [3], false)
  }
  return {
    q: toRows(g, c.plan, byKeyHead(dq)),
    k: toRows(g, c.plan, byKeyHead(op.add(g, dkOwn, dkSince))),
    v: toRows(g, c.plan, op.mul(g, dRight, beta)),
    decay: toRows(g, c.plan, op.unsqueeze(g, dDecay, [4])),
    beta: toRows(g, c.plan, dBeta),
  }
}

function chunked(g: Graph, rows: DeltaRows, h: DeltaHeads, scale: number): Chunks {
  const plan = planChunks(g, rows.v.shape[0], rows.v.shape[1])
  const perHead = (x: Value, heads: number, width: number) => toChunks(g, plan, x, heads, width)
  const q = eachHead(g, perHead(rows.q, h.keyHeads, h.keyDim), h)
  const k = eachHead(g, perHead(rows.k, h.keyHeads, h.keyDim), h)
  const v = perHead(rows.v, h.valueHeads, h.valueDim)
  const beta = perHead(rows.beta, h.valueHeads, 1)
  const decay = perHead(rows.decay, h.valueHeads, 1)
  const flat = op.reshape(g, decay, decay.shape.slice(0, -1))
  const sums = op.cumSum(g, flat)
  const column = op.reshape(g, sums, decay.shape)
  const last = op.slice(g, column, 3, CHUNK - 1, 1)
  const grown = op.exp(g, column)
  const differences = op.sub(g, column, op.unsqueeze(g, sums, [3]))
  const decays = op.exp(g, op.add(g, differences, causal(g)))
  const similar = op.mul(g, op.fusedMatmul(g, k, k, { transB: true }), decays)
  return {
    plan,
    q,
    k,
    v,
    beta,
    grown,
    left: op.exp(g, op.sub(g, last, column)),
    whole: op.exp(g, last),
    decays,
    reads: op.mul(g, op.fusedMatmul(g, q, k, { transB: true, alpha: scale }), decays),
    inverse: invert(g, op.mul(g, similar, beta)),
    decayedKeys: op.mul(g, op.mul(g, k, grown), beta),
    scaledValues: op.mul(g, v, beta),
  }
}

/**
 * (I + strict(A))^-1 for a stack of [C, C], block by block: with L the part of A between the halves of blocks of twice the
 * size, the inverse X of the smaller blocks becomes X - X L X. Unlike a series of powers it never grows large terms.
 */
function invert(g: Graph, a: Value): Value {
  const at = (f: (i: number, j: number) => boolean) => square(g, (i, j) => (f(i, j) ? 1 : 0))
  const between = (half: number) => {
    const lower = (i: number, j: number) =>
      Math.floor(i / (2 * half)) === Math.floor(j / (2 * half)) && i % (2 * half) >= half && j % (2 * half) < half
    return op.mul(g, a, at(lower))
  }
  let inverse = op.sub(
    g,
    at((i, j) => i === j),
    between(1),
  )
  for (let half = 2; half < CHUNK; half *= 2) {
    inverse = op.sub(g, inverse, op.matmul(g, inverse, op.matmul(g, between(half), inverse)))
  }
  return inverse
}

const square = (g: Graph, f: (i: number, j: number) => number) =>
  g.floats(
    Array.from({ length: CHUNK * CHUNK }, (_, at) => f(Math.floor(at / CHUNK), at % CHUNK)),
    [CHUNK, CHUNK],
  )

/** Added before exp: nothing up to the diagonal, so much above it that exp gives 0. */
const causal = (g: Graph) => square(g, (i, j) => (j <= i ? 0 : -1e9))

const below = (g: Graph) => square(g, (i, j) => (j < i ? 1 : 0))

function planChunks(g: Graph, batch: Dim, time: Dim): Plan {
  const chunks = g.freshName('chunks')
  const rest = g.freshName('rest')
  const arithmetic = (op: string, a: Value, b: Value) => g.node(op, [a, b], [{ dtype: 'int64', shape: [1] }])[0]
  const size = g.ints([CHUNK])
  const count = arithmetic('Div', arithmetic('Add', g.dim(time), g.ints([CHUNK - 1])), size)
  g.bindDim(chunks, count)
  g.bindDim(rest, arithmetic('Sub', arithmetic('Mul', count, size), g.dim(time)))
  return { batch, time, chunks, rest }
}

/** [B, T, heads*d] -> [n, B, heads, C, d], zeros behind the last place. */
function toChunks(g: Graph, p: Plan, x: Value, heads: number, width: number): Value {
  const filled = op.concat(g, [x, op.zeros(g, 'float32', [p.batch, p.rest, heads * width])], 1)
  const whole = { ...filled, shape: [p.batch, dimProduct(p.chunks, CHUNK), heads * width] }
  return op.transpose(g, op.reshape(g, whole, [p.batch, p.chunks, CHUNK, heads, width]), [1, 0, 3, 2, 4])
}

/** [n, B, heads, C, d] -> [B, T, heads*d]. */
function toRows(g: Graph, p: Plan, x: Value): Value {
  const [, , heads, , width] = x.shape
  const joined = op.reshape(g, op.transpose(g, x, [1, 0, 3, 2, 4]), [
    p.batch,
    dimProduct(p.chunks, CHUNK),
    dimProduct(heads, width),
  ])
  return op.slice(g, joined, 1, 0, p.time)
}

/** Key heads repeated for the value heads that share them. */
function eachHead(g: Graph, x: Value, h: DeltaHeads): Value {
  const group = h.valueHeads / h.keyHeads
  if (group === 1) return x
  const [n, batch, heads, places, width] = x.shape
  const spread = op.expand(g, op.unsqueeze(g, x, [3]), [n, batch, heads, group, places, width])
  return op.reshape(g, spread, [n, batch, h.valueHeads, places, width])
}

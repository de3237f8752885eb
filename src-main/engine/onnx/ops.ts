/**
 * Builder functions, one per operator the engine uses: each checks dtypes and shapes, and fails naming the operator.
 * Opset 18 of the ONNX domain, and com.microsoft where it has a fused form.
 */
import {
  dimProduct,
  dimSum,
  float,
  Graph,
  graphAttribute,
  GraphError,
  int,
  ints,
  type Dim,
  type DType,
  type Shape,
  type Value,
} from './graph'

export const MICROSOFT = 'com.microsoft'

const isFloat = (t: DType) => t === 'float32' || t === 'float16' || t === 'bfloat16'

function need(condition: boolean, op: string, message: string, inputs: readonly (Value | null)[]): asserts condition {
  if (!condition) throw new GraphError(op, message, inputs)
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((d, i) => d === b[i])
}

function sameType(op: string, a: Value, b: Value): void {
  need(a.dtype === b.dtype, op, 'the operands have different dtypes', [a, b])
}

/** Shape of an element-wise result (numpy broadcasting; a symbol only meets itself or 1). */
export function broadcastShape(op: string, a: Value, b: Value): Dim[] {
  const n = Math.max(a.shape.length, b.shape.length)
  return Array.from({ length: n }, (_, i) => {
    const x = a.shape[a.shape.length - n + i] ?? 1
    const y = b.shape[b.shape.length - n + i] ?? 1
    need(x === y || x === 1 || y === 1, op, `dimension ${i} does not broadcast (${x} against ${y})`, [a, b])
    return x === 1 ? y : x
  })
}

function binary(op: string) {
  return (g: Graph, a: Value, b: Value): Value => {
    sameType(op, a, b)
    return g.node(op, [a, b], [{ dtype: a.dtype, shape: broadcastShape(op, a, b) }])[0]
  }
}

function comparison(op: string) {
  return (g: Graph, a: Value, b: Value): Value => {
    sameType(op, a, b)
    return g.node(op, [a, b], [{ dtype: 'bool', shape: broadcastShape(op, a, b) }])[0]
  }
}

function unary(op: string, domain = '') {
  return (g: Graph, x: Value): Value => {
    need(isFloat(x.dtype), op, 'needs a floating-point tensor', [x])
    return g.node(op, [x], [{ dtype: x.dtype, shape: x.shape }], {}, domain)[0]
  }
}

export const add = binary('Add')
export const sub = binary('Sub')
export const mul = binary('Mul')
export const div = binary('Div')
export const neg = unary('Neg')
export const exp = unary('Exp')
export const log = unary('Log')
export const sqrt = unary('Sqrt')
export const erf = unary('Erf')
export const sigmoid = unary('Sigmoid')
export const softplus = unary('Softplus')
export const tanh = unary('Tanh')
export const cos = unary('Cos')
export const sin = unary('Sin')
export const less = comparison('Less')
export const lessOrEqual = comparison('LessOrEqual')
export const greater = comparison('Greater')
export const greaterOrEqual = comparison('GreaterOrEqual')
export const equal = comparison('Equal')

export function and(g: Graph, a: Value, b: Value): Value {
  need(a.dtype === 'bool' && b.dtype === 'bool', 'And', 'needs booleans', [a, b])
  return g.node('And', [a, b], [{ dtype: 'bool', shape: broadcastShape('And', a, b) }])[0]
}

export function or(g: Graph, a: Value, b: Value): Value {
  need(a.dtype === 'bool' && b.dtype === 'bool', 'Or', 'needs booleans', [a, b])
  return g.node('Or', [a, b], [{ dtype: 'bool', shape: broadcastShape('Or', a, b) }])[0]
}

export function not(g: Graph, a: Value): Value {
  need(a.dtype === 'bool', 'Not', 'needs booleans', [a])
  return g.node('Not', [a], [{ dtype: 'bool', shape: a.shape }])[0]
}

/** x times a plain number. */
export function scale(g: Graph, x: Value, factor: number): Value {
  return mul(g, x, cast(g, g.floats([factor], []), x.dtype))
}

/** x plus a plain number. */
export function addScalar(g: Graph, x: Value, term: number): Value {
  return add(g, x, cast(g, g.floats([term], []), x.dtype))
}

/** Integers plus a plain integer. */
export function addScalarInt(g: Graph, x: Value, term: number): Value {
  return add(g, x, g.ints([term], []))
}

/** x * sigmoid(x), one pass over the data. */
export function silu(g: Graph, x: Value): Value {
  need(isFloat(x.dtype), 'QuickGelu', 'needs a floating-point tensor', [x])
  return g.node('QuickGelu', [x], [{ dtype: x.dtype, shape: x.shape }], { alpha: float(1) }, MICROSOFT)[0]
}

const castCodes: Record<DType, number> = { float32: 1, int32: 6, int64: 7, bool: 9, float16: 10, bfloat16: 16 }

export function cast(g: Graph, x: Value, to: DType): Value {
  if (x.dtype === to) return x
  return g.node('Cast', [x], [{ dtype: to, shape: x.shape }], { to: int(castCodes[to]) })[0]
}

/** [.., m, k] x [.., k, n], numpy rules for the batch dimensions. */
export function matmul(g: Graph, a: Value, b: Value): Value {
  return fusedMatmul(g, a, b, {})
}

/** As matmul with optional transposition of the last two axes and a factor; one kernel, nothing is moved. */
export function fusedMatmul(
  g: Graph,
  a: Value,
  b: Value,
  options: { transA?: boolean; transB?: boolean; alpha?: number },
): Value {
  const { transA = false, transB = false, alpha = 1 } = options
  const op = 'MatMul'
  sameType(op, a, b)
  need(isFloat(a.dtype) && a.shape.length >= 2 && b.shape.length >= 2, op, 'needs floating-point matrices', [a, b])
  const [m, k] = transA ? [a.shape.at(-1)!, a.shape.at(-2)!] : [a.shape.at(-2)!, a.shape.at(-1)!]
  const [k2, n] = transB ? [b.shape.at(-1)!, b.shape.at(-2)!] : [b.shape.at(-2)!, b.shape.at(-1)!]
  need(k === k2, op, `inner dimensions differ (${k} against ${k2})`, [a, b])
  const batch = broadcastShape(op, { ...a, shape: a.shape.slice(0, -2) }, { ...b, shape: b.shape.slice(0, -2) })
  const shape = [...batch, m, n]
  if (!transA && !transB && alpha === 1) return g.node('MatMul', [a, b], [{ dtype: a.dtype, shape }])[0]
  return g.node(
    'FusedMatMul',
    [a, b],
    [{ dtype: a.dtype, shape }],
    { transA: int(transA ? 1 : 0), transB: int(transB ? 1 : 0), alpha: float(alpha) },
    MICROSOFT,
  )[0]
}

/** Two-dimensional product with optional transposition and bias: alpha * op(a) op(b) + c. */
export function gemm(
  g: Graph,
  a: Value,
  b: Value,
  c: Value | null,
  options: { transA?: boolean; transB?: boolean } = {},
): Value {
  const { transA = false, transB = false } = options
  const all = c ? [a, b, c] : [a, b]
  sameType('Gemm', a, b)
  need(a.shape.length === 2 && b.shape.length === 2, 'Gemm', 'needs matrices', all)
  const [m, k] = transA ? [a.shape[1], a.shape[0]] : a.shape
  const [k2, n] = transB ? [b.shape[1], b.shape[0]] : b.shape
  need(k === k2, 'Gemm', `inner dimensions differ (${k} against ${k2})`, all)
  if (c) need(c.dtype === a.dtype && c.shape.length === 1 && c.shape[0] === n, 'Gemm', 'the bias does not fit', all)
  return g.node('Gemm', all, [{ dtype: a.dtype, shape: [m, n] }], { transA: int(transA ? 1 : 0), transB: int(transB ? 1 : 0) })[0]
}

/** Known element counts must agree; symbols are compared as a multiset of factors. */
function sameCount(a: Shape, b: Shape): boolean {
  const factors = (shape: Shape) => {
    let constant = 1
    const symbols: string[] = []
    for (const d of shape) {
      if (typeof d === 'number') constant *= d
      else if (d.includes('+')) symbols.push(d)
      else for (const p of d.split('*')) /^\d+$/.test(p) ? (constant *= Number(p)) : symbols.push(p)
    }
    return `${constant}|${symbols.sort().join('*')}`
  }
  return factors(a) === factors(b)
}

export function reshape(g: Graph, x: Value, shape: Shape): Value {
  if (sameShape(x.shape, shape)) return x
  need(sameCount(x.shape, shape), 'Reshape', `cannot become [${shape.join(', ')}]`, [x])
  const symbolic = shape.filter((d) => typeof d === 'string')
  // allowzero: without it a 0 in the target would mean "copy the dimension"
  const target =
    symbolic.length === 1 && !shape.includes(0) && !mayBeEmpty(x.shape)
      ? g.ints(shape.map((d) => (typeof d === 'number' ? d : -1)))
      : g.shapeVector(shape)
  return g.node('Reshape', [x, target], [{ dtype: x.dtype, shape }], { allowzero: int(1) })[0]
}

/** Symbols that can be 0 at run time: -1 in a reshape would then be undetermined. */
const emptySymbols = new Set(['M', 'P', 'K', 'C'])
function mayBeEmpty(shape: Shape): boolean {
  return shape.some((d) => typeof d === 'string' && d.split(/[+*]/).some((s) => emptySymbols.has(s)))
}

export function transpose(g: Graph, x: Value, perm: readonly number[]): Value {
  need(perm.length === x.shape.length, 'Transpose', `perm [${perm.join(', ')}] does not fit`, [x])
  return g.node('Transpose', [x], [{ dtype: x.dtype, shape: perm.map((p) => x.shape[p]) }], { perm: ints(perm) })[0]
}

function axisOf(op: string, x: Value, axis: number): number {
  const a = axis < 0 ? axis + x.shape.length : axis
  need(a >= 0 && a < x.shape.length, op, `axis ${axis} is outside`, [x])
  return a
}

export function concat(g: Graph, values: readonly Value[], axis: number): Value {
  if (values.length === 1) return values[0]
  const a = axisOf('Concat', values[0], axis)
  for (const v of values) {
    need(
      v.dtype === values[0].dtype &&
        v.shape.length === values[0].shape.length &&
        v.shape.every((d, i) => i === a || d === values[0].shape[i]),
      'Concat',
      `the parts do not fit along axis ${axis}`,
      values,
    )
  }
  const shape = values[0].shape.map((d, i) => (i === a ? dimSum(...values.map((v) => v.shape[a])) : d))
  return g.node('Concat', values, [{ dtype: values[0].dtype, shape }], { axis: int(a) })[0]
}

export function split(g: Graph, x: Value, sizes: readonly Dim[], axis: number): Value[] {
  const a = axisOf('Split', x, axis)
  need(dimSum(...sizes) === x.shape[a], 'Split', `sizes ${sizes.join(', ')} do not add up`, [x])
  return g.node(
    'Split',
    [x, g.shapeVector(sizes)],
    sizes.map((s) => ({ dtype: x.dtype, shape: x.shape.map((d, i) => (i === a ? s : d)) })),
    { axis: int(a) },
  )
}

/** x[.., start : start + size, ..] along one axis; start and size may be symbols. */
export function slice(g: Graph, x: Value, axis: number, start: Dim, size: Dim): Value {
  const a = axisOf('Slice', x, axis)
  const end = dimSum(start, size)
  return g.node(
    'Slice',
    [x, g.dim(start), g.dim(end), g.ints([a])],
    [{ dtype: x.dtype, shape: x.shape.map((d, i) => (i === a ? size : d)) }],
  )[0]
}

/** Rows of x along axis 0: x[indices]. */
export function gather(g: Graph, x: Value, indices: Value): Value {
  need(indices.dtype === 'int64' || indices.dtype === 'int32', 'Gather', 'indices must be integers', [x, indices])
  return g.node('Gather', [x, indices], [{ dtype: x.dtype, shape: [...indices.shape, ...x.shape.slice(1)] }], {
    axis: int(0),
  })[0]
}

/** One element per row: x[i, indices[i]], x [N, V], indices int64 [N, 1] -> [N, 1]. */
export function gatherElements(g: Graph, x: Value, indices: Value): Value {
  need(indices.dtype === 'int64' && indices.shape.length === x.shape.length, 'GatherElements', 'indices do not fit', [x, indices])
  return g.node('GatherElements', [x, indices], [{ dtype: x.dtype, shape: indices.shape }], { axis: int(x.shape.length - 1) })[0]
}

/** Copy of x [N, ..] with rows `indices` [M, 1] replaced by (or increased by) updates [M, ..]. */
export function scatterRows(g: Graph, x: Value, indices: Value, updates: Value, mode: 'replace' | 'add'): Value {
  sameType('ScatterND', x, updates)
  need(
    indices.dtype === 'int64' && indices.shape.length === 2 && indices.shape[1] === 1 && updates.shape[0] === indices.shape[0],
    'ScatterND',
    'indices must be int64 [M, 1], updates [M, ..]',
    [x, indices, updates],
  )
  return g.node(
    'ScatterND',
    [x, indices, updates],
    [{ dtype: x.dtype, shape: x.shape }],
    mode === 'add' ? { reduction: { kind: 'string', value: 'add' } } : {},
  )[0]
}

/** A tensor of zeros. */
export function zeros(g: Graph, dtype: DType, shape: Shape): Value {
  const made = g.node('ConstantOfShape', [g.shapeVector(shape)], [{ dtype: 'float32', shape }])[0]
  return cast(g, made, dtype)
}

export function unsqueeze(g: Graph, x: Value, axes: readonly number[]): Value {
  const rank = x.shape.length + axes.length
  const rest = [...x.shape]
  const shape = Array.from({ length: rank }, (_, i) => (axes.includes(i) ? 1 : rest.shift()!))
  return g.node('Unsqueeze', [x, g.ints(axes)], [{ dtype: x.dtype, shape }])[0]
}

export function squeeze(g: Graph, x: Value, axes: readonly number[]): Value {
  for (const a of axes) need(x.shape[a] === 1, 'Squeeze', `axis ${a} is not 1`, [x])
  return g.node('Squeeze', [x, g.ints(axes)], [{ dtype: x.dtype, shape: x.shape.filter((_, i) => !axes.includes(i)) }])[0]
}

export function expand(g: Graph, x: Value, shape: Shape): Value {
  if (sameShape(x.shape, shape)) return x
  broadcastShape('Expand', x, { ...x, shape })
  return g.node('Expand', [x, g.shapeVector(shape)], [{ dtype: x.dtype, shape }])[0]
}

function reduction(op: string) {
  return (g: Graph, x: Value, axes: readonly number[], keep = true): Value => {
    need(isFloat(x.dtype) || x.dtype === 'int64', op, 'needs numbers', [x])
    const at = axes.map((a) => axisOf(op, x, a))
    const shape = x.shape.map((d, i) => (at.includes(i) ? 1 : d))
    const kept = g.node(op, [x, g.ints(at)], [{ dtype: x.dtype, shape }], { keepdims: int(1) })[0]
    return keep ? kept : squeeze(g, kept, at)
  }
}

export const reduceSum = reduction('ReduceSum')
export const reduceMean = reduction('ReduceMean')
export const reduceMax = reduction('ReduceMax')

export function softmax(g: Graph, x: Value, axis = -1): Value {
  need(isFloat(x.dtype), 'Softmax', 'needs a floating-point tensor', [x])
  return g.node('Softmax', [x], [{ dtype: x.dtype, shape: x.shape }], { axis: int(axis) })[0]
}

export function where(g: Graph, condition: Value, a: Value, b: Value): Value {
  need(condition.dtype === 'bool', 'Where', 'needs a boolean condition', [condition, a, b])
  sameType('Where', a, b)
  const ab = broadcastShape('Where', a, b)
  return g.node('Where', [condition, a, b], [{ dtype: a.dtype, shape: broadcastShape('Where', condition, { ...a, shape: ab }) }])[0]
}

/** Integers 0 .. n-1; n is a scalar int64. */
export function range(g: Graph, n: Dim): Value {
  const limit = squeeze(g, g.dim(n), [0])
  return g.node('Range', [g.ints([0], []), limit, g.ints([1], [])], [{ dtype: 'int64', shape: [n] }])[0]
}

export function argMax(g: Graph, x: Value): Value {
  return g.node('ArgMax', [x], [{ dtype: 'int64', shape: x.shape.slice(0, -1) }], { axis: int(-1), keepdims: int(0) })[0]
}

/** The k largest along the last axis in falling order: values and int64 indices. */
export function topK(g: Graph, x: Value, k: Value, kDim: Dim): [Value, Value] {
  const shape = [...x.shape.slice(0, -1), kDim]
  const [values, indices] = g.node(
    'TopK',
    [x, k],
    [
      { dtype: x.dtype, shape },
      { dtype: 'int64', shape },
    ],
    { axis: int(-1), largest: int(1), sorted: int(1) },
  )
  return [values, indices]
}

/** Sums along the last axis up to each element, or from each element to the end. */
export function cumSum(g: Graph, x: Value, from: 'start' | 'end' = 'start'): Value {
  return g.node('CumSum', [x, g.ints([x.shape.length - 1], [])], [{ dtype: x.dtype, shape: x.shape }], { reverse: int(from === 'end' ? 1 : 0) })[0]
}

/**
 * Two branches; only the one taken runs. Each builds its outputs in a nested graph; both must agree in dtype and rank.
 * The result has the first branch's shapes, with `shapes` where they differ.
 */
export function ifElse(
  g: Graph,
  condition: Value,
  thenBranch: (inner: Graph) => readonly Value[],
  elseBranch: (inner: Graph) => readonly Value[],
  shapes?: readonly Shape[],
): Value[] {
  const build = (label: string, make: (inner: Graph) => readonly Value[]) => {
    const inner = g.subgraph(label)
    for (const v of make(inner)) inner.result(v)
    return inner
  }
  const a = build('then', thenBranch)
  const b = build('else', elseBranch)
  need(a.outputs.length === b.outputs.length, 'If', 'the branches have different numbers of outputs', [condition])
  a.outputs.forEach((v, i) =>
    need(v.dtype === b.outputs[i].dtype && v.shape.length === b.outputs[i].shape.length, 'If', `output ${i} differs between the branches`, [
      v,
      b.outputs[i],
    ]),
  )
  return g.node(
    'If',
    [condition],
    a.outputs.map((v, i) => ({ dtype: v.dtype, shape: shapes?.[i] ?? v.shape })),
    { then_branch: graphAttribute(a), else_branch: graphAttribute(b) },
  )
}

export interface LoopState {
  readonly value: Value
  /** Shape inside and after the loop, where it grows (e.g. a cache): symbols of the body. */
  readonly shape?: Shape
}

/**
 * `Loop` for at most `trips` (int64 scalar) iterations while `condition` (bool scalar) holds. The body gets the
 * iteration number and the carried values and returns the next condition, the next carried values and values to be
 * stacked along a new first axis `stackDim`.
 */
export function loop(
  g: Graph,
  trips: Value,
  condition: Value,
  states: readonly LoopState[],
  body: (inner: Graph, iteration: Value, carried: readonly Value[]) => { condition: Value; states: readonly Value[]; stacked: readonly Value[] },
  stackDim: Dim,
  finalShapes?: readonly (Shape | undefined)[],
): { states: Value[]; stacked: Value[] } {
  const inner = g.subgraph('loop')
  const iteration = inner.input('iteration', 'int64', [])
  inner.input('condition', 'bool', [])
  const carried = states.map((s) => inner.input('carried', s.value.dtype, s.shape ?? s.value.shape))
  const out = body(inner, iteration, carried)
  inner.result(out.condition)
  out.states.forEach((v, i) => {
    need(v.dtype === carried[i].dtype, 'Loop', `carried value ${i} changes its dtype`, [carried[i], v])
    inner.result(v)
  })
  out.stacked.forEach((v) => inner.result(v))
  const results = g.node(
    'Loop',
    [trips, condition, ...states.map((s) => s.value)],
    [
      ...states.map((s, i) => ({ dtype: s.value.dtype, shape: finalShapes?.[i] ?? s.shape ?? s.value.shape })),
      ...out.stacked.map((v) => ({ dtype: v.dtype, shape: [stackDim, ...v.shape] })),
    ],
    { body: graphAttribute(inner) },
  )
  return { states: results.slice(0, states.length), stacked: results.slice(states.length) }
}

/**
 * `Scan`: carries `states` over the slices of `inputs` along their first axis (the same for all), from the last to the
 * first with `reverse`. The body returns the next states and values that are stacked, slice n's at n.
 */
export function scan(
  g: Graph,
  states: readonly Value[],
  inputs: readonly Value[],
  body: (inner: Graph, carried: readonly Value[], slices: readonly Value[]) => { states: readonly Value[]; stacked: readonly Value[] },
  reverse = false,
): { states: Value[]; stacked: Value[] } {
  const [count] = inputs[0].shape
  for (const x of inputs) need(x.shape[0] === count, 'Scan', 'the inputs differ in length', inputs)
  const inner = g.subgraph('scan')
  const carried = states.map((v) => inner.input('carried', v.dtype, v.shape))
  const slices = inputs.map((v) => inner.input('slice', v.dtype, v.shape.slice(1)))
  const out = body(inner, carried, slices)
  out.states.forEach((v, i) =>
    need(v.dtype === carried[i].dtype && sameShape(v.shape, carried[i].shape), 'Scan', `carried value ${i} changes`, [carried[i], v]),
  )
  for (const v of [...out.states, ...out.stacked]) inner.result(v)
  const results = g.node(
    'Scan',
    [...states, ...inputs],
    [
      ...states.map((v) => ({ dtype: v.dtype, shape: v.shape })),
      ...out.stacked.map((v) => ({ dtype: v.dtype, shape: [count, ...v.shape] })),
    ],
    {
      body: graphAttribute(inner),
      num_scan_inputs: int(inputs.length),
      ...(reverse
        ? { scan_input_directions: ints(inputs.map(() => 1)), scan_output_directions: ints(out.stacked.map(() => 1)) }
        : {}),
    },
  )
  return { states: results.slice(0, states.length), stacked: results.slice(states.length) }
}

/** x as a matrix: all axes but the last folded into one. */
export function asMatrix(g: Graph, x: Value): Value {
  return x.shape.length === 2 ? x : reshape(g, x, [dimProduct(...x.shape.slice(0, -1)), x.shape.at(-1)!])
}

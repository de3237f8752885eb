/**
 * The memory that a run of a graph takes for what it computes, found by walking through it as ONNX Runtime does, with sizes in place of
 * numbers: nodes in its order (depth first from the results, what was added last before what was added earlier), results freed after
 * their last reader, written over an operand of the same size that nobody reads any more, and shared where only the shape changes.
 * Weights and the arrays that are fed are not counted.
 */
import type { Dim, DType, Graph, Node, Shape, Value } from '../onnx/graph'

/** Of an input: its shape and, where control flow hangs on it, its values. */
export interface FedInput {
  readonly shape: readonly number[]
  readonly values?: readonly number[]
}

export interface GraphPeak {
  /** Largest sum of what is held at one time, bytes, the outputs among it. */
  readonly peak: number
  /** What is held at the end: the outputs. */
  readonly outputs: number
}

/** `fed`: by name, every input of the graph. `trips`: rounds of a loop whose number follows from no size. */
export function graphPeak(graph: Graph, fed: Readonly<Record<string, FedInput>>, trips: number): GraphPeak {
  const scope = new Scope(graph, null)
  for (const input of graph.inputs) {
    const given = fed[input.name]
    if (!given) throw new Error(`nothing is said of the input "${input.name}"`)
    scope.feed(input, given.shape, given.values)
  }
  for (const { value, data } of graph.initializers) {
    const small = data.kind === 'inline' && data.data.length <= mostValues ? Array.from(data.data, Number) : undefined
    scope.bind(value, value.shape as number[], small)
    scope.constants.add(value.name)
  }
  const { peak, held } = walk(graph, scope, trips)
  return { peak, outputs: held }
}

/** Longer vectors hold no sizes. */
const mostValues = 64

const widths: Readonly<Record<DType, number>> = { float32: 4, float16: 2, bfloat16: 2, int64: 8, int32: 4, bool: 1 }

/** What is known of values and dimensions in a graph and those around it. */
class Scope {
  readonly shapes = new Map<string, readonly number[]>()
  readonly values = new Map<string, readonly number[]>()
  readonly dims = new Map<string, number>()
  readonly constants: Set<string>

  constructor(
    private readonly graph: Graph,
    readonly parent: Scope | null,
  ) {
    this.constants = parent?.constants ?? new Set()
  }

  bind(value: Value, shape: readonly number[], values?: readonly number[]): void {
    this.shapes.set(value.name, shape)
    if (values) this.values.set(value.name, values)
  }

  /** An input tells what its symbols stand for. */
  feed(value: Value, shape: readonly number[], values?: readonly number[]): void {
    this.bind(value, shape, values)
    value.shape.forEach((d, axis) => {
      if (typeof d === 'string' && !/[+*]/.test(d) && this.dim(d) === undefined) this.dims.set(d, shape[axis])
    })
  }

  shapeOf(name: string): readonly number[] | undefined {
    return this.shapes.get(name) ?? this.parent?.shapeOf(name)
  }

  valuesOf(name: string): readonly number[] | undefined {
    return this.values.get(name) ?? this.parent?.valuesOf(name)
  }

  dim(d: Dim): number | undefined {
    if (typeof d === 'number') return d
    if (/^\d+$/.test(d)) return Number(d)
    if (d.includes('+')) return combine(d.split('+'), this, (a, b) => a + b)
    if (d.includes('*')) return combine(d.split('*'), this, (a, b) => a * b)
    const computed = this.graph.computedDim(d)
    return this.dims.get(d) ?? (computed && this.valuesOf(computed.name)?.[0]) ?? this.parent?.dim(d)
  }

  resolve(shape: Shape): number[] | undefined {
    const all = shape.map((d) => this.dim(d))
    return all.every((d) => d !== undefined) ? (all as number[]) : undefined
  }
}

function combine(parts: readonly string[], scope: Scope, how: (a: number, b: number) => number): number | undefined {
  const all = parts.map((p) => scope.dim(p))
  return all.every((x) => x !== undefined) ? (all as number[]).reduce(how) : undefined
}

const count = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1)

/** What is held under one or more names. */
interface Buffer {
  readonly bytes: number
  /** Readings to come. */
  uses: number
  /** Made in this graph: it may be written over. */
  readonly own: boolean
}

interface Plan {
  readonly order: readonly Node[]
  readonly reads: ReadonlyMap<Node, readonly string[]>
  /** Readings of each value, as an output too. */
  readonly uses: ReadonlyMap<string, number>
}

/** A graph is walked through for many sizes. */
const plans = new WeakMap<Graph, Plan>()

function planOf(graph: Graph): Plan {
  const known = plans.get(graph)
  if (known) return known
  const reads = new Map<Node, readonly string[]>(graph.nodes.map((n) => [n, readBy(n)]))
  const uses = new Map<string, number>()
  const read = (name: string) => uses.set(name, (uses.get(name) ?? 0) + 1)
  for (const names of reads.values()) names.forEach(read)
  for (const { name } of graph.outputs) read(name)
  const plan = { order: inOrder(graph, reads), reads, uses }
  plans.set(graph, plan)
  return plan
}

function walk(
  graph: Graph,
  scope: Scope,
  trips: number,
): { peak: number; held: number; shapes: (readonly number[])[] } {
  const { order, reads, uses } = planOf(graph)
  const buffers = new Map<string, Buffer>()
  let live = 0
  let peak = 0
  for (const node of order) {
    const inputs = node.inputs.map((v) => v && v.name)
    if (node.inputs.length > 0 && node.op !== 'If' && inputs.every((n) => n === null || scope.constants.has(n))) {
      // folded when the session is made
      for (const v of node.outputs) {
        scope.bind(v, scope.resolve(v.shape) ?? guess(node, v, scope), evaluate(node, scope))
        scope.constants.add(v.name)
      }
      continue
    }
    const inner = insideOf(node, scope, trips)
    peak = Math.max(peak, live + inner.peak)
    const spare = inputs.flatMap((n) => {
      const buffer = n === null ? undefined : buffers.get(n)
      return buffer && buffer.own && buffer.uses === reads.get(node)!.filter((r) => buffers.get(r) === buffer).length
        ? [buffer]
        : []
    })
    const made: Buffer[] = []
    for (const [i, v] of node.outputs.entries()) {
      const shape = inner.shapes?.[i] ?? scope.resolve(v.shape) ?? guess(node, v, scope)
      scope.bind(v, shape, i === 0 ? evaluate(node, scope) : undefined)
      const bytes = widths[v.dtype] * count(shape)
      if (Number.isNaN(bytes)) throw new Error(`the walk cannot tell the size of "${v.name}" of ${node.op}`)
      const later = uses.get(v.name) ?? 0
      const shared = aliases.has(node.op) && inputs[0] !== null ? buffers.get(inputs[0]) : undefined
      const over = shared ?? (inPlace.has(node.op) ? spare.find((b) => b.bytes === bytes) : undefined)
      const buffer: Buffer = over ?? { bytes, uses: 0, own: true }
      if (!over && !(aliases.has(node.op) && inputs[0] !== null)) {
        live += bytes
        made.push(buffer)
      } else if (!over) continue // the shape of something from outside
      buffer.uses += later
      buffers.set(v.name, buffer)
    }
    peak = Math.max(peak, live)
    for (const name of reads.get(node)!) {
      const buffer = buffers.get(name)
      if (buffer && --buffer.uses === 0) live -= buffer.bytes
    }
    for (const buffer of made) if (buffer.uses === 0) live -= buffer.bytes
  }
  const shapes = graph.outputs.map((v) => scope.shapeOf(v.name) ?? [])
  return { peak, held: live, shapes }
}

/** What the nodes inside a node take, beside everything that is held around it, and what it makes. */
function insideOf(node: Node, scope: Scope, trips: number): { peak: number; shapes: (readonly number[])[] | null } {
  const graph = (name: string) => {
    const a = node.attributes[name]
    return a?.kind === 'graph' ? a.value : null
  }
  if (node.op === 'If') {
    const condition = scope.valuesOf(node.inputs[0]!.name)
    const ways = condition ? [condition[0] ? 'then_branch' : 'else_branch'] : ['then_branch', 'else_branch']
    const walked = ways.map((way) => walk(graph(way)!, new Scope(graph(way)!, scope), trips))
    // where nobody knows which way it goes, the one that takes more; the results move out
    return walked.reduce((a, b) => (b.peak > a.peak ? b : a))
  }
  const body = graph('body')
  if (!body) return { peak: 0, shapes: null }
  return node.op === 'Loop' ? looped(node, body, scope, trips) : scanned(node, body, scope, trips)
}

/** The last time round, when what grows is largest. */
function looped(node: Node, body: Graph, scope: Scope, trips: number): { peak: number; shapes: (readonly number[])[] } {
  const known = scope.valuesOf(node.inputs[0]!.name)
  const times = Math.max(0, known ? known[0] : trips)
  const carried = node.inputs.slice(2).map((v) => scope.shapeOf(v!.name)!)
  const stacked = node.outputs.length - carried.length
  if (times === 0)
    return {
      peak: 0,
      shapes: [
        ...carried,
        ...node.outputs.slice(carried.length).map((v) => [0, ...(scope.resolve(v.shape.slice(1)) ?? [])]),
      ],
    }
  const first = passThrough(body, scope, carried, 0, trips)
  const growth = carried.map((shape, i) => shape.map((d, axis) => first.shapes[i + 1][axis] - d))
  const before = carried.map((shape, i) => shape.map((d, axis) => d + (times - 1) * growth[i][axis]))
  const last = times === 1 ? first : passThrough(body, scope, before, times - 1, trips)
  const results = last.shapes.slice(1, 1 + carried.length)
  const perTime = last.shapes.slice(1 + carried.length)
  const states = before.reduce((n, shape, i) => n + widths[node.outputs[i].dtype] * count(shape), 0)
  // results of every time are kept apart until the end, and then joined
  const pieces = perTime.reduce(
    (n, shape, i) => n + times * widths[node.outputs[carried.length + i].dtype] * count(shape),
    0,
  )
  return {
    peak: Math.max(states + last.peak + pieces, pieces * 2),
    shapes: [...results, ...perTime.slice(0, stacked).map((shape) => [times, ...shape])],
  }
}

function passThrough(
  body: Graph,
  scope: Scope,
  carried: readonly (readonly number[])[],
  iteration: number,
  trips: number,
) {
  const inner = new Scope(body, scope)
  const [time, condition, ...rest] = body.inputs
  inner.feed(time, [], [iteration])
  inner.feed(condition, [], [1])
  rest.forEach((v, i) => inner.feed(v, carried[i]))
  return walk(body, inner, trips)
}

function scanned(
  node: Node,
  body: Graph,
  scope: Scope,
  trips: number,
): { peak: number; shapes: (readonly number[])[] } {
  const n = node.attributes.num_scan_inputs
  const sliced = n?.kind === 'int' ? n.value : 0
  const shapes = node.inputs.map((v) => scope.shapeOf(v!.name)!)
  const states = shapes.length - sliced
  const inner = new Scope(body, scope)
  body.inputs.forEach((v, i) => inner.feed(v, i < states ? shapes[i] : shapes[i].slice(1)))
  const once = walk(body, inner, trips)
  const held = shapes.slice(0, states).reduce((sum, s, i) => sum + 2 * widths[body.inputs[i].dtype] * count(s), 0)
  return {
    peak: held + once.peak,
    shapes: once.shapes.map((s, i) => (i < states ? s : [shapes[states][0], ...s])),
  }
}

/** Names of values that a node reads, those that the graphs inside it take from around them included; each once for every place. */
function readBy(node: Node): string[] {
  const names = node.inputs.flatMap((v) => (v ? [v.name] : []))
  const outer = new Set<string>()
  for (const a of Object.values(node.attributes))
    if (a.kind === 'graph') for (const name of takenFrom(a.value)) outer.add(name)
  return [...names, ...outer]
}

/** What a nested graph takes from the graphs around it. */
function takenFrom(graph: Graph): Set<string> {
  const own = new Set(graph.inputs.map((v) => v.name))
  const taken = new Set<string>()
  for (const node of graph.nodes) {
    for (const name of readBy(node)) if (!own.has(name)) taken.add(name)
    for (const v of node.outputs) own.add(v.name)
  }
  for (const { name } of graph.outputs) if (!own.has(name)) taken.add(name)
  return taken
}

/** The runtime's order: depth first from nodes that no other reads, of a node's operands the one that was added last first. */
function inOrder(graph: Graph, reads: ReadonlyMap<Node, readonly string[]>): Node[] {
  const place = new Map(graph.nodes.map((n, i) => [n, i]))
  const maker = new Map(graph.nodes.flatMap((n) => n.outputs.map((v) => [v.name, n] as const)))
  const before = (n: Node) =>
    [...new Set(reads.get(n)!.flatMap((name) => maker.get(name) ?? []))].sort((a, b) => place.get(a)! - place.get(b)!)
  const read = new Set([...reads.values()].flat())
  const stack = graph.nodes
    .filter((n) => !n.outputs.some((v) => read.has(v.name)))
    .map((node) => ({ node, leave: false }))
  const seen = new Set<Node>()
  const order: Node[] = []
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    if (entry.leave) order.push(entry.node)
    if (entry.leave || seen.has(entry.node)) continue
    seen.add(entry.node)
    stack.push({ node: entry.node, leave: true })
    for (const node of before(entry.node)) if (!seen.has(node)) stack.push({ node, leave: false })
  }
  return order
}

/** The same bytes under another shape. */
const aliases = new Set(['Reshape', 'Squeeze', 'Unsqueeze', 'Identity', 'Flatten'])

/** Kernels that may write over an operand. */
const inPlace = new Set([
  ...[
    'Add',
    'Sub',
    'Mul',
    'Div',
    'Neg',
    'Exp',
    'Sqrt',
    'Reciprocal',
    'Sigmoid',
    'Tanh',
    'Softmax',
    'LogSoftmax',
    'Cast',
    'Not',
  ],
  ...['ScatterElements', 'ScatterND', 'Max', 'Min', 'Softplus', 'Relu', 'Erf', 'Pow'],
])

/** The shape of a result whose declared shape has symbols without a value. */
function guess(node: Node, out: Value, scope: Scope): readonly number[] {
  const shapes = node.inputs.flatMap((v) => (v ? [scope.shapeOf(v.name) ?? []] : []))
  const attribute = (name: string) => {
    const a = node.attributes[name]
    return a?.kind === 'int' ? a.value : 0
  }
  switch (node.op) {
    case 'Concat': {
      const axis = (attribute('axis') + shapes[0].length) % shapes[0].length
      return shapes[0].map((d, i) => (i === axis ? shapes.reduce((n, s) => n + s[i], 0) : d))
    }
    case 'Split': {
      const sizes = node.inputs[1] ? scope.valuesOf(node.inputs[1].name) : undefined
      const axis = (attribute('axis') + shapes[0].length) % shapes[0].length
      const which = node.outputs.indexOf(out)
      return shapes[0].map((d, i) => (i === axis ? (sizes?.[which] ?? Math.ceil(d / node.outputs.length)) : d))
    }
    case 'Slice': {
      const [starts, ends, axes] = [1, 2, 3].map((i) =>
        node.inputs[i] ? scope.valuesOf(node.inputs[i]!.name) : undefined,
      )
      if (!starts || !ends) return shapes[0]
      return shapes[0].map((d, i) => {
        const at = axes ? axes.indexOf(i) : i
        return at < 0 || at >= starts.length ? d : Math.max(0, Math.min(d, ends[at]) - starts[at])
      })
    }
    case 'Reshape': {
      const target = scope.valuesOf(node.inputs[1]!.name)
      if (!target) return shapes[0]
      const rest = target.reduce((n, d) => (d > 0 ? n * d : n), 1)
      return target.map((d) => (d === -1 ? count(shapes[0]) / rest : d))
    }
    case 'Gather': {
      const axis = attribute('axis')
      return [...shapes[0].slice(0, axis), ...shapes[1], ...shapes[0].slice(axis + 1)]
    }
    case 'Gemm':
    case 'MatMul':
    case 'FusedMatMul': {
      const last = scope.dim(out.shape.at(-1)!)
      return [...shapes[0].slice(0, -1), last ?? shapes[1].at(-1)!]
    }
    case 'ConstantOfShape':
    case 'Expand':
      return scope.valuesOf(node.inputs.at(-1)!.name) ?? shapes[0]
    case 'Range':
      return [count(shapes[0])]
    case 'Unsqueeze':
    case 'Squeeze':
      return out.shape.map((d, i) => scope.dim(d) ?? shapes[0][Math.min(i, shapes[0].length - 1)] ?? 1)
    default:
      return shapes.reduce((a, b) => (count(b) > count(a) ? b : a), [])
  }
}

/** Small vectors of sizes, and what is asked of them; undefined where a value is not known. */
function evaluate(node: Node, scope: Scope): readonly number[] | undefined {
  const a = (i: number) => (node.inputs[i] ? scope.valuesOf(node.inputs[i].name) : undefined)
  const pairs = (how: (x: number, y: number) => number) => {
    const [x, y] = [a(0), a(1)]
    if (!x || !y) return undefined
    return Array.from({ length: Math.max(x.length, y.length) }, (_, i) => how(x[i % x.length], y[i % y.length]))
  }
  switch (node.op) {
    case 'Shape':
      return node.inputs[0] ? scope.shapeOf(node.inputs[0].name) : undefined
    case 'Gather': {
      const [x, y] = [a(0), a(1)]
      return x && y?.map((i) => x[i])
    }
    case 'Add':
      return pairs((x, y) => x + y)
    case 'Sub':
      return pairs((x, y) => x - y)
    case 'Mul':
      return pairs((x, y) => x * y)
    case 'Div':
      return pairs((x, y) => Math.trunc(x / y))
    case 'Min':
      return pairs(Math.min)
    case 'Max':
      return pairs(Math.max)
    case 'Equal':
      return pairs((x, y) => Number(x === y))
    case 'Greater':
      return pairs((x, y) => Number(x > y))
    case 'Less':
      return pairs((x, y) => Number(x < y))
    case 'Or':
      return pairs((x, y) => x | y)
    case 'And':
      return pairs((x, y) => x & y)
    case 'Not':
      return a(0)?.map((x) => 1 - x)
    case 'Concat': {
      const all = node.inputs.map((_, i) => a(i))
      return all.every((x) => x) ? all.flatMap((x) => [...x!]) : undefined
    }
    case 'Cast':
    case 'Identity':
    case 'Squeeze':
    case 'Unsqueeze':
    case 'Reshape':
      return a(0)
    default:
      return undefined
  }
}

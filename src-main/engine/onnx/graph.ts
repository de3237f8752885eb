/**
 * The graph under construction: values with dtype and symbolic shape, nodes in topological order, nested graphs for
 * `If` and `Loop`, and composites (a run of nodes that has its own differentiation rule).
 *
 * Dimensions are numbers or symbols; a symbol may be a sum or product of symbols and numbers ("P+T", "B*T"), and has a
 * value at run time through `dim`, taken from the graph input that introduced it.
 */

export type DType = 'float32' | 'float16' | 'bfloat16' | 'int64' | 'int32' | 'bool'
export type Dim = number | string
export type Shape = readonly Dim[]

export interface Value {
  readonly name: string
  readonly dtype: DType
  readonly shape: Shape
}

export type Attribute =
  | { readonly kind: 'int'; readonly value: number }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'ints'; readonly value: readonly number[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'graph'; readonly value: Graph }

export interface Node {
  readonly kind: 'node'
  readonly op: string
  /** '' is the ONNX domain; 'com.microsoft' holds ONNX Runtime's own operators. */
  readonly domain: string
  readonly inputs: readonly (Value | null)[]
  readonly outputs: readonly Value[]
  readonly attributes: Readonly<Record<string, Attribute>>
}

/** A run of nodes that is differentiated as one operator, by the rule of its name. */
export interface Composite {
  readonly kind: 'composite'
  readonly op: string
  readonly inputs: readonly (Value | null)[]
  readonly outputs: readonly Value[]
  /** Values kept for the backward pass, by name. */
  readonly saved: Readonly<Record<string, Value>>
  /** Whatever else the rule needs (numbers, functions). */
  readonly settings: Readonly<Record<string, unknown>>
}

export type Step = Node | Composite

/** Where an initializer's bytes lie in a file that is never copied. */
export interface ExternalData {
  /** Absolute path without symbolic links. */
  readonly file: string
  readonly offset: number
  readonly length: number
}

export type InitializerData =
  | { readonly kind: 'external'; readonly data: ExternalData }
  | { readonly kind: 'inline'; readonly data: Float32Array | BigInt64Array | Int32Array | Uint8Array }

export interface Initializer {
  readonly value: Value
  readonly data: InitializerData
  /** The runtime may keep it in another arrangement, a copy for each operator that reads it. */
  readonly packed: boolean
}

/** A defect in how a graph was put together: names the operator and the shapes. Never the user's fault. */
export class GraphError extends Error {
  constructor(op: string, message: string, inputs: readonly (Value | null)[] = []) {
    const shown = inputs.map((v) => (v ? `${v.dtype}[${v.shape.join(', ')}]` : 'absent')).join(', ')
    super(`${op}: ${message}${inputs.length ? ` (inputs: ${shown})` : ''}`)
    this.name = 'GraphError'
  }
}

interface Names {
  next: number
}

export class Graph {
  readonly inputs: Value[] = []
  readonly outputs: Value[] = []
  readonly initializers: Initializer[] = []
  readonly nodes: Node[] = []
  /** What differentiation sees: composites in place of the nodes they cover. */
  readonly steps: Step[] = []

  /** Has it, or a graph nested in it, initializers for the runtime to rearrange? */
  isPacked = false

  private readonly names: Names
  private readonly constants = new Map<string, Value>()
  private readonly dims = new Map<string, Value>()
  private readonly dimSources = new Map<string, { value: Value; axis: number }>()
  private depth = 0

  constructor(
    readonly label: string,
    readonly parent: Graph | null = null,
  ) {
    this.names = parent ? parent.names : { next: 0 }
  }

  /** A nested graph that sees every value of this one. */
  subgraph(label: string): Graph {
    return new Graph(label, this)
  }

  freshName(hint: string): string {
    return `${hint}_${this.names.next++}`
  }

  value(hint: string, dtype: DType, shape: Shape): Value {
    return { name: this.freshName(hint), dtype, shape }
  }

  /** An input that callers feed under exactly this name (nested graphs get fresh names). */
  input(name: string, dtype: DType, shape: Shape): Value {
    const value: Value = { name: this.parent ? this.freshName(name) : name, dtype, shape }
    this.inputs.push(value)
    shape.forEach((d, axis) => {
      if (typeof d === 'string' && !/[+*]/.test(d) && !this.findSource(d)) this.dimSources.set(d, { value, axis })
    })
    return value
  }

  /** Makes the value an output under this name (an Identity gives it the name where it has another). */
  output(value: Value, name = value.name): Value {
    if (value.name === name) {
      this.outputs.push(value)
      return value
    }
    const named: Value = { ...value, name }
    this.nodes.push({ kind: 'node', op: 'Identity', domain: '', inputs: [value], outputs: [named], attributes: {} })
    this.outputs.push(named)
    return named
  }

  initializer(name: string, dtype: DType, shape: readonly number[], data: InitializerData, packed = false): Value {
    const value: Value = { name, dtype, shape }
    this.initializers.push({ value, data, packed })
    if (packed) this.root().isPacked = true
    return value
  }

  /** An int64 constant; equal ones are shared. Scalar when `shape` is []. */
  ints(values: readonly number[], shape: readonly number[] = [values.length]): Value {
    return this.constant(`i64:${shape.join(',')}:${values.join(',')}`, 'int64', shape, () =>
      BigInt64Array.from(values.map((v) => BigInt(v))),
    )
  }

  /** A float32 constant; equal ones are shared. Scalar when `shape` is []. */
  floats(values: readonly number[], shape: readonly number[] = [values.length]): Value {
    return this.constant(`f32:${shape.join(',')}:${values.join(',')}`, 'float32', shape, () => Float32Array.from(values))
  }

  bool(value: boolean): Value {
    return this.constant(`bool:${value}`, 'bool', [], () => Uint8Array.of(value ? 1 : 0))
  }

  private constant(key: string, dtype: DType, shape: readonly number[], make: () => Float32Array | BigInt64Array | Uint8Array): Value {
    const found = this.findConstant(key)
    if (found) return found
    // constants live in the outermost graph: every nested graph sees them there
    const root = this.root()
    const value = root.initializer(root.freshName('const'), dtype, shape, { kind: 'inline', data: make() })
    root.constants.set(key, value)
    return value
  }

  private findConstant(key: string): Value | undefined {
    return this.root().constants.get(key)
  }

  root(): Graph {
    return this.parent ? this.parent.root() : this
  }

  /** Adds a node; the caller has checked types and shapes (ops.ts). */
  node(
    op: string,
    inputs: readonly (Value | null)[],
    outputs: readonly { dtype: DType; shape: Shape }[],
    attributes: Readonly<Record<string, Attribute>> = {},
    domain = '',
  ): Value[] {
    const made = outputs.map((o) => this.value(op, o.dtype, o.shape))
    const node: Node = { kind: 'node', op, domain, inputs, outputs: made, attributes }
    this.nodes.push(node)
    if (this.depth === 0) this.steps.push(node)
    return made
  }

  /** Runs `build`, whose nodes become one differentiable step of that name. */
  composite(
    op: string,
    inputs: readonly (Value | null)[],
    build: () => { outputs: readonly Value[]; saved?: Readonly<Record<string, Value>> },
    settings: Readonly<Record<string, unknown>> = {},
  ): readonly Value[] {
    this.depth++
    let built
    try {
      built = build()
    } finally {
      this.depth--
    }
    if (this.depth === 0) {
      this.steps.push({ kind: 'composite', op, inputs, outputs: built.outputs, saved: built.saved ?? {}, settings })
    }
    return built.outputs
  }

  /** Run-time value of a dimension as an int64 vector of one element. */
  dim(dim: Dim): Value {
    if (typeof dim === 'number') return this.ints([dim])
    const known = this.findDim(dim)
    if (known) return known
    let made: Value
    if (dim.includes('+')) made = this.fold('Add', dim.split('+'))
    else if (dim.includes('*')) made = this.fold('Mul', dim.split('*'))
    else {
      const source = this.findSource(dim)
      if (!source) throw new GraphError('dim', `no input introduces the dimension "${dim}"`)
      const shape = this.plain('Shape', [source.value], 'int64', [source.value.shape.length])
      made = this.plain('Gather', [shape, this.ints([source.axis])], 'int64', [1])
    }
    this.dims.set(dim, made)
    return made
  }

  private fold(op: string, parts: readonly string[]): Value {
    const values = parts.map((p) => this.dim(/^\d+$/.test(p) ? Number(p) : p))
    return values.reduce((a, b) => this.plain(op, [a, b], 'int64', [1]))
  }

  /** Makes the value an output of a nested graph: itself where this graph computes it, else a copy. */
  result(value: Value): void {
    const own = this.nodes.some((n) => n.outputs.includes(value)) && !this.outputs.includes(value)
    this.output(value, own ? value.name : this.freshName('result'))
  }

  /** A node that differentiation never sees (shape arithmetic). */
  private plain(op: string, inputs: readonly Value[], dtype: DType, shape: Shape): Value {
    const made = this.value(op, dtype, shape)
    this.nodes.push({ kind: 'node', op, domain: '', inputs, outputs: [made], attributes: {} })
    return made
  }

  /** Declares where a symbol that no input introduces has its value (e.g. a length computed in the graph). */
  bindDim(symbol: string, value: Value): void {
    this.dims.set(symbol, value)
  }

  /** What has the value of a dimension at run time, where something in this graph computes it. */
  computedDim(dim: string): Value | undefined {
    return this.dims.get(dim)
  }

  private findDim(dim: string): Value | undefined {
    return this.dims.get(dim) ?? this.parent?.findDim(dim)
  }

  private findSource(dim: string): { value: Value; axis: number } | undefined {
    return this.dimSources.get(dim) ?? this.parent?.findSource(dim)
  }

  /** Run-time int64 vector for a shape. */
  shapeVector(shape: Shape): Value {
    if (shape.every((d) => typeof d === 'number')) return this.ints(shape as number[])
    const key = `shape:${shape.join(',')}`
    const known = this.findDim(key)
    if (known) return known
    const made = this.node0('Concat', shape.map((d) => this.dim(d)), shape.length)
    this.dims.set(key, made)
    return made
  }

  private node0(op: string, inputs: readonly Value[], n: number): Value {
    const made = this.value(op, 'int64', [n])
    this.nodes.push({ kind: 'node', op, domain: '', inputs, outputs: [made], attributes: { axis: { kind: 'int', value: 0 } } })
    return made
  }

  /** All nodes, nested graphs included. */
  *allNodes(): Generator<Node> {
    for (const n of this.nodes) {
      yield n
      for (const a of Object.values(n.attributes)) if (a.kind === 'graph') yield* a.value.allNodes()
    }
  }
}

export const int = (value: number): Attribute => ({ kind: 'int', value })
export const float = (value: number): Attribute => ({ kind: 'float', value })
export const ints = (value: readonly number[]): Attribute => ({ kind: 'ints', value })
export const string = (value: string): Attribute => ({ kind: 'string', value })
export const graphAttribute = (value: Graph): Attribute => ({ kind: 'graph', value })

/** Sum of two dimensions, in a canonical spelling. */
export function dimSum(...dims: readonly Dim[]): Dim {
  let constant = 0
  const symbols: string[] = []
  for (const d of dims) {
    if (typeof d === 'number') constant += d
    else for (const part of d.split('+')) /^\d+$/.test(part) ? (constant += Number(part)) : symbols.push(part)
  }
  if (!symbols.length) return constant
  return [...symbols, ...(constant ? [String(constant)] : [])].join('+')
}

/** Product of dimensions; factors must not be sums. */
export function dimProduct(...dims: readonly Dim[]): Dim {
  let constant = 1
  const symbols: string[] = []
  for (const d of dims) {
    if (typeof d === 'number') constant *= d
    else if (d.includes('+')) throw new GraphError('dimProduct', `cannot multiply the sum "${d}"`)
    else for (const part of d.split('*')) /^\d+$/.test(part) ? (constant *= Number(part)) : symbols.push(part)
  }
  if (!symbols.length) return constant
  return [...symbols, ...(constant !== 1 ? [String(constant)] : [])].join('*')
}

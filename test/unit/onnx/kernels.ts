/** Which nodes of a graph a provider has a kernel for, by the transcribed tables of golden/ort-kernels.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DType, Graph, Node } from '../../../src-main/engine/onnx/graph'

interface Row {
  since: number
  until: number | null
  types: Record<string, string[]>
}
type Provider = 'cpu' | 'cuda'

const tables = JSON.parse(readFileSync(join(import.meta.dirname, '../../golden/ort-kernels.json'), 'utf8')) as {
  ops: Record<string, Record<Provider, Row[]>>
  /** Rows of a later version of the tables: for operators that the first one is too old to know. */
  newer: { ops: Record<string, Record<Provider, Row[] | null>> }
}

/** Version of each operator's schema in opset 18 (onnx changelog). */
const schemaVersions: Record<string, number> = {
  Add: 14, And: 7, ArgMax: 13, Cast: 13, Concat: 13, ConstantOfShape: 9, Conv: 11, Cos: 7, CumSum: 14, Div: 14, Equal: 13, Erf: 13, Exp: 13, Expand: 13,
  Gather: 13, GatherElements: 13, Gemm: 13, Greater: 13, GreaterOrEqual: 16, Identity: 16, If: 16, LayerNormalization: 17, Less: 13, LessOrEqual: 16,
  Log: 13, LogSoftmax: 13, Loop: 16, MatMul: 13, Max: 13, Min: 13, Mul: 14, Neg: 13, Not: 1, Or: 7, Range: 11, ReduceMax: 18, ReduceMean: 18,
  ReduceSum: 13, Reshape: 14, Scan: 16, ScatterElements: 18, ScatterND: 18, Shape: 15, Sigmoid: 13, SimplifiedLayerNormalization: 1, Sin: 7, Slice: 13, Softmax: 13, Softplus: 1,
  Split: 18, Sqrt: 13, Squeeze: 13, Sub: 14, Tanh: 13, TopK: 11, Transpose: 13, Unsqueeze: 13, Where: 16,
}

const short: Record<DType, string> = { float32: 'f32', float16: 'f16', bfloat16: 'bf16', int64: 'i64', int32: 'i32', bool: 'bool' }

/**
 * Which inputs (i) and outputs (o) each type variable of an operator stands for (onnx and ONNX Runtime's schemas). Operators that
 * are not here have one variable, T, for all of them.
 */
const typed: Record<string, Record<string, readonly string[]>> = {
  And: { T: ['i'], T1: ['o'] },
  ArgMax: { T: ['i'] },
  Cast: { T1: ['i'], T2: ['o'] },
  ConstantOfShape: { T1: ['i'], T2: ['o'] },
  CumSum: { T: ['i0', 'o'], T2: ['i1'] },
  Equal: { T: ['i'], T1: ['o'] },
  Expand: { T: ['i0', 'o'] },
  Gather: { T: ['i0', 'o'], Tind: ['i1'] },
  GatherElements: { T: ['i0', 'o'], Tind: ['i1'] },
  Greater: { T: ['i'], T1: ['o'] },
  GreaterOrEqual: { T: ['i'], T1: ['o'] },
  GroupQueryAttention: {
    T: ['i0', 'i1', 'i2', 'i7', 'i8', 'i10', 'o0'],
    T_CACHE: ['i3', 'i4', 'o1', 'o2'],
    M: ['i5', 'i6'],
    T_KV_SCALE: ['i12', 'i13'],
  },
  Identity: { V: ['i', 'o'] },
  If: { B: ['i'], V: ['o'] },
  LayerNormalization: { T: ['i', 'o0'], U: ['o1', 'o2'] },
  Less: { T: ['i'], T1: ['o'] },
  LessOrEqual: { T: ['i'], T1: ['o'] },
  LinearAttention: { T: ['i0', 'i1', 'i2', 'i4', 'i5', 'o0'], S: ['i3', 'o1'] },
  Loop: { I: ['i0'], B: ['i1'], V: ['i2+', 'o'] },
  Or: { T: ['i'], T1: ['o'] },
  ReduceMax: { T: ['i0', 'o'] },
  ReduceMean: { T: ['i0', 'o'] },
  ReduceSum: { T: ['i0', 'o'] },
  Reshape: { T: ['i0', 'o'], shape: ['i1'] },
  RotaryEmbedding: { T: ['i0', 'i2+', 'o'], M: ['i1'] },
  Scan: { V: ['i', 'o'] },
  ScatterElements: { T: ['i0', 'i2', 'o'], Tind: ['i1'] },
  ScatterND: { T: ['i0', 'i2', 'o'] },
  Shape: { T: ['i'], T1: ['o'] },
  SimplifiedLayerNormalization: { T: ['i0'], V: ['i1', 'o0'], U: ['o1'] },
  Slice: { T: ['i0', 'o'], Tind: ['i1+'] },
  Split: { T: ['i0', 'o'] },
  Squeeze: { T: ['i0', 'o'] },
  TopK: { T: ['i0', 'o0'], I: ['o1'] },
  Unsqueeze: { T: ['i0', 'o'] },
  Where: { B: ['i0'], T: ['i1+', 'o'] },
}
const oneType = { T: ['i', 'o'] }

/** The dtypes of a node that a type variable stands for, each once. `i2+`: inputs from the third on. */
function typesAt(n: Node, places: readonly string[]): string[] {
  const found = places.flatMap((place) => {
    const all = place[0] === 'i' ? n.inputs : n.outputs
    const from = place.slice(1).replace('+', '')
    if (from === '') return all
    return place.endsWith('+') ? all.slice(Number(from)) : all.slice(Number(from), Number(from) + 1)
  })
  return [...new Set(found.flatMap((value) => (value ? [short[value.dtype]] : [])))]
}

/**
 * What the provider lacks: operator, type variable and type, each once, sorted. An operator, or a type variable of one, that nothing
 * is known of throws.
 */
export function missingKernels(graph: Graph, provider: Provider): string[] {
  const missing = new Set<string>()
  for (const n of graph.allNodes()) {
    const key = `${n.domain || 'ai.onnx'}:${n.op}`
    const known = tables.ops[key]
    const rows = known && 'absent_here' in known ? tables.newer.ops[key]?.[provider] : known?.[provider]
    if (!rows) throw new Error(`the kernel tables have no row for ${key}`)
    const version = n.domain ? 1 : schemaVersions[n.op]
    if (version === undefined) throw new Error(`the schema version of ${n.op} is not listed`)
    const kernels = rows.filter((r) =>
      r.until === null ? r.since === version : r.since <= version && version <= r.until,
    )
    const lacks = kernels.map((r) => unfit(n, r))
    if (lacks.length === 0) missing.add(`${n.op} ${version}`)
    else if (!lacks.some((l) => l.length === 0)) for (const l of lacks[0]) missing.add(`${n.op} ${l}`)
  }
  return [...missing].sort()
}

/** Type variables of the row that do not allow what the node has. A variable that the row does not print allows everything. */
function unfit(n: Node, { types }: Row): string[] {
  const places: Record<string, readonly string[]> = typed[n.op] ?? oneType
  return Object.entries(types).flatMap(([variable, allowed]) => {
    if (!places[variable]) throw new Error(`nothing says what ${variable} of ${n.op} stands for`)
    return typesAt(n, places[variable]).flatMap((type) => (allowed.includes(type) ? [] : [`${variable} ${type}`]))
  })
}

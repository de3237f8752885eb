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
}

/** Version of each operator's schema in opset 18 (onnx changelog). */
const schemaVersions: Record<string, number> = {
  Add: 14, And: 7, ArgMax: 13, Cast: 13, Concat: 13, ConstantOfShape: 9, Cos: 7, CumSum: 14, Div: 14, Equal: 13, Erf: 13, Exp: 13, Expand: 13,
  Gather: 13, GatherElements: 13, Gemm: 13, Greater: 13, GreaterOrEqual: 16, Identity: 16, If: 16, LayerNormalization: 17, Less: 13, LessOrEqual: 16,
  Log: 13, LogSoftmax: 13, Loop: 16, MatMul: 13, Max: 13, Min: 13, Mul: 14, Neg: 13, Not: 1, Or: 7, Range: 11, ReduceMax: 18, ReduceMean: 18,
  ReduceSum: 13, Reshape: 14, ScatterElements: 18, ScatterND: 18, Shape: 15, Sigmoid: 13, SimplifiedLayerNormalization: 1, Sin: 7, Slice: 13, Softmax: 13,
  Split: 18, Sqrt: 13, Squeeze: 13, Sub: 14, Tanh: 13, TopK: 11, Transpose: 13, Unsqueeze: 13, Where: 16,
}

const short: Record<DType, string> = { float32: 'f32', float16: 'f16', bfloat16: 'bf16', int64: 'i64', int32: 'i32', bool: 'bool' }

/** The dtype that the kernel's main type variable stands for. */
function mainType(n: Node): DType {
  if (n.op === 'Where') return n.inputs[1]!.dtype
  if (n.op === 'ConstantOfShape') return n.outputs[0].dtype
  return n.inputs[0]!.dtype
}

/** Operators (with dtype) that the provider lacks, each once, sorted; an operator the tables do not know throws. */
export function missingKernels(graph: Graph, provider: Provider): string[] {
  const missing = new Set<string>()
  for (const n of graph.allNodes()) {
    const key = `${n.domain || 'ai.onnx'}:${n.op}`
    const rows = tables.ops[key]?.[provider]
    if (!rows) throw new Error(`the kernel tables have no row for ${key}`)
    const version = n.domain ? 1 : schemaVersions[n.op]
    if (version === undefined) throw new Error(`the schema version of ${n.op} is not listed`)
    const type = short[mainType(n)]
    const fits = rows.some((r) => {
      const inRange = r.until === null ? r.since === version : r.since <= version && version <= r.until
      const types = n.op === 'ConstantOfShape' ? r.types.T2 : (r.types.T ?? r.types.T1 ?? r.types.V)
      return inRange && (n.op === 'If' || n.op === 'Loop' || !types || types.includes(type))
    })
    if (!fits) missing.add(`${n.op} ${type}`)
  }
  return [...missing].sort()
}

/** A graph as ONNX bytes, through the protobuf library. External data is named relative to one folder. */
import { relative, sep } from 'node:path'
// CommonJS without named exports that Node could see: only its default export can be imported
import onnxProto, { type onnx } from 'onnx-proto'
import type { Attribute, DType, Graph, Initializer, Node, Value } from './graph'

const OPSET = 18
const IR_VERSION = 8

const dtypeCodes: Record<DType, number> = { float32: 1, int32: 6, int64: 7, bool: 9, float16: 10, bfloat16: 16 }

/** Bytes of a model. `weightsFolder`: absolute folder that holds every external file (no ".." may be needed). */
export function serialize(graph: Graph, weightsFolder: string | null): Uint8Array {
  const { ModelProto } = onnxProto.onnx
  const model = ModelProto.create({
    irVersion: IR_VERSION,
    producerName: 'recursivemas-studio',
    opsetImport: [
      { domain: '', version: OPSET },
      { domain: 'com.microsoft', version: 1 },
    ],
    graph: graphProto(graph, weightsFolder),
  })
  return ModelProto.encode(model).finish()
}

function graphProto(graph: Graph, folder: string | null): onnx.IGraphProto {
  return {
    name: graph.label,
    node: graph.nodes.map((n) => nodeProto(n, folder)),
    input: [...graph.inputs, ...keptAsTheyAre(graph)].map(valueInfo),
    output: graph.outputs.map(valueInfo),
    initializer: graph.initializers.map((i) => tensorProto(i, folder)),
  }
}

/**
 * Where the runtime rearranges weights it does so with all constants. An initializer that is listed as an input too is no
 * constant to it (callers could feed another), and need not be fed.
 */
function keptAsTheyAre(graph: Graph): Value[] {
  if (!graph.isPacked || graph.parent) return []
  return graph.initializers.filter((i) => i.data.kind === 'external' && !i.packed).map((i) => i.value)
}

function valueInfo(v: Value): onnx.IValueInfoProto {
  return {
    name: v.name,
    type: {
      tensorType: {
        elemType: dtypeCodes[v.dtype],
        // symbols of nested graphs differ in extent from iteration to iteration: leave them unnamed
        shape: { dim: v.shape.map((d) => (typeof d === 'number' ? { dimValue: d } : {})) },
      },
    },
  }
}

function nodeProto(n: Node, folder: string | null): onnx.INodeProto {
  return {
    opType: n.op,
    domain: n.domain,
    name: n.outputs[0].name,
    input: n.inputs.map((v) => v?.name ?? ''),
    output: n.outputs.map((v) => v.name),
    attribute: Object.entries(n.attributes).map(([name, a]) => attributeProto(name, a, folder)),
  }
}

function attributeProto(name: string, a: Attribute, folder: string | null): onnx.IAttributeProto {
  const T = onnxProto.onnx.AttributeProto.AttributeType
  switch (a.kind) {
    case 'int':
      return { name, type: T.INT, i: a.value }
    case 'float':
      return { name, type: T.FLOAT, f: a.value }
    case 'ints':
      return { name, type: T.INTS, ints: [...a.value] }
    case 'string':
      return { name, type: T.STRING, s: new TextEncoder().encode(a.value) }
    case 'graph':
      return { name, type: T.GRAPH, g: graphProto(a.value, folder) }
    default: {
      const never: never = a
      return never
    }
  }
}

function tensorProto(i: Initializer, folder: string | null): onnx.ITensorProto {
  const base = { name: i.value.name, dataType: dtypeCodes[i.value.dtype], dims: i.value.shape as number[] }
  if (i.data.kind === 'inline') {
    const d = i.data.data
    return { ...base, rawData: new Uint8Array(d.buffer, d.byteOffset, d.byteLength) }
  }
  if (folder === null) throw new Error(`initializer ${i.value.name} is external but no folder was given`)
  const { file, offset, length } = i.data.data
  return {
    ...base,
    dataLocation: onnxProto.onnx.TensorProto.DataLocation.EXTERNAL,
    externalData: [
      { key: 'location', value: relative(folder, file).split(sep).join('/') },
      { key: 'offset', value: String(offset) },
      { key: 'length', value: String(length) },
    ],
  }
}

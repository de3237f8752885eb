/**
 * Where a graph's weights come from: files, referenced in place, or graph inputs (full-weight training).
 * Matrices come in the compute type, vectors in float32; a type that differs from the file's is cast once in the
 * outermost graph, where the runtime folds the cast at session creation.
 */
import { UserError } from '../errors'
import type { Dtype } from '../formats/dtypes'
import { indexed, openModelWeights, type WeightIndex } from '../formats/model-weights'
import type { TensorLocation } from '../formats/safetensors'
import type { DType, Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'

/** Prefixes under which a model with other parts beside its text keeps the latter, and what they are without them. */
const wrappers: readonly (readonly [RegExp, string])[] = [
  [/^language_model\.(?=(model|lm_head)\.)/, ''],
  [/^model\.language_model\./, 'model.'],
]

/** The name that a text tensor has in a model of text alone. */
export function textTensorName(name: string): string {
  return wrappers.reduce((n, [prefix, instead]) => n.replace(prefix, instead), name)
}

/** The tensors of a folder's text model, named as in a model of text alone; vision and other parts are left out. */
export async function openTextWeights(folder: string): Promise<WeightIndex> {
  const all = [...(await openModelWeights(folder)).tensors]
  const isWrapper = all.some(([name]) => wrappers.some(([prefix]) => prefix.test(name)))
  const named = all.flatMap(([name, location]) => {
    const plain = textTensorName(name)
    // beside a wrapped text model only the head keeps a plain name
    const isText = isWrapper && plain === name ? name.startsWith('lm_head.') : /^(model|lm_head)\./.test(plain)
    return isText ? [[plain, location] as const] : []
  })
  return indexed(new Map(named))
}

export type ComputeType = 'float32' | 'float16' | 'bfloat16'

export interface WeightSource {
  /** [rows, columns] in the compute type. */
  matrix(name: string, rows: number, columns: number): Value
  /** [size] in float32, plus a number (always the same for one name). */
  vector(name: string, size: number, offset?: number): Value
  /** Of any shape, in float32. */
  tensor(name: string, shape: readonly number[]): Value
}

const dtypes: Partial<Record<Dtype, DType>> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' }

/** Weights of a checkpoint, by the names its files use; each is an initializer once, however often it is asked for. */
export class FileWeights implements WeightSource {
  private readonly made = new Map<string, Value>()

  constructor(
    private readonly root: Graph,
    private readonly index: WeightIndex,
    private readonly compute: ComputeType,
  ) {}

  matrix(name: string, rows: number, columns: number): Value {
    return this.get(name, [rows, columns], this.compute)
  }

  vector(name: string, size: number, offset = 0): Value {
    return this.get(name, [size], 'float32', offset)
  }

  tensor(name: string, shape: readonly number[]): Value {
    return this.get(name, shape, 'float32')
  }

  /**
   * The same weights for products of few rows that are done over and over: matrices that the runtime keeps once more, in the
   * order in which it reads them. They belong to `parent`, the graph in which the loop stands: the runtime
   * rearranges constants of a loop's own graph or of the one around it, not of those further out. float32 files only.
   */
  packedIn(parent: Graph): WeightSource {
    const made = new Map<string, Value>()
    const matrix = (name: string, rows: number, columns: number) => {
      const location = findTensor(this.index, name, [rows, columns])
      if (location.dtype !== 'F32' || this.compute !== 'float32') return this.matrix(name, rows, columns)
      const { file, offset, length } = location
      const data = { kind: 'external', data: { file, offset, length } } as const
      const value = made.get(name) ?? parent.initializer(parent.freshName(name), 'float32', [rows, columns], data, true)
      made.set(name, value)
      return value
    }
    return {
      matrix,
      vector: (name, size, offset) => this.vector(name, size, offset),
      tensor: (name, shape) => this.tensor(name, shape),
    }
  }

  private get(name: string, shape: readonly number[], dtype: DType, offset = 0): Value {
    const known = this.made.get(name)
    if (known) return known
    const location = findTensor(this.index, name, shape)
    const stored = this.root.initializer(name, dtypes[location.dtype]!, shape, {
      kind: 'external',
      data: { file: location.file, offset: location.offset, length: location.length },
    })
    const value = plus(this.root, op.cast(this.root, stored, dtype), offset)
    this.made.set(name, value)
    return value
  }
}

const plus = (g: Graph, x: Value, offset: number) => (offset === 0 ? x : op.addScalar(g, x, offset))

/** The tensor of that name, checked against the shape that config.json implies. */
export function findTensor(index: WeightIndex, name: string, shape: readonly number[]): TensorLocation {
  const location = index.tensors.get(name)
  if (!location) {
    throw new UserError({
      what: 'The model is incomplete.',
      why: `Its weight files hold no tensor "${name}", which config.json asks for.`,
      next: 'Get the model again, or check that config.json belongs to these weights.',
    })
  }
  if (location.shape.length !== shape.length || location.shape.some((d, i) => d !== shape[i])) {
    throw new UserError({
      what: 'The weights contradict config.json.',
      why: `Tensor "${name}" in ${location.file} has shape [${location.shape.join(', ')}], but config.json implies [${shape.join(', ')}].`,
      next: 'Use a config.json and weights that belong together.',
    })
  }
  if (!dtypes[location.dtype]) {
    throw new UserError({
      what: 'The weights have a type that is not supported.',
      why: `Tensor "${name}" in ${location.file} is ${location.dtype}; supported are F32, F16 and BF16.`,
      next: 'Choose a version of the model that is not quantised.',
    })
  }
  return location
}

/** Weights that are fed with every run, by the same names: for gradients with respect to them. float32. */
export class InputWeights implements WeightSource {
  /** In order of first use. */
  readonly inputs = new Map<string, Value>()
  private readonly moved = new Map<string, Value>()

  constructor(private readonly root: Graph) {}

  matrix(name: string, rows: number, columns: number): Value {
    return this.get(name, [rows, columns])
  }

  vector(name: string, size: number, offset = 0): Value {
    const known = this.moved.get(name)
    if (known) return known
    const value = plus(this.root, this.get(name, [size]), offset)
    this.moved.set(name, value)
    return value
  }

  tensor(name: string, shape: readonly number[]): Value {
    return this.get(name, shape)
  }

  private get(name: string, shape: readonly number[]): Value {
    const known = this.inputs.get(name)
    if (known) return known
    const value = this.root.input(name, 'float32', shape)
    this.inputs.set(name, value)
    return value
  }
}

/**
 * Where a graph's weights come from: files, referenced in place, or graph inputs (full-weight training).
 * Matrices come in the compute type, vectors in float32; a type that differs from the file's is cast once in the
 * outermost graph, where the runtime folds the cast at session creation.
 */
import { UserError } from '../errors'
import type { Dtype } from '../formats/dtypes'
import type { WeightIndex } from '../formats/model-weights'
import type { TensorLocation } from '../formats/safetensors'
import type { DType, Graph, Value } from '../onnx/graph'
import * as op from '../onnx/ops'

export type ComputeType = 'float32' | 'float16' | 'bfloat16'

export interface WeightSource {
  /** [rows, columns] in the compute type. */
  matrix(name: string, rows: number, columns: number): Value
  /** [size] in float32. */
  vector(name: string, size: number): Value
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

  vector(name: string, size: number): Value {
    return this.get(name, [size], 'float32')
  }

  private get(name: string, shape: readonly number[], dtype: DType): Value {
    const known = this.made.get(name)
    if (known) return known
    const location = findTensor(this.index, name, shape)
    const stored = this.root.initializer(name, dtypes[location.dtype]!, shape, {
      kind: 'external',
      data: { file: location.file, offset: location.offset, length: location.length },
    })
    const value = op.cast(this.root, stored, dtype)
    this.made.set(name, value)
    return value
  }
}

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

  constructor(private readonly root: Graph) {}

  matrix(name: string, rows: number, columns: number): Value {
    return this.get(name, [rows, columns])
  }

  vector(name: string, size: number): Value {
    return this.get(name, [size])
  }

  private get(name: string, shape: readonly number[]): Value {
    const known = this.inputs.get(name)
    if (known) return known
    const value = this.root.input(name, 'float32', shape)
    this.inputs.set(name, value)
    return value
  }
}

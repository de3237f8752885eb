/** What torch's pickles of tensors consist of: storages named by persistent ids, and tensors as strided views of them. */
import { type Dtype, dtypeBytes, elementCount } from './dtypes'
import { type Foreign, PickleRefusal, type PickleRules, type PickleValue, PyDict, PyGlobal, PyTuple } from './pickle'

/** A run of elements that tensors look into. */
export class TorchStorage implements Foreign {
  readonly foreign = true
  constructor(
    readonly key: string,
    readonly dtype: Dtype,
    /** Elements. */
    readonly count: number,
  ) {}

  get bytes(): number {
    return this.count * dtypeBytes[this.dtype]
  }
}

/** A view of a storage that has been checked to lie within it. */
export class TorchTensor implements Foreign {
  readonly foreign = true
  constructor(
    readonly storage: TorchStorage,
    /** Elements from the storage's start. */
    readonly offset: number,
    readonly shape: readonly number[],
    /** Elements from one index to the next, by axis. */
    readonly strides: readonly number[],
  ) {}
}

const storageTypes: Record<string, Dtype | undefined> = {
  'torch.FloatStorage': 'F32',
  'torch.HalfStorage': 'F16',
  'torch.BFloat16Storage': 'BF16',
  'torch.DoubleStorage': 'F64',
  'torch.LongStorage': 'I64',
  'torch.IntStorage': 'I32',
  'torch.ShortStorage': 'I16',
}

/** Known, so that the refusal can say what they are. */
const otherStorages = new Set(
  ['Char', 'Byte', 'Bool', 'ComplexFloat', 'ComplexDouble', 'QInt8', 'QUInt8', 'QInt32'].map(
    (t) => `torch.${t}Storage`,
  ),
)

/** No link has more than two; more axes than this are a trick, and their product might be no number. */
const mostAxes = 16

const orderedDict = 'collections.OrderedDict'
const rebuildTensor = 'torch._utils._rebuild_tensor_v2'
const rebuildParameter = 'torch._utils._rebuild_parameter'

/** The rules for state dictionaries. */
export const torchRules: PickleRules = {
  globals: new Set([orderedDict, rebuildTensor, rebuildParameter, ...Object.keys(storageTypes), ...otherStorages]),
  call(name, args) {
    switch (name) {
      case orderedDict:
        if (args.length !== 0) throw new PickleRefusal('fills an OrderedDict in an unusual way')
        return new PyDict()
      case rebuildTensor:
        return tensorOf(args)
      case rebuildParameter:
        if (!(args[0] instanceof TorchTensor)) throw new PickleRefusal('has a parameter that is no tensor')
        return args[0]
      default:
        throw new PickleRefusal(`calls ${name}`)
    }
  },
  persistent(id) {
    // ("storage", type, key, location, elements), in the old format with a sixth part for views of storages.
    const parts = id instanceof PyTuple ? id.items : []
    const [kind, type, key, location, count, view = null] = parts
    if (type instanceof PyGlobal && otherStorages.has(type.name))
      throw new PickleRefusal(`has tensors of type ${type.name}, which no link has`)
    const dtype = type instanceof PyGlobal ? storageTypes[type.name] : undefined
    if (
      kind !== 'storage' ||
      !dtype ||
      typeof key !== 'string' ||
      typeof location !== 'string' ||
      !isCount(count) ||
      parts.length > 6
    )
      throw new PickleRefusal('refers to a storage in an unknown way')
    if (view !== null) throw new PickleRefusal('has views of storages, which only very old torch wrote')
    return new TorchStorage(key, dtype, count)
  },
}

function tensorOf(args: readonly PickleValue[]): TorchTensor {
  const [storage, offset, size, stride] = args
  const shape = size instanceof PyTuple ? size.items : null
  const strides = stride instanceof PyTuple ? stride.items : null
  if (
    !(storage instanceof TorchStorage) ||
    !isCount(offset) ||
    !shape?.every(isCount) ||
    !strides?.every(isCount) ||
    shape.length !== strides.length
  )
    throw new PickleRefusal('describes a tensor in an unknown way')
  if (shape.length > mostAxes) throw new PickleRefusal(`has a tensor of ${shape.length} axes`)
  const count = elementCount(shape)
  const last = shape.reduce((n, d, axis) => n + (d - 1) * strides[axis], offset)
  const what = `has a tensor of shape [${shape.join(', ')}] and strides [${strides.join(', ')}] from element ${offset}`
  if (count > 0 && last >= storage.count)
    throw new PickleRefusal(`${what}, which reaches outside its storage of ${storage.count} elements`)
  // Repeating views (stride 0) could describe far more than the file holds; links have none.
  if (count > storage.count)
    throw new PickleRefusal(`${what}, which repeats the ${storage.count} elements of its storage`)
  return new TorchTensor(storage, offset, shape, strides)
}

function isCount(value: PickleValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

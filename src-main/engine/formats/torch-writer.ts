/** Writes named tensors of float32 values as `torch.save` writes a state dictionary, readable by `torch.load(weights_only=True)`. */
import { writeFileWhole } from './atomic-files'
import { elementCount } from './dtypes'
import { type FloatStorage, narrowExactly } from './half-precision'
import { zipChunks, type ZipMember } from './zip-writer'

export interface Float32Tensor {
  readonly shape: readonly number[]
  /** Row-major. */
  readonly data: Float32Array
}

/** Torch's names of the storages that tensors are written to. */
const storageNames: Record<FloatStorage, string> = { F32: 'FloatStorage', F16: 'HalfStorage', BF16: 'BFloat16Storage' }

/**
 * Writes the file whole; each tensor gets a storage of its own on the location "cpu". A half-precision `storage` takes only values
 * that it holds exactly.
 */
export async function writeTorchTensors(
  path: string,
  tensors: Iterable<readonly [name: string, tensor: Float32Tensor]>,
  storage: FloatStorage = 'F32',
): Promise<void> {
  await writeFileWhole(path, zipChunks(torchMembers([...tensors], storage)))
}

function torchMembers(tensors: readonly (readonly [string, Float32Tensor])[], storage: FloatStorage): ZipMember[] {
  const text = (name: string, content: string): ZipMember => ({ name: `archive/${name}`, data: Buffer.from(content) })
  return [
    { name: 'archive/data.pkl', data: statePickle(tensors, storage) },
    text('.format_version', '1'),
    text('.storage_alignment', '64'),
    text('byteorder', 'little'),
    ...tensors.map(([name, { data }], i) => ({ name: `archive/data/${i}`, data: storedBytes(name, data, storage) })),
    text('version', '3\n'),
  ]
}

function storedBytes(name: string, data: Float32Array, storage: FloatStorage): Uint8Array {
  const stored = storage === 'F32' ? data : narrowExactly(data, storage)
  if (!stored) throw new Error(`tensor ${name} has values that ${storage} does not hold`)
  return new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength)
}

/** An OrderedDict of tensors, protocol 2: the instructions that torch's own restricted reader admits. */
function statePickle(tensors: readonly (readonly [string, Float32Tensor])[], stored: FloatStorage): Buffer {
  const emptyDict = Buffer.concat([global('collections', 'OrderedDict'), ascii(')R')])
  const entries = tensors.map(([name, { shape, data }], i) => {
    if (elementCount(shape) !== data.length)
      throw new Error(`tensor ${name}: shape [${shape}] has not ${data.length} elements`)
    const strides = shape.map((_, axis) => elementCount(shape.slice(axis + 1)))
    const storage = tuple([
      unicode('storage'),
      global('torch', storageNames[stored]),
      unicode(String(i)),
      unicode('cpu'),
      integer(data.length),
    ])
    const noGradient = ascii('\x89')
    return Buffer.concat([
      unicode(name),
      global('torch._utils', '_rebuild_tensor_v2'),
      tuple([
        storage,
        ascii('Q'),
        integer(0),
        tuple(shape.map(integer)),
        tuple(strides.map(integer)),
        noGradient,
        emptyDict,
      ]),
      ascii('R'),
    ])
  })
  return Buffer.concat([ascii('\x80\x02'), emptyDict, ascii('('), ...entries, ascii('u.')])
}

function tuple(parts: readonly Buffer[]): Buffer {
  return Buffer.concat([ascii('('), ...parts, ascii('t')])
}

function global(module: string, name: string): Buffer {
  return ascii(`c${module}\n${name}\n`)
}

function unicode(text: string): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([ascii('X'), length, bytes])
}

/** A whole number from 0 to 2^31 - 1; a link's largest matrix stays far below. */
function integer(value: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes.write('J', 'latin1')
  bytes.writeInt32LE(value, 1)
  return bytes
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

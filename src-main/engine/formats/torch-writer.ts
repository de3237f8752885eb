/** Writes named float32 tensors as `torch.save` writes a state dictionary, readable by `torch.load(weights_only=True)`. */
import { writeFileWhole } from './atomic-files'
import { elementCount } from './dtypes'
import { zipChunks, type ZipMember } from './zip-writer'

export interface Float32Tensor {
  readonly shape: readonly number[]
  /** Row-major. */
  readonly data: Float32Array
}

/** Writes the file whole; each tensor gets a storage of its own on the location "cpu". */
export async function writeTorchTensors(
  path: string,
  tensors: Iterable<readonly [name: string, tensor: Float32Tensor]>,
): Promise<void> {
  await writeFileWhole(path, zipChunks(torchMembers([...tensors])))
}

function torchMembers(tensors: readonly (readonly [string, Float32Tensor])[]): ZipMember[] {
  const text = (name: string, content: string): ZipMember => ({ name: `archive/${name}`, data: Buffer.from(content) })
  return [
    { name: 'archive/data.pkl', data: statePickle(tensors) },
    text('.format_version', '1'),
    text('.storage_alignment', '64'),
    text('byteorder', 'little'),
    ...tensors.map(([, { data }], i) => ({
      name: `archive/data/${i}`,
      data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    })),
    text('version', '3\n'),
  ]
}

/** An OrderedDict of tensors, protocol 2: the instructions that torch's own restricted reader admits. */
function statePickle(tensors: readonly (readonly [string, Float32Tensor])[]): Buffer {
  const emptyDict = Buffer.concat([global('collections', 'OrderedDict'), ascii(')R')])
  const entries = tensors.map(([name, { shape, data }], i) => {
    if (elementCount(shape) !== data.length)
      throw new Error(`tensor ${name}: shape [${shape}] has not ${data.length} elements`)
    const strides = shape.map((_, axis) => elementCount(shape.slice(axis + 1)))
    const storage = tuple([
      unicode('storage'),
      global('torch', 'FloatStorage'),
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

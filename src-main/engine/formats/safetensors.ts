/** Reading tensors out of .safetensors files into typed arrays, and writing such files whole. */
import { UserError } from '../errors'
import { type Chunk, writeFileWhole } from './atomic-files'
import { readRange, withFile } from './byte-reader'
import { decodeElements, elementCount, type HostTensor, isFloat32Exact, type TensorValue } from './dtypes'
import { readSafetensorsHeader, type TensorLocation } from './safetensors-header'

export { readSafetensorsHeader, type SafetensorsHeader, type TensorLocation } from './safetensors-header'

/** A floating-point tensor as float32, row-major; F16 and BF16 are widened exactly, other types are a UserError. */
export async function readFloat32(location: TensorLocation): Promise<Float32Array> {
  if (!isFloat32Exact(location.dtype)) throw unfit(location, 'F32, F16 or BF16 is needed')
  return (await readTensor(location)).data as Float32Array
}

/** An integer tensor as int64, row-major; floating-point types are a UserError. */
export async function readInt64(location: TensorLocation): Promise<BigInt64Array> {
  const { data } = await readTensor(location)
  if (!(data instanceof BigInt64Array)) throw unfit(location, 'an integer type is needed')
  return data
}

/** A tensor of any type that float32, float64 or int64 holds exactly. */
export async function readTensor(location: TensorLocation): Promise<HostTensor> {
  const { file, offset, length, dtype, shape, name } = location
  const bytes = await withFile(file, 'weights file', (handle) => readRange(handle, offset, length))
  if (!bytes)
    throw new UserError({
      what: 'A weights file is incomplete.',
      why: `${file} ends within tensor "${name}".`,
      next: 'Get the file again.',
    })
  const data = decodeElements(bytes, dtype)
  if (!data) throw unfit(location, 'this type cannot be read')
  return { dtype, shape, data }
}

/** All tensors of a (small) file by name, in the order of its header. */
export async function readSafetensors(
  path: string,
): Promise<{ tensors: Map<string, HostTensor>; metadata: Readonly<Record<string, string>> }> {
  const { tensors, metadata } = await readSafetensorsHeader(path)
  const values = new Map<string, HostTensor>()
  for (const [name, location] of tensors) values.set(name, await readTensor(location))
  return { tensors: values, metadata }
}

/** Writes a file that appears only when complete. Tensors keep their order; float32 -> F32, float64 -> F64, int64 -> I64. */
export async function writeSafetensors(
  path: string,
  tensors: Iterable<readonly [name: string, value: TensorValue]>,
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  await writeFileWhole(path, safetensorsChunks([...tensors], metadata))
}

function* safetensorsChunks(
  tensors: readonly (readonly [string, TensorValue])[],
  metadata: Readonly<Record<string, string>>,
): Iterable<Chunk> {
  const header: Record<string, unknown> = Object.create(null)
  if (Object.keys(metadata).length > 0) header.__metadata__ = metadata
  let end = 0
  for (const [name, { shape, data }] of tensors) {
    if (elementCount(shape) !== data.length)
      throw new Error(`tensor ${name}: shape [${shape}] has not ${data.length} elements`)
    if (name in header || name === '__metadata__') throw new Error(`tensor name ${name} is taken`)
    header[name] = { dtype: dtypeOf(data), shape, data_offsets: [end, end + data.byteLength] }
    end += data.byteLength
  }
  // The header is padded with spaces so that the data starts at a multiple of 8, where any element type may be mapped.
  const json = Buffer.from(JSON.stringify(header))
  const padded = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, ' ')])
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(padded.length))
  yield length
  yield padded
  for (const [, { data }] of tensors) yield new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

function dtypeOf(data: TensorValue['data']): 'F32' | 'F64' | 'I64' {
  return data instanceof Float32Array ? 'F32' : data instanceof Float64Array ? 'F64' : 'I64'
}

function unfit({ file, name, dtype }: TensorLocation, why: string): UserError {
  return new UserError({
    what: `Tensor "${name}" has the type ${dtype}.`,
    why: `In ${file}, ${why}.`,
    next: 'Use a file in which the tensor has such a type.',
  })
}

/**
 * Reads tensors from files that `torch.save` wrote, without running anything: the zip format with `data.pkl`, and the
 * older format of pickles in a row. Names and tensors are all that is accepted; memory stays within a small multiple of
 * the file's size.
 */
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import yauzl from 'yauzl'
import { UserError } from '../errors'
import { readRange, withFile } from './byte-reader'
import { readableFileSize } from './disk-errors'
import { decodeElements, dtypeBytes, elementCount, type HostTensor } from './dtypes'
import { PickleRefusal, type PickleValue, PyDict, PyList, readPickle } from './pickle'
import { torchRules, TorchStorage, TorchTensor } from './torch-objects'

/** Bytes. Pickles of state dictionaries are small, as the tensors lie outside them; what they may build takes about thirty times as much. */
const longestPickle = 2 * 2 ** 20

/** Of an archive; a link has about twenty, each of which takes memory whatever its size. */
const mostMembers = 10_000

/** Characters; names stand in messages. */
const longestName = 200

/** Tensors by name, in the file's order. A UserError names the file and says what is wrong with it. */
export async function readTorchTensors(file: string): Promise<Map<string, HostTensor>> {
  const size = await readableFileSize(file, 'link file')
  try {
    return await withFile(file, 'link file', async (handle) => {
      if (size === 0) throw new PickleRefusal('is empty')
      const start = await readRange(handle, 0, Math.min(size, 4))
      if (start?.[0] === 0x50 && start[1] === 0x4b) return readZipFormat(handle, size)
      if (start?.[0] === 0x80) return readLegacyFormat(handle, size)
      throw new PickleRefusal('is neither a zip archive nor in the older torch format')
    })
  } catch (error) {
    if (!(error instanceof PickleRefusal)) throw error
    throw new UserError(
      {
        what: 'The .pt file is refused.',
        why: `${file} ${error.message}.`,
        next: 'Use a file that holds named tensors only, as torch.save(module.state_dict(), path) writes it, or a .safetensors file.',
      },
      { cause: error },
    )
  }
}

/** Fetches the bytes of a storage. */
type StorageReader = (storage: TorchStorage) => Promise<Uint8Array<ArrayBuffer>>

// ---------------------------------------------------------------- zip

async function readZipFormat(handle: FileHandle, size: number): Promise<Map<string, HostTensor>> {
  const zip = await openZip(handle, size)
  try {
    const members = await listMembers(zip, size)
    const pickles = [...members.keys()].filter((name) => /^[^/]+\/data\.pkl$/.test(name))
    if (pickles.length !== 1)
      throw new PickleRefusal(`has ${pickles.length === 0 ? 'no' : 'more than one'} data.pkl in its archive`)
    const root = pickles[0].slice(0, -'data.pkl'.length)
    if (members.has(`${root}constants.pkl`)) throw new PickleRefusal('is a TorchScript program, not tensors')
    const read = (name: string, what: string): Promise<Uint8Array<ArrayBuffer>> =>
      readMember(zip, handle, members.get(name), name, what)
    if (members.has(`${root}byteorder`)) {
      const order = new TextDecoder().decode(await read(`${root}byteorder`, 'the byte order'))
      if (order !== 'little') throw new PickleRefusal(`has the byte order "${order.slice(0, 20)}", not "little"`)
    }
    const pickleBytes = members.get(pickles[0])?.uncompressedSize ?? 0
    if (pickleBytes > longestPickle)
      throw new PickleRefusal(`has a data.pkl of ${pickleBytes} bytes, far too long for names and shapes`)
    const { value } = readPickle(await read(pickles[0], 'data.pkl'), 0, torchRules)
    return await gather(stateOf(value), async (storage) => {
      const name = `${root}data/${storage.key}`
      const member = members.get(name)
      if (!member) throw new PickleRefusal(`lacks the data of storage ${storage.key} (${name})`)
      if (member.uncompressedSize !== storage.bytes)
        throw new PickleRefusal(
          `has ${member.uncompressedSize} bytes in storage ${storage.key}, where ${storage.bytes} are needed`,
        )
      return read(name, `storage ${storage.key}`)
    })
  } finally {
    zip.close()
  }
}

async function openZip(handle: FileHandle, size: number): Promise<yauzl.ZipFile> {
  const options = { lazyEntries: true, autoClose: false, strictFileNames: true }
  try {
    return await yauzl.fromRandomAccessReaderPromise(new BoundedReader(handle, size), size, options)
  } catch (error) {
    throw new PickleRefusal(`is cut short or not a sound zip archive (${(error as Error).message})`)
  }
}

/** Reads for yauzl. A damaged directory may point anywhere; places outside the file are an error and not, as with yauzl's own reader, an exception that nobody can catch. */
class BoundedReader extends yauzl.RandomAccessReader {
  constructor(
    private readonly handle: FileHandle,
    private readonly size: number,
  ) {
    super()
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    if (!Number.isSafeInteger(position) || position < 0 || position + length > this.size) {
      setImmediate(callback, new Error('its directory points outside the file'))
      return
    }
    readRange(this.handle, position, length).then(
      (bytes) => {
        if (bytes) buffer.set(bytes, offset)
        callback(bytes ? null : new Error('the file became shorter'))
      },
      (error: Error) => callback(error),
    )
  }

  override _readStreamForRange(): Readable {
    throw new Error('members are read by their place')
  }

  override close(callback: (error: Error | null) => void): void {
    setImmediate(callback, null)
  }
}

async function listMembers(zip: yauzl.ZipFile, size: number): Promise<Map<string, yauzl.Entry>> {
  if (zip.entryCount > mostMembers) throw new PickleRefusal(`has ${zip.entryCount} members in its archive`)
  const members = new Map<string, yauzl.Entry>()
  let bytes = 0
  try {
    for await (const entry of zip.eachEntry()) {
      if (members.has(entry.fileName)) throw new PickleRefusal(`has two members called ${entry.fileName}`)
      if (entry.isEncrypted()) throw new PickleRefusal(`has an encrypted member (${entry.fileName})`)
      if (entry.compressionMethod !== 0)
        throw new PickleRefusal(
          `has a compressed member, which torch never writes (${entry.fileName}: ${entry.compressedSize} bytes that would unpack to ${entry.uncompressedSize})`,
        )
      members.set(entry.fileName, entry)
      bytes += entry.compressedSize
    }
  } catch (error) {
    throw error instanceof PickleRefusal
      ? error
      : new PickleRefusal(`is not a sound zip archive (${(error as Error).message})`)
  }
  // Members that share bytes of the file could stand for far more than the file holds.
  if (bytes > size) throw new PickleRefusal('has members that overlap in its archive')
  return members
}

async function readMember(
  zip: yauzl.ZipFile,
  handle: FileHandle,
  entry: yauzl.Entry | undefined,
  name: string,
  what: string,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!entry) throw new PickleRefusal(`lacks ${name}`)
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true }).catch((error: Error) => {
    throw new PickleRefusal(`is not a sound zip archive (${error.message})`)
  })
  const bytes = await readRange(handle, fileDataStart, entry.uncompressedSize)
  if (!bytes) throw new PickleRefusal(`ends within ${what}`)
  if (crc32(bytes) !== entry.crc32) throw new PickleRefusal(`is damaged: the checksum of ${what} is wrong`)
  return bytes
}

// ---------------------------------------------------------------- older format

const legacyMagic = 0x1950a86a20f9469cfc6cn

/** Pickles in a row (magic number, version, system, state, storage keys), then each storage: its elements, its bytes. */
async function readLegacyFormat(handle: FileHandle, size: number): Promise<Map<string, HostTensor>> {
  const head = await readRange(handle, 0, Math.min(size, longestPickle))
  if (!head) throw new PickleRefusal('ends in the middle of its pickle')
  const magic = readPickle(head, 0, torchRules)
  if (magic.value !== legacyMagic) throw new PickleRefusal('is a plain pickle, not written by torch.save')
  const version = readPickle(head, magic.end, torchRules)
  if (version.value !== 1001)
    throw new PickleRefusal(`has version ${String(version.value)} of the older torch format, not 1001`)
  const system = readPickle(head, version.end, torchRules)
  if (!(system.value instanceof PyDict) || system.value.entries.get('little_endian') !== true)
    throw new PickleRefusal('was not written on a little-endian machine')
  const state = readPickle(head, system.end, torchRules)
  const keys = readPickle(head, state.end, torchRules)
  if (!(keys.value instanceof PyList)) throw new PickleRefusal('has no list of storages')
  const tensors = stateOf(state.value)
  const places = await placeStorages(handle, keys.end, keys.value.items, tensors)
  return gather(tensors, async (storage) => {
    const at = places.get(storage.key)
    if (at === undefined) throw new PickleRefusal(`lacks the data of storage ${storage.key}`)
    // before memory is taken for it: the count may say anything
    const bytes = at + storage.bytes > size ? null : await readRange(handle, at, storage.bytes)
    if (!bytes) throw new PickleRefusal(`ends within storage ${storage.key}`)
    return bytes
  })
}

async function placeStorages(
  handle: FileHandle,
  start: number,
  keys: readonly PickleValue[],
  tensors: ReadonlyMap<string, TorchTensor>,
): Promise<Map<string, number>> {
  const storages = new Map([...tensors.values()].map((t) => [t.storage.key, t.storage]))
  const places = new Map<string, number>()
  let at = start
  for (const key of keys) {
    const storage = typeof key === 'string' ? storages.get(key) : undefined
    if (!storage) throw new PickleRefusal('has a storage that no tensor uses')
    const count = await readRange(handle, at, 8)
    if (!count) throw new PickleRefusal(`ends before storage ${storage.key}`)
    if (new DataView(count.buffer).getBigInt64(0, true) !== BigInt(storage.count))
      throw new PickleRefusal(`has a storage (${storage.key}) of another size than its tensors need`)
    places.set(storage.key, at + 8)
    at += 8 + storage.bytes
  }
  return places
}

// ---------------------------------------------------------------- both

function stateOf(value: PickleValue): Map<string, TorchTensor> {
  if (!(value instanceof PyDict)) throw new PickleRefusal(`holds ${describe(value)} instead of named tensors`)
  const tensors = new Map<string, TorchTensor>()
  for (const [name, entry] of value.entries) {
    if (typeof name !== 'string') throw new PickleRefusal('has a tensor whose name is a number')
    if (name.length > longestName) throw new PickleRefusal(`has a tensor with a name of ${name.length} characters`)
    if (!(entry instanceof TorchTensor))
      throw new PickleRefusal(`holds ${describe(entry)} under ${JSON.stringify(name)} instead of a tensor`)
    tensors.set(name, entry)
  }
  return tensors
}

function describe(value: PickleValue): string {
  if (value instanceof PyDict) return 'a dictionary'
  if (value instanceof PyList) return 'a list'
  if (value instanceof TorchTensor) return 'a single tensor'
  if (value === null) return 'nothing'
  return typeof value === 'object' ? 'an object' : `a ${typeof value === 'bigint' ? 'number' : typeof value}`
}

async function gather(
  tensors: ReadonlyMap<string, TorchTensor>,
  read: StorageReader,
): Promise<Map<string, HostTensor>> {
  checkTotal([...tensors.values()])
  const bytes = new Map<string, Uint8Array<ArrayBuffer>>()
  const result = new Map<string, HostTensor>()
  for (const [name, tensor] of tensors) {
    const { storage, shape } = tensor
    const held = bytes.get(storage.key) ?? (await read(storage))
    bytes.set(storage.key, held)
    const data = decodeElements(contiguous(held, tensor), storage.dtype)
    if (!data) throw new PickleRefusal(`has tensors of type ${storage.dtype}`)
    result.set(name, { dtype: storage.dtype, shape, data })
  }
  return result
}

/** Many names may look into one storage, but a file whose tensors are far larger than its data is no honest one. */
function checkTotal(tensors: readonly TorchTensor[]): void {
  const storages = new Map<string, TorchStorage>()
  for (const { storage } of tensors) {
    const known = storages.get(storage.key)
    if (known && (known.dtype !== storage.dtype || known.count !== storage.count))
      throw new PickleRefusal(`describes storage ${storage.key} in two ways`)
    storages.set(storage.key, storage)
  }
  const stored = [...storages.values()].reduce((n, s) => n + s.count, 0)
  const asked = tensors.reduce((n, t) => n + elementCount(t.shape), 0)
  if (asked > 4 * stored) throw new PickleRefusal('has tensors many times larger than its data')
}

/** A copy of a view's elements in row-major order. */
function contiguous(
  storage: Uint8Array<ArrayBuffer>,
  { shape, strides, offset, storage: { dtype } }: TorchTensor,
): Uint8Array<ArrayBuffer> {
  const width = dtypeBytes[dtype]
  const count = elementCount(shape)
  if (isRowMajor(shape, strides)) return storage.slice(offset * width, (offset + count) * width)
  const result = new Uint8Array(count * width)
  const index = new Array<number>(shape.length).fill(0)
  for (let i = 0, from = offset; i < count; i++) {
    result.set(storage.subarray(from * width, (from + 1) * width), i * width)
    // The odometer of indices, last axis fastest.
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis]
      if (++index[axis] < shape[axis]) break
      from -= shape[axis] * strides[axis]
      index[axis] = 0
    }
  }
  return result
}

function isRowMajor(shape: readonly number[], strides: readonly number[]): boolean {
  let expected = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && strides[axis] !== expected) return false
    expected *= shape[axis]
  }
  return true
}

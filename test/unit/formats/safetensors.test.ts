/** Safetensors: exact reading, writing whole, and every way in which a file can be wrong. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { float16Bits } from '../../../src-main/engine/formats/dtypes'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { openModelWeights } from '../../../src-main/engine/formats/model-weights'
import {
  readFloat32,
  readInt64,
  readSafetensors,
  readSafetensorsHeader,
  writeSafetensors,
} from '../../../src-main/engine/formats/safetensors'

const golden = join(import.meta.dirname, '../../golden')
const work = realpathSync(mkdtempSync(join(tmpdir(), 'safetensors-')))
afterAll(() => rmSync(work, { recursive: true }))

/** A file with a header and data given as they are. */
function raw(header: string | object, data: Uint8Array = new Uint8Array(), claimed?: bigint): string {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(claimed ?? BigInt(json.length))
  const path = join(work, 'raw.safetensors')
  writeFileSync(path, Buffer.concat([length, json, data]))
  return path
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((e: unknown) => e)
  expect(error).toBeInstanceOf(UserError)
  return (error as UserError).message
}

describe('reading', () => {
  it('widens F16 and BF16 exactly and keeps integers', async () => {
    const halves = Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x03ff, 0x8000, 0x7bff, 0x7c00, 0xfc00)
    const brain = Uint16Array.of(0x3f80, 0xc049, 0x0001, 0x8000, 0x7f7f, 0xff80)
    const ints = Int32Array.of(-5, 2147483647)
    const longs = BigInt64Array.of(-1n, 9007199254740993n)
    const parts = {
      h: ['F16', halves],
      b: ['BF16', brain],
      i: ['I32', ints],
      l: ['I64', longs],
      s: ['F32', Float32Array.of(7)],
    } as const
    const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
    let end = 0
    for (const [name, [dtype, data]] of Object.entries(parts)) {
      header[name] = { dtype, shape: name === 's' ? [] : [data.length], data_offsets: [end, end + data.byteLength] }
      end += data.byteLength
    }
    const path = raw(header, Buffer.concat(Object.values(parts).map(([, d]) => new Uint8Array(d.buffer))))
    const { tensors, metadata } = await readSafetensorsHeader(path)
    const location = (name: string) => tensors.get(name) ?? expect.fail(name)
    expect(metadata).toEqual({ format: 'pt' })
    expect([...(await readFloat32(location('h')))]).toEqual([
      1,
      -2,
      2 ** -24,
      1023 * 2 ** -24,
      -0,
      65504,
      Infinity,
      -Infinity,
    ])
    expect([...(await readFloat32(location('b')))]).toEqual([
      1,
      -3.140625,
      2 ** -133,
      -0,
      3.3895313892515355e38,
      -Infinity,
    ])
    expect([...(await readInt64(location('i')))]).toEqual([-5n, 2147483647n])
    expect([...(await readInt64(location('l')))]).toEqual([-1n, 9007199254740993n])
    expect(location('s')).toEqual({
      name: 's',
      file: path,
      offset: location('l').offset + 16,
      length: 4,
      dtype: 'F32',
      shape: [],
    })
    expect(await refusal(readFloat32(location('i')))).toMatch(/Tensor "i" has the type I32.*raw\.safetensors/)
    expect(await refusal(readInt64(location('h')))).toMatch(/Tensor "h" has the type F16/)
  })

  it('widens all 65,536 float16 patterns to what IEEE 754 says', () => {
    const bits = new Uint32Array(1)
    const value = new Float32Array(bits.buffer)
    for (let half = 0; half < 0x10000; half++) {
      bits[0] = float16Bits(half)
      const [exponent, fraction] = [(half >> 10) & 31, half & 1023]
      const size =
        exponent === 31
          ? fraction
            ? NaN
            : Infinity
          : exponent === 0
            ? fraction * 2 ** -24
            : (1 + fraction / 1024) * 2 ** (exponent - 15)
      if (!Object.is(value[0], half & 0x8000 ? -size : size) && !(Number.isNaN(size) && Number.isNaN(value[0])))
        expect.fail(`pattern ${half}: ${value[0]}`)
    }
  })

  it('gives the real path where the file is reached over a symbolic link', async () => {
    symlinkSync(join(golden, 'pt/good/inner-float32.safetensors'), join(work, 'link.safetensors'))
    const { tensors } = await readSafetensorsHeader(join(work, 'link.safetensors'))
    expect(tensors.get('proj1.bias')?.file).toBe(realpathSync(join(golden, 'pt/good/inner-float32.safetensors')))
  })
})

describe('writing', () => {
  it('is read back bit for bit, in order, with metadata; data starts at a multiple of 8', async () => {
    const path = join(work, 'sub', 'written.safetensors')
    const tensors = [
      ['z', { shape: [2, 2], data: Float32Array.of(-0, NaN, 1e-45, 2) }],
      ['__proto__', { shape: [1], data: BigInt64Array.of(-(2n ** 63n)) }],
      ['empty', { shape: [0, 3], data: new Float32Array(0) }],
      ['part', { shape: [2], data: new Float32Array([1, 2, 3, 4]).subarray(1, 3) }],
    ] as const
    await writeSafetensors(path, tensors, { note: 'ä' })
    const read = await readSafetensors(path)
    expect(read.metadata).toEqual({ note: 'ä' })
    expect([...read.tensors].map(([n, t]) => [n, t.shape, t.data])).toEqual(
      tensors.map(([n, t]) => [n, t.shape, t.data.slice()]),
    )
    expect(Number(readFileSync(path).readBigUInt64LE(0)) % 8).toBe(0)
    expect(readdirSync(join(work, 'sub'))).toEqual(['written.safetensors'])
  })

  it('refuses a shape that the data does not have, leaving nothing', async () => {
    const path = join(work, 'wrong.safetensors')
    await expect(writeSafetensors(path, [['a', { shape: [3], data: new Float32Array(2) }]])).rejects.toThrow('tensor a')
    expect(readdirSync(work).filter((f) => f.includes('wrong'))).toEqual([])
  })
})

describe('refused headers, naming file and tensor', () => {
  const a = { dtype: 'F32', shape: [2], data_offsets: [0, 8] }
  const eight = new Uint8Array(8)
  it.each<[string, () => string, RegExp]>([
    [
      'shorter than a header length',
      () => {
        const p = join(work, 'raw.safetensors')
        writeFileSync(p, 'abc')
        return p
      },
      /only 3 bytes/,
    ],
    ['absurd header length', () => raw('{}', eight, 1n << 60n), /claims 1152921504606846976 bytes/],
    ['header length over the file', () => raw('{}', eight, 1000n), /incomplete.*should have 1008 bytes but has 18/],
    ['not JSON', () => raw('{"a":', eight), /not JSON/],
    ['not UTF-8', () => raw('{"\u00e9":1}', eight, 5n), /not JSON/],
    ['not an object', () => raw('[]'), /not a JSON object/],
    ['unknown type', () => raw({ a: { ...a, dtype: 'F4' } }, eight), /tensor "a": the type "F4"/],
    ['type from the prototype', () => raw({ a: { ...a, dtype: 'toString' } }, eight), /the type "toString"/],
    ['negative size', () => raw({ a: { ...a, shape: [-2] } }, eight), /tensor "a": the shape \[-2\]/],
    ['size of the wrong kind', () => raw({ a: { ...a, shape: '2' } }, eight), /tensor "a": the shape "2"/],
    ['place backwards', () => raw({ a: { ...a, data_offsets: [8, 0] } }, eight), /tensor "a": the place \[8,0\]/],
    [
      'place and shape disagree',
      () => raw({ a: { ...a, shape: [3] } }, eight),
      /tensor "a": F32 of shape \[3\] takes 12 bytes, but 8/,
    ],
    ['truncated', () => raw({ a }, eight.subarray(1)), /incomplete.*1 bytes are missing/],
    ['overlap', () => raw({ a, b: { ...a, data_offsets: [4, 12] } }, new Uint8Array(12)), /tensor "b" overlaps "a"/],
    [
      'gap',
      () => raw({ a, b: { ...a, data_offsets: [12, 20] } }, new Uint8Array(20)),
      /gap of 4 bytes in front of tensor "b"/,
    ],
    ['bytes left over', () => raw({ a }, new Uint8Array(9)), /1 bytes follow/],
    ['metadata of the wrong kind', () => raw({ __metadata__: { a: 1 } }), /__metadata__/],
    ['missing', () => join(work, 'absent.safetensors'), /does not exist/],
    ['a folder', () => work, /is a folder/],
  ])('%s', async (_, make, reason) => {
    const path = make()
    const message = await refusal(readSafetensorsHeader(path))
    expect(message).toMatch(reason)
    expect(message).toContain(path)
  })
})

it('damaged headers give tensors or a clear error, never anything else', async () => {
  const bytes = readFileSync(join(golden, 'pt/good/outer-float16.safetensors'))
  const header = 8 + Number(bytes.readBigUInt64LE(0))
  const generator = new TorchGenerator(3)
  const below = (n: number) => generator.nextUint32() % n
  const path = join(work, 'damaged.safetensors')
  let refused = 0
  for (let trial = 0; trial < 400; trial++) {
    let copy = Buffer.from(bytes)
    for (let n = 1 + below(2); n > 0; n--) copy[below(header)] = below(128)
    if (trial % 5 === 0) copy = copy.subarray(0, below(copy.length))
    writeFileSync(path, copy)
    const outcome = await readSafetensors(path).catch((e: unknown) => e)
    if (outcome instanceof UserError) refused++
    else expect(outcome).toHaveProperty('tensors')
  }
  expect(refused).toBeGreaterThan(200)
})

describe('model folders', () => {
  const shard = (name: string) => readFileSync(join(golden, 'pt/good', name))
  function model(files: Record<string, string | Buffer>): string {
    const folder = mkdtempSync(join(work, 'model-'))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return folder
  }
  const index = (map: object) => JSON.stringify({ metadata: {}, weight_map: map })

  it('finds all tensors of single and sharded golden models', async () => {
    const single = await openModelWeights(join(golden, 'models/llama'))
    expect(single.files).toEqual([realpathSync(join(golden, 'models/llama/model.safetensors'))])
    expect(single.tensors.get('model.norm.weight')?.shape).toEqual([64])
    const sharded = await openModelWeights(join(golden, 'models/qwen2-sharded'))
    expect(sharded.files.length).toBe(2)
    const listed = JSON.parse(readFileSync(join(golden, 'models/qwen2-sharded/model.safetensors.index.json'), 'utf8'))
    expect([...sharded.tensors.keys()].sort()).toEqual(Object.keys(listed.weight_map).sort())
    expect(sharded.bytes).toBe([...sharded.tensors.values()].reduce((n, t) => n + t.length, 0))
  })

  it.each<[string, () => string, RegExp]>([
    ['no weights', () => model({ 'config.json': '{}' }), /neither model\.safetensors nor/],
    ['other formats', () => model({ 'pytorch_model.bin': 'x' }), /it has pytorch_model\.bin.*safetensors format/],
    ['missing folder', () => join(work, 'nowhere'), /does not exist/],
    [
      'missing shard',
      () => model({ 'model.safetensors.index.json': index({ a: 'one.safetensors', b: 'two.safetensors' }) }),
      /lacks 2 of 2 weight files: one\.safetensors, two\.safetensors/,
    ],
    [
      'tensor not in its shard',
      () =>
        model({
          'one.safetensors': shard('inner-float32.safetensors'),
          'model.safetensors.index.json': index({ nope: 'one.safetensors' }),
        }),
      /tensor "nope" is not in one\.safetensors/,
    ],
    [
      'a name that leads out',
      () => model({ 'model.safetensors.index.json': index({ a: '../one.safetensors' }) }),
      /"\.\.\/one\.safetensors", which is not the name/,
    ],
    ['broken index', () => model({ 'model.safetensors.index.json': '{' }), /it is not JSON/],
    ['index without a map', () => model({ 'model.safetensors.index.json': 'null' }), /no weight_map/],
    [
      'cut shard',
      () =>
        model({
          'one.safetensors': shard('inner-float32.safetensors').subarray(0, 900),
          'model.safetensors.index.json': index({ 'proj1.weight': 'one.safetensors' }),
        }),
      /incomplete.*one\.safetensors/,
    ],
  ])('%s', async (_, make, reason) => {
    expect(await refusal(openModelWeights(make()))).toMatch(reason)
  })

  it('a folder in the place of the weights is no weights', async () => {
    const folder = model({})
    mkdirSync(join(folder, 'model.safetensors'))
    expect(await refusal(openModelWeights(folder))).toContain('though it has model.safetensors')
  })
})

/** Archives and pickles made by hand: what the golden bad files do not cover. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { PickleRefusal, PyDict, PyList, PyTuple, readPickle } from '../../../src-main/engine/formats/pickle'
import { torchRules } from '../../../src-main/engine/formats/torch-objects'
import { readTorchTensors } from '../../../src-main/engine/formats/torch-file'
import { writeTorchTensors } from '../../../src-main/engine/formats/torch-writer'
import { zipChunks, type ZipMember } from '../../../src-main/engine/formats/zip-writer'

const work = mkdtempSync(join(tmpdir(), 'torch-refusals-'))
afterAll(() => rmSync(work, { recursive: true }))

const ascii = (text: string) => Buffer.from(text, 'latin1')
const file = (content: Uint8Array) => {
  const path = join(work, 'made.pt')
  writeFileSync(path, content)
  return path
}
const zip = (...members: ZipMember[]) => Buffer.concat([...zipChunks(members)])
const member = (name: string, data: string | Uint8Array): ZipMember => ({
  name,
  data: typeof data === 'string' ? ascii(data) : data,
})

async function refusal(content: Uint8Array): Promise<string> {
  const error = await readTorchTensors(file(content)).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(UserError)
  return (error as UserError).why
}

/** A pickled tensor of a float storage of `count` elements. */
function tensor(
  key: string,
  count: number,
  offset: number,
  size: number,
  stride: number,
  type = 'FloatStorage',
): string {
  const number = (n: number) => `J${String.fromCharCode(n & 255, (n >> 8) & 255, (n >> 16) & 255, (n >> 24) & 255)}`
  const text = (t: string) => `X${String.fromCharCode(t.length)}\0\0\0${t}`
  const storage = `(${text('storage')}ctorch\n${type}\n${text(key)}${text('cpu')}${number(count)}tQ`
  return `ctorch._utils\n_rebuild_tensor_v2\n(${storage}${number(offset)}(${number(size)}t(${number(stride)}t\x89ccollections\nOrderedDict\n)RtR`
}
const entry = (name: string, value: string) => `X${String.fromCharCode(name.length)}\0\0\0${name}${value}`
const state = (...entries: string[]) => `\x80\x02}(${entries.join('')}u.`
const floats = (n: number) => new Uint8Array(4 * n)

describe('archives', () => {
  const good = [member('a/data.pkl', state(entry('w', tensor('0', 4, 0, 4, 1)))), member('a/data/0', floats(4))]

  it('the hand-made good one is read', async () => {
    expect(await readTorchTensors(file(zip(...good)))).toEqual(
      new Map([['w', { dtype: 'F32', shape: [4], data: new Float32Array(4) }]]),
    )
  })

  it.each<[string, Buffer, RegExp]>([
    ['two members of one name', zip(...good, good[1]), /two members called a\/data\/0/],
    ['two pickles', zip(...good, member('b/data.pkl', '')), /more than one data\.pkl/],
    ['a pickle in a deeper folder only', zip(member('a/b/data.pkl', state())), /no data\.pkl/],
    ['big-endian', zip(...good, member('a/byteorder', 'big')), /byte order "big"/],
    ['a TorchScript program', zip(...good, member('a/constants.pkl', '')), /TorchScript/],
    ['a pickle far too long', zip(member('a/data.pkl', new Uint8Array(3 * 2 ** 20))), /far too long/],
    [
      'a storage longer than it says',
      zip(good[0], member('a/data/0', floats(5))),
      /20 bytes in storage 0, where 16 are needed/,
    ],
    [
      'more members than any link has',
      zip(...good, ...Array.from({ length: 10_000 }, (_, i) => member(`a/x/${i}`, ''))),
      /10002 members/,
    ],
    ['an absolute name', zip(...good, member('/etc/x', '')), /absolute path/],
  ])('%s', async (_, content, reason) => {
    expect(await refusal(content)).toMatch(reason)
  })

  it('a wrong checksum', async () => {
    const content = zip(...good)
    const at = content.lastIndexOf(ascii('a/data/0'), content.indexOf('PK\x01\x02', 0, 'latin1'))
    content[Math.ceil((at + 8) / 64) * 64] ^= 1
    expect(await refusal(content)).toMatch(/checksum of storage 0/)
  })

  it('members that share bytes: many names for one large member', async () => {
    const content = zip(good[0], ...Array.from({ length: 20 }, (_, i) => member(`a/data/${i}`, floats(64))))
    // Every directory entry of a storage is pointed to the first storage and cut out of the file with it.
    const first = content.indexOf('PK\x03\x04', 10, 'latin1')
    const second = content.indexOf('PK\x03\x04', first + 4, 'latin1')
    const directory = content.indexOf('PK\x01\x02', 0, 'latin1')
    for (
      let at = content.indexOf('PK\x01\x02', directory + 4, 'latin1');
      at >= 0;
      at = content.indexOf('PK\x01\x02', at + 4, 'latin1')
    )
      content.writeUInt32LE(first, at + 42)
    const end = Buffer.from(content.subarray(content.length - 22))
    end.writeUInt32LE(second, 16)
    expect(await refusal(Buffer.concat([content.subarray(0, second), content.subarray(directory, -22), end]))).toMatch(
      /members that overlap/,
    )
  })
})

describe('tensors', () => {
  const read = (pickle: string) => zip(member('a/data.pkl', pickle), member('a/data/0', floats(4)))
  it.each<[string, string, RegExp]>([
    [
      'beyond the storage by its offset',
      state(entry('w', tensor('0', 4, 1, 4, 1))),
      /outside its storage of 4 elements/,
    ],
    ['beyond it by its stride', state(entry('w', tensor('0', 4, 0, 2, 4))), /outside its storage/],
    ['negative offset', state(entry('w', tensor('0', 4, -1, 4, 1))), /in an unknown way/],
    ['negative size', state(entry('w', tensor('0', 4, 0, -4, 1))), /in an unknown way/],
    ['repeating one element', state(entry('w', tensor('0', 4, 0, 2000, 0))), /repeats the 4 elements/],
    [
      'many views of one storage',
      state(...Array.from({ length: 17 }, (_, i) => entry(`w${i}`, tensor('0', 4, 0, 4, 1)))),
      /many times larger than its data/,
    ],
    [
      'one storage described in two ways',
      state(entry('v', tensor('0', 4, 0, 4, 1)), entry('w', tensor('0', 8, 0, 8, 1, 'HalfStorage'))),
      /in two ways/,
    ],
    ['booleans', state(entry('w', tensor('0', 4, 0, 4, 1, 'BoolStorage'))), /torch\.BoolStorage, which no link has/],
    [
      'a storage whose key leads out',
      state(entry('w', tensor('../0', 4, 0, 4, 1))),
      /lacks the data of storage \.\.\/0/,
    ],
    [
      'a name as long as a text',
      state(entry('w', tensor('0', 4, 0, 4, 1)).replace('X\x01\0\0\0w', `X\xff\0\0\0${'w'.repeat(255)}`)),
      /name of 255 characters/,
    ],
    [
      'more axes than anything has',
      state(
        entry(
          'w',
          tensor('0', 4, 0, 4, 1).replace(
            /\(J(....)t\(J(....)t\x89/s,
            `(${'K\x01'.repeat(17)}t(${'K\x01'.repeat(17)}t\x89`,
          ),
        ),
      ),
      /tensor of 17 axes/,
    ],
    ['a number for a name', `\x80\x02}K\x01${tensor('0', 4, 0, 4, 1)}s.`, /name is a number/],
    ['a single tensor', `\x80\x02${tensor('0', 4, 0, 4, 1)}.`, /a single tensor instead of named tensors/],
  ])('%s', async (_, pickle, reason) => {
    expect(await refusal(read(pickle))).toMatch(reason)
  })
})

describe('the pickle machine', () => {
  const run = (text: string) => readPickle(ascii(text), 0, torchRules).value
  it('builds data', () => {
    const value = run(
      '\x80\x02](K\x01M\x02\x01J\xff\xff\xff\xff\x8a\x02\xff\x7f\x8a\x01\x80NG?\xf0\0\0\0\0\0\0\x88\x8c\x01x\x94h\x00e.',
    ) as PyList
    expect(value).toBeInstanceOf(PyList)
    expect(value.items).toEqual([1, 258, -1, 32767, -128, null, 1, true, 'x', 'x'])
    expect(run('\x80\x02(K\x01)K\x02\x85t.')).toEqual(new PyTuple([1, new PyTuple([]), new PyTuple([2])]))
    expect((run('\x80\x04\x95\0\0\0\0\0\0\0\0}\x8c\x01aK\x01s.') as PyDict).entries).toEqual(new Map([['a', 1]]))
    expect(run('\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\x01.')).toBe(2n ** 64n)
  })

  it.each<[string, RegExp]>([
    ['\x80\x06N.', /protocol 6/],
    ['\x80\x02cos\nsystem\n(X\x02\0\0\0lstR.', /os\.system, which is not part of tensor data/],
    ['\x80\x02cbuiltins\ngetattr\n.', /builtins\.getattr/],
    ['\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.', /in an unknown way/],
    ['\x80\x02K\x01)R.', /calls something that is no function/],
    ['\x80\x02ctorch\nFloatStorage\n)R.', /calls torch\.FloatStorage/],
    ['\x80\x02ccollections\nOrderedDict\n]\x85R.', /OrderedDict in an unusual way/],
    ['\x80\x02ccollections\nOrderedDict\n)\x81.', /NEWOBJ/],
    ['\x80\x02]}b.', /sets attributes/],
    ['\x80\x02X\x05\0\0\0ab.', /ends in the middle/],
    ['\x80\x02X\xff\xff\xff\xffab.', /ends in the middle/],
    ['\x80\x02h\x05.', /has not defined/],
    ['\x80\x02.', /a value is missing/],
    ['\x80\x02t.', /a mark is missing/],
    ['\x80\x02K\x01K\x02K\x03s.', /no dictionary/],
    ['\x80\x02}](K\x01us.', /no dictionary/],
    ['\x80\x02})K\x01s.', /neither a text nor a number/],
    ['\x80\x02K\x01Q.', /storage in an unknown way/],
    ['\x80\x02X\x01\0\0\0\xff.', /not UTF-8/],
    ['\x80\x02C\x01a.', /SHORT_BINBYTES/],
    ['\xee', /not a valid pickle/],
    ['', /ends in the middle/],
  ])('%j', (text, reason) => {
    expect(() => run(text)).toThrow(PickleRefusal)
    expect(() => run(text)).toThrow(reason)
  })

  it('takes time and memory in proportion to its bytes', () => {
    // A list that holds itself twice, again and again: 2^40 elements if anyone unfolded it.
    const doubling = `\x80\x02]q\x00${Array.from({ length: 40 }, () => '](h\x00h\x00eq\x00').join('')}.`
    expect(run(doubling)).toBeInstanceOf(PyList)
  })
})

it('a storage of the older format that claims far more than the file holds takes no memory', async () => {
  const count = 2 ** 31 - 1
  const elements = Buffer.alloc(8)
  elements.writeBigInt64LE(BigInt(count))
  const content = Buffer.concat([
    ascii('\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.'),
    ascii('\x80\x02M\xe9\x03.'),
    ascii('\x80\x02}X\x0d\0\0\0little_endian\x88s.'),
    ascii(state(entry('w', tensor('0', count, 0, count, 1, 'DoubleStorage')))),
    ascii('\x80\x02]X\x01\0\0\x000a.'),
    elements,
    floats(100),
  ])
  const before = process.memoryUsage().rss
  expect(await refusal(content)).toMatch(/ends within storage 0/)
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20)
})

it('a pickle in the older format that names a command is refused as well', async () => {
  const legacy = readFileSync(join(import.meta.dirname, '../../golden/pt/good/inner-legacy-format.pt'))
  const at = legacy.indexOf('collections\nOrderedDict', 0, 'latin1')
  const content = Buffer.concat([
    legacy.subarray(0, at),
    ascii('posix\nsystem'),
    legacy.subarray(at + 'collections\nOrderedDict'.length),
  ])
  expect(await refusal(content)).toMatch(/posix\.system/)
  expect(await refusal(legacy.subarray(0, legacy.length - 10))).toMatch(/ends within storage/)
})

it('the writer refuses data that does not fit its shape, leaving nothing', async () => {
  const path = join(work, 'wrong.pt')
  await expect(writeTorchTensors(path, [['a', { shape: [3], data: new Float32Array(2) }]])).rejects.toThrow('tensor a')
})

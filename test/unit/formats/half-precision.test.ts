/** Half-precision storage: exact both ways, for every value that there is; files as torch reads them. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { decodeElements } from '../../../src-main/engine/formats/dtypes'
import { narrowExactly } from '../../../src-main/engine/formats/half-precision'
import { readTorchTensors } from '../../../src-main/engine/formats/torch-file'
import { writeTorchTensors } from '../../../src-main/engine/formats/torch-writer'

const work = mkdtempSync(join(tmpdir(), 'half-'))
afterAll(() => rmSync(work, { recursive: true }))

/** All 65,536 bit patterns of a 16-bit type but those that are no number. */
function everyValue(dtype: 'F16' | 'BF16'): { halves: Uint16Array<ArrayBuffer>; values: Float32Array } {
  const all = Uint16Array.from({ length: 0x10000 }, (_, i) => i)
  const widened = decodeElements(new Uint8Array(all.buffer), dtype) as Float32Array
  const halves = all.filter((_, i) => !Number.isNaN(widened[i]))
  return { halves, values: widened.filter((v) => !Number.isNaN(v)) }
}

describe.each(['F16', 'BF16'] as const)('%s', (dtype) => {
  it('takes every value of its own back as it was', () => {
    const { halves, values } = everyValue(dtype)
    expect(narrowExactly(values, dtype)).toEqual(halves)
  })

  it('takes nothing that it would change', () => {
    const between = dtype === 'F16' ? [65520, 1 + 2 ** -11, 2 ** -25, 1e-45, 6.1e-5] : [1 + 2 ** -8, 0.1, 1e-45]
    for (const value of between) expect(narrowExactly(Float32Array.of(0, value), dtype), String(value)).toBeNull()
  })

  it('is written and read back bit for bit, and refused for what it does not hold', async () => {
    const { values } = everyValue(dtype)
    const file = join(work, `${dtype}.pt`)
    await writeTorchTensors(file, [['all', { shape: [values.length], data: values }]], dtype)
    const all = (await readTorchTensors(file)).get('all')
    expect(all).toEqual({ dtype, shape: [values.length], data: values })
    const wrong = writeTorchTensors(file, [['a', { shape: [1], data: Float32Array.of(0.1) }]], dtype)
    await expect(wrong).rejects.toThrow(`tensor a has values that ${dtype} does not hold`)
  })
})

it.each([
  ['F16', 'fe00aaf03f20aac20043952fc9778a92305a0f347c69b2cce3b70d7528a3e8ba'],
  ['BF16', 'fd06f15142c88609a88791bc631c9cca5d26a6a724649b78b7a474b96e321d2b'],
] as const)('%s: the bytes that torch.load(weights_only=True) of torch 2.15 was seen to read', async (dtype, hash) => {
  const file = join(work, 'link.pt')
  const tensors = [
    ['proj1.weight', { shape: [2, 3], data: Float32Array.of(0, -0.5, 1.5, 3, -96, 2 ** -14) }],
    ['proj1.bias', { shape: [2], data: Float32Array.of(-1, 0.15625) }],
  ] as const
  await writeTorchTensors(file, tensors, dtype)
  expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(hash)
})

/** The .pt writer and reader: round trip, layout, and damaged files. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { readTorchTensors } from '../../../src-main/engine/formats/torch-file'
import { writeTorchTensors } from '../../../src-main/engine/formats/torch-writer'
import { initOuterLink } from '../../../src-main/engine/nn/link-init'
import { outerParameterShapes } from '../../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'

const work = mkdtempSync(join(tmpdir(), 'torch-files-'))
afterAll(() => rmSync(work, { recursive: true }))

const values = initOuterLink('outer_ln_res_adapter', 5, 3, new TorchGenerator(1))
const link = outerParameterShapes('outer_ln_res_adapter', 5, 3).map(
  ({ name, shape }) => [name, { shape, data: values[name] }] as const,
)

describe('writeTorchTensors', () => {
  it('is read back bit for bit, also with special values and a scalar', async () => {
    const odd = [
      ['odd', { shape: [2, 3], data: Float32Array.of(-0, 1e-45, 3.4e38, Infinity, -Infinity, NaN) }],
      ['scalar', { shape: [], data: Float32Array.of(7) }],
      ['ünïcode', { shape: [1, 1], data: Float32Array.of(1) }],
    ] as const
    const file = join(work, 'round.pt')
    await writeTorchTensors(file, [...link, ...odd])
    const given = await readTorchTensors(file)
    expect([...given.keys()]).toEqual([...link, ...odd].map(([name]) => name))
    for (const [name, { shape, data }] of [...link, ...odd])
      expect(given.get(name)).toEqual({ dtype: 'F32', shape, data })
  })

  it('gives the bytes that torch.load(weights_only=True) of torch 2.15 was seen to read', async () => {
    const file = join(work, 'golden.pt')
    await writeTorchTensors(file, link)
    expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(
      '3c529c4629a3c0c7b3b739ba52027b004e318630bdb191700e6da1add7ae9248',
    )
  })

  it('starts every member at a multiple of 64 bytes', async () => {
    const file = join(work, 'aligned.pt')
    await writeTorchTensors(file, link)
    const bytes = readFileSync(file)
    let members = 0
    for (let at = 0; bytes.readUInt32LE(at) === 0x04034b50; members++) {
      const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28)
      expect(start % 64).toBe(0)
      at = start + bytes.readUInt32LE(at + 18)
    }
    expect(members).toBe(15)
  })
})

describe('damaged files', () => {
  const good = join(import.meta.dirname, '../../golden/pt/good')
  it.each(readdirSync(good).filter((f) => f.endsWith('.pt')))(
    '%s: changed bytes and cuts give tensors or a clear error, never anything else',
    async (name) => {
      const bytes = readFileSync(join(good, name))
      const generator = new TorchGenerator(9)
      const below = (n: number) => generator.nextUint32() % n
      const file = join(work, 'damaged.pt')
      let refused = 0
      for (let trial = 0; trial < 150; trial++) {
        let copy = Buffer.from(bytes)
        for (let n = 1 + below(3); n > 0; n--) copy[below(copy.length)] = below(256)
        if (trial % 5 === 0) copy = copy.subarray(0, below(copy.length))
        writeFileSync(file, copy)
        const outcome = await readTorchTensors(file).catch((e: unknown) => e)
        if (outcome instanceof UserError) refused++
        else expect(outcome).toBeInstanceOf(Map)
      }
      expect(refused).toBeGreaterThan(30)
    },
  )
})

/** Torch's own link files against the same tensors as safetensors, and files that must be refused without any effect. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserError } from '../../src-main/engine/errors'
import { readSafetensors } from '../../src-main/engine/formats/safetensors'
import { readTorchTensors } from '../../src-main/engine/formats/torch-file'

const folder = join(import.meta.dirname, 'pt')
const files = (part: string) => readdirSync(join(folder, part)).filter((f) => f.endsWith('.pt'))

describe('files that torch wrote', () => {
  it.each(files('good'))('%s equals its safetensors twin, bit for bit', async (file) => {
    const given = await readTorchTensors(join(folder, 'good', file))
    const { tensors } = await readSafetensors(join(folder, 'good', file.replace(/pt$/, 'safetensors')))
    expect(given.size).toBeGreaterThan(0)
    expect([...given.keys()].sort()).toEqual([...tensors.keys()].sort())
    for (const [name, expected] of tensors) expect(given.get(name), name).toEqual(expected)
  })
})

/** What the refusal has to say, by file. */
const reasons: Record<string, RegExp> = {
  'runs-a-command.pt': /posix\.system/,
  'runs-eval.pt': /(__builtin__|builtins)\.eval/,
  'protocol-4-command.pt': /posix\.system/,
  'stack-global.pt': /posix\.system/,
  'old-style-inst.pt': /os\.system \(pickle instruction INST\)/,
  'not-a-zip.pt': /neither a zip archive nor in the older torch format/,
  'empty.pt': /is empty/,
  'plain-pickle.pt': /posix\.system/,
  'truncated.pt': /cut short/,
  'no-pickle.pt': /no data\.pkl/,
  'storage-missing.pt': /lacks the data of storage 0/,
  'storage-short.pt': /536 bytes in storage 0, where 576 are needed/,
  'path-trick.pt': /invalid relative path: \.\.\/\.\.\/PWNED/,
  'bomb.pt': /compressed member.*200000000/,
  'not-a-dict.pt': /a list instead of named tensors/,
  'number-instead-of-tensor.pt': /a number under "proj1\.weight" instead of a tensor/,
  'nested.pt': /a dictionary under "state" instead of a tensor/,
  'whole-module.pt': /torch\.nn\.modules\.linear\.Linear/,
  'stride-outside.pt': /outside its storage/,
}
/** Read as tensors; link-files refuses them as links (test/unit/training-files). */
const readable = ['integers.pt', 'nan.pt']

describe('files to refuse', () => {
  const before = process.cwd()
  const work = mkdtempSync(join(tmpdir(), 'pt-'))
  // A file that runs something would leave its mark in the working folder or beside itself.
  const marks = [
    work,
    join(work, '..'),
    join(work, '../..'),
    before,
    folder,
    join(folder, 'bad'),
    join(folder, '..'),
  ].map((f) => join(f, 'PWNED'))
  beforeAll(() => process.chdir(work))
  afterAll(() => {
    process.chdir(before)
    rmSync(work, { recursive: true })
  })

  it('knows every file', () => {
    const listed = Object.keys(JSON.parse(readFileSync(join(folder, 'bad.json'), 'utf8')))
    expect([...Object.keys(reasons), ...readable].sort()).toEqual(listed.sort())
  })

  it.each(Object.entries(reasons))('%s: says why, leaves nothing behind, takes little memory', async (file, reason) => {
    const memory = process.memoryUsage().rss
    const error = await readTorchTensors(join(folder, 'bad', file)).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(UserError)
    expect((error as UserError).why).toContain(join(folder, 'bad', file))
    expect((error as UserError).why).toMatch(reason)
    expect(marks.filter((m) => existsSync(m))).toEqual([])
    expect(readdirSync(work)).toEqual([])
    // The bomb would take 200 MB.
    expect(process.memoryUsage().rss - memory).toBeLessThan(100 * 2 ** 20)
  })

  it.each(readable)('%s is read as tensors', async (file) => {
    const tensor = (await readTorchTensors(join(folder, 'bad', file))).get('proj1.weight')
    expect(tensor?.data.length).toBe(144)
    if (file === 'nan.pt') expect([...(tensor?.data ?? [])].every((v) => Number.isNaN(v))).toBe(true)
    else expect(tensor).toEqual({ dtype: 'I32', shape: [12, 12], data: new BigInt64Array(144) })
  })
})

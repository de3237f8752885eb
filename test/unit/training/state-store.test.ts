import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StateCollection } from '../../../src-main/engine/training/state-store'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'states-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const a = Float32Array.of(1, 2, 3)
const b = Float32Array.of(-4, 0.5)

describe('StateCollection', () => {
  it('gives back what was put, in this process and the next, bit for bit', () => {
    const first = new StateCollection(folder)
    expect(first.get(['x', 1])).toBeNull()
    first.put(['x', 1], a)
    first.put(['y'], b)
    expect(first.get(['x', 1])).toEqual(a)
    first.close()
    const second = new StateCollection(folder)
    expect(second.get(['x', 1])).toEqual(a)
    expect(second.get(['y'])).toEqual(b)
    expect(second.get(['x', 2])).toBeNull()
    second.put(['z'], a)
    second.close()
    const third = new StateCollection(folder)
    expect([third.get(['y']), third.get(['z'])]).toEqual([b, a])
    third.close()
  })

  it('does without what a crash tore: a half line, bytes that are not there', () => {
    const first = new StateCollection(folder)
    first.put(1, a)
    first.put(2, b)
    first.close()
    const [bin, index] = ['.bin', '.jsonl'].map((end) =>
      join(
        folder,
        readdirSync(folder).find((f) => f.endsWith(end))!,
      ),
    )
    truncateSync(bin, a.byteLength + 1)
    appendFileSync(index, '{"key":"abc","offs')
    const second = new StateCollection(folder)
    expect(second.get(1)).toEqual(a)
    expect(second.get(2)).toBeNull()
    second.put(2, b)
    expect(second.get(2)).toEqual(b)
    second.close()
  })

  it('does without bytes that are not the ones that were written, and writes them again', () => {
    const first = new StateCollection(folder)
    first.put(1, a)
    first.put(2, b)
    first.close()
    const [bin] = readdirSync(folder).filter((f) => f.endsWith('.bin'))
    // what a power cut leaves: the length is there, the bytes of the second entry are not
    const bytes = readFileSync(join(folder, bin))
    writeFileSync(join(folder, bin), bytes.fill(0, a.byteLength))
    const second = new StateCollection(folder)
    expect(second.get(1)).toEqual(a)
    expect(second.get(2)).toBeNull()
    second.put(2, b)
    second.close()
    const third = new StateCollection(folder)
    expect([third.get(1), third.get(2)]).toEqual([a, b])
    third.close()
  })

  it('lets several write to one folder in the same moment', () => {
    const many = Array.from({ length: 20 }, () => new StateCollection(folder))
    many.forEach((c, i) => c.put(i, a))
    many.forEach((c) => c.close())
    const all = new StateCollection(folder)
    expect(many.map((_, i) => all.get(i))).toEqual(many.map(() => a))
    all.close()
  })

  it('works in memory alone', () => {
    const memory = new StateCollection(null)
    memory.put('k', a.subarray(1))
    expect(memory.get('k')).toEqual(Float32Array.of(2, 3))
    memory.close()
  })

  it('lets go of what was used longest ago, and has it again from the disk where there is one', () => {
    for (const place of [folder, null]) {
      const small = new StateCollection(place, 2 * a.byteLength)
      small.put(1, a)
      small.put(2, a.slice())
      small.get(1)
      small.put(3, a.slice())
      expect([1, 2, 3].map((key) => small.get(key))).toEqual([a, place === null ? null : a, a])
      small.close()
    }
  })
})

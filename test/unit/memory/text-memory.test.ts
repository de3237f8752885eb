/** The estimate of what rows take against V8's own count. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { idsBytes, rowsBytes } from '../../../src-main/engine/memory/text-memory'
import { demo } from '../training/run-demo-job'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What `make` makes, and the bytes that the heap grows by. */
function grown<T>(make: () => T): { made: T; bytes: number } {
  collect()
  const before = process.memoryUsage().heapUsed
  const made = make()
  collect()
  return { made, bytes: process.memoryUsage().heapUsed - before }
}

it('is within 25 % for rows with nested texts, and for token ids', () => {
  const lines = readFileSync(demo('train.jsonl'), 'utf8').trim().split('\n')
  const rows = grown(() => lines.map((line) => ({ values: JSON.parse(line) as Record<string, unknown> })))
  expect(Math.abs(rowsBytes(rows.made) / rows.bytes - 1)).toBeLessThan(0.25)
  const lists = grown(() => Array.from({ length: 20_000 }, (_, i) => Array.from({ length: 40 }, (_, k) => i + k)))
  expect(Math.abs(idsBytes(20_000 * 40, 20_000) / lists.bytes - 1)).toBeLessThan(0.25)
  expect(rowsBytes([])).toBe(0)
})

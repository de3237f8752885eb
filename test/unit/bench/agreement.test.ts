/** The benchmark's own judgement: results that agree, that differ, and that are not numbers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeSafetensors } from '../../../src-main/engine/formats/safetensors'
import { compareResults } from '../../bench/agreement'
import { makeInputs } from '../../bench/inputs'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-agreement-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function judge(name: string, ours: Float32Array | BigInt64Array, theirs: Float32Array | BigInt64Array) {
  const [a, b] = [join(folder, 'a.safetensors'), join(folder, 'b.safetensors')]
  await writeSafetensors(a, [[name, { shape: [ours.length], data: ours }]])
  await writeSafetensors(b, [[name, { shape: [theirs.length], data: theirs }]])
  return (await compareResults(a, b))[0]
}

it('measures against the largest value', async () => {
  const theirs = Float32Array.of(1000, 1)
  const within = await judge('states', Float32Array.of(1000, 1.0625), theirs)
  expect(within).toEqual({ name: 'states', difference: 6.25e-5, agrees: true })
  expect((await judge('states', Float32Array.of(1000, 1.125), theirs)).agrees).toBe(false)
})

it('lets neither NaN nor another size pass', async () => {
  expect((await judge('states', Float32Array.of(NaN, 1), Float32Array.of(1, 1))).agrees).toBe(false)
  expect((await judge('states', Float32Array.of(1, 1), Float32Array.of(1, NaN))).agrees).toBe(false)
  expect((await judge('states', Float32Array.of(1), Float32Array.of(1, 1))).agrees).toBe(false)
})

it('wants ids equal and only shows parameters', async () => {
  expect((await judge('ids', BigInt64Array.of(1n, 2n), BigInt64Array.of(1n, 2n))).agrees).toBe(true)
  expect(await judge('ids', BigInt64Array.of(1n, 3n), BigInt64Array.of(1n, 2n))).toEqual({
    name: 'ids',
    difference: 1,
    agrees: false,
  })
  expect((await judge('parameters', Float32Array.of(1), Float32Array.of(2))).agrees).toBeNull()
})

it('makes the ids that the baseline documents', () => {
  const { outer, rollout8 } = makeInputs(49152)
  expect(rollout8.prompts[7].slice(0, 2)).toEqual([(7000 * 7919 + 13) % 49152, (7001 * 7919 + 13) % 49152])
  expect(outer.samples[1].solver.after[0]).toBe(((1000 * (4 + 3) + 200) * 7919 + 13) % 49152)
  expect(outer.samples[1].targets[2].length).toBe(80)
  expect(outer.samples[1].targets[2][0]).toBe(((100000 + 1000 * 5) * 7919 + 13) % 49152)
})

/** Random numbers, fresh links and loader orders against torch's own, bit for bit. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSafetensors } from '../../src-main/engine/formats/safetensors'
import { initInnerLink, initOuterLink } from '../../src-main/engine/nn/link-init'
import { innerLinkType, type LinkParameters, outerLinkType } from '../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../src-main/engine/nn/torch-generator'
import { epochOrder } from '../../src-main/engine/training/data-order'

const golden = import.meta.dirname
const json = (path: string) => JSON.parse(readFileSync(join(golden, path), 'utf8'))
const rng = json('links/rng.json')
const widths: Record<string, number> = Object.fromEntries(
  readdirSync(join(golden, 'models')).map((m) => [m, json(`models/${m}/expected.json`).hidden_size]),
)

/** Equal bits: float32 values compared as numbers, with -0 and 0 told apart. */
function expectSame(actual: Float32Array, expected: ArrayLike<number>, name: string) {
  expect(actual.length, name).toBe(expected.length)
  for (let i = 0; i < actual.length; i++)
    if (!Object.is(actual[i], expected[i])) expect.fail(`${name}[${i}]: ${actual[i]} for ${expected[i]}`)
}

async function startTensors(path: string, prefix: string): Promise<Map<string, Float32Array>> {
  const { tensors } = await readSafetensors(join(golden, path))
  return new Map(
    [...tensors].flatMap(([n, t]) => (n.startsWith(prefix) ? [[n.slice(prefix.length), t.data as Float32Array]] : [])),
  )
}

function expectLink(link: LinkParameters, expected: ReadonlyMap<string, ArrayLike<number>>, prefix = '') {
  const names = [...expected.keys()].filter((n) => n.startsWith(prefix))
  expect(names.length).toBe(Object.keys(link).length)
  for (const [name, values] of Object.entries(link))
    expectSame(values, expected.get(prefix + name) ?? [], prefix + name)
}

describe('torch CPU generator', () => {
  it('gives a Linear(8, 6) after seed 42', () => {
    const generator = new TorchGenerator(42)
    const bound = Math.sqrt(3) * (Math.sqrt(2 / 6) / Math.sqrt(8))
    expectSame(generator.uniform(-bound, bound, 48), rng.linear_8_6_seed42_weight.flat(), 'weight')
    expectSame(generator.uniform(-1 / Math.sqrt(8), 1 / Math.sqrt(8), 6), rng.linear_8_6_seed42_bias, 'bias')
  })

  it('gives the outputs of MT19937 published for seed 5489', () => {
    const generator = new TorchGenerator(5489)
    expect(Array.from({ length: 5 }, () => generator.nextUint32())).toEqual([
      3499211612, 581869302, 3890346734, 3586334585, 545404204,
    ])
    for (let i = 5; i < 9999; i++) generator.nextUint32()
    expect(generator.nextUint32()).toBe(4123659995)
  })

  it.each([10, 11, 1904])('orders %i rows as a loader of batch 2 with drop_last does, two epochs', (n) => {
    const generator = new TorchGenerator(42)
    for (const expected of rng[`loader_n${n}_bs2_seed42`] as number[][]) {
      const given = [...epochOrder(generator, n)].slice(0, Math.min(n - (n % 2), 40))
      expect(given).toEqual(expected)
    }
  })
})

describe('fresh links', () => {
  it('inner and outer ln_res of the toy fixtures', () => {
    const flat = (init: Record<string, number[] | number[][]>) =>
      new Map(Object.entries(init).map(([n, v]) => [n, v.flat()]))
    expectLink(initInnerLink('ln_res_adapter', 6, new TorchGenerator(42)), flat(json('links/inner_ln_res.json').init))
    expectLink(
      initOuterLink('outer_ln_res_adapter', 6, 4, new TorchGenerator(42)),
      flat(json('links/outer_ln_res.json').init),
    )
  })

  const inner = readdirSync(join(golden, 'training/inner')).filter((f) => f.endsWith('.json'))
  it.each(inner)('inner start of %s', async (file) => {
    const { model, type } = json(`training/inner/${file}`)
    const expected = await startTensors(`training/inner/${file.replace(/json$/, 'safetensors')}`, 'start/')
    expectLink(initInnerLink(innerLinkType(type), widths[model], new TorchGenerator(42)), expected)
  })

  const outer = readdirSync(join(golden, 'training/outer')).filter((f) => f.endsWith('.json'))
  it.each(outer)('all inner, then all outer links of %s', async (file) => {
    const { agents, links, type } = json(`training/outer/${file}`) as {
      agents: string[]
      links: [string, number, number][]
      type: string
    }
    const tensors = `training/outer/${file.replace(/json$/, 'safetensors')}`
    const generator = new TorchGenerator(42)
    const innerExpected = await startTensors(tensors, 'inner/')
    for (const [i, agent] of agents.entries())
      expectLink(initInnerLink('ln_res_adapter', widths[agent], generator), innerExpected, `${i}/`)
    const outerExpected = await startTensors(tensors, 'start/')
    for (const [key, from, to] of links)
      expectLink(
        initOuterLink(outerLinkType(type), widths[agents[from]], widths[agents[to]], generator),
        outerExpected,
        `${key}/`,
      )
  })
})

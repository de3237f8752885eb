/** The command line's eval against values that torch computed (test/golden/models), through real request and result files. */
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeModel } from '../../../src-main/cli/describe-model'
import { evalCommand } from '../../../src-main/cli/eval-request'
import { UsageError } from '../../../src-main/cli/usage-error'
import { UserError } from '../../../src-main/engine/errors'
import type { HostTensor } from '../../../src-main/engine/formats/dtypes'
import { readSafetensors, writeSafetensors } from '../../../src-main/engine/formats/safetensors'

const models = path.join(import.meta.dirname, '..', '..', 'golden', 'models')
const model = path.join(models, 'llama')
let folder: string
let expected: Map<string, HostTensor>

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio-eval-'))
  expected = (await readSafetensors(path.join(model, 'expected.safetensors'))).tensors
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string): string => path.join(folder, name)

/** Norm of the difference by norm of the expected. */
function distance(actual: HostTensor | undefined, wanted: HostTensor): number {
  expect(actual?.shape).toEqual(wanted.shape)
  const [a, b] = [actual!.data as Float32Array, wanted.data as Float32Array]
  let difference = 0
  let norm = 0
  for (let i = 0; i < b.length; i++) {
    difference += (a[i] - b[i]) ** 2
    norm += b[i] ** 2
  }
  return Math.sqrt(difference / norm)
}

/** The first `count` positions of int64 [B, T]. */
function firstIds(ids: HostTensor, count: number): HostTensor {
  const [batch, length] = ids.shape
  const all = ids.data as BigInt64Array
  const data = new BigInt64Array(batch * count)
  for (let b = 0; b < batch; b++) data.set(all.subarray(b * length, b * length + count), b * count)
  return { dtype: 'I64', shape: [batch, count], data }
}

function evaluate(input: string, want: string, ...more: string[]) {
  return evalCommand([
    '--model',
    model,
    '--in',
    file(input),
    '--out',
    file('result.safetensors'),
    '--want',
    want,
    ...more,
  ])
}

describe('engine eval', () => {
  it('gives the hidden states and logits of ids', async () => {
    await writeSafetensors(file('ids.safetensors'), [['ids', expected.get('ids')!]])
    await evaluate('ids.safetensors', 'hidden,logits')
    const { tensors } = await readSafetensors(file('result.safetensors'))
    expect([...tensors.keys()]).toEqual(['hidden', 'logits'])
    expect(distance(tensors.get('hidden'), expected.get('hidden')!)).toBeLessThan(1e-4)
    expect(distance(tensors.get('logits'), expected.get('logits')!)).toBeLessThan(1e-4)
  })

  it('gives the gradient of sum(hidden * cotangent) to embeddings', async () => {
    const embeds = expected.get('vjp.inputs_embeds')!
    const cotangent = expected.get('vjp.cotangent')!
    const batched = ({ data, shape }: HostTensor) => ({
      data: data as Float32Array,
      shape: shape.length === 2 ? [1, ...shape] : shape,
    })
    await writeSafetensors(file('vjp.safetensors'), [
      ['inputs_embeds', batched(embeds)],
      ['cotangent', batched(cotangent)],
    ])
    await evaluate('vjp.safetensors', 'hidden,vjp')
    const { tensors } = await readSafetensors(file('result.safetensors'))
    const wanted = (name: string): HostTensor => ({ ...expected.get(name)!, ...batched(expected.get(name)!) })
    expect(distance(tensors.get('hidden'), wanted('vjp.hidden'))).toBeLessThan(1e-4)
    expect(distance(tensors.get('grad'), wanted('vjp.grad'))).toBeLessThan(1e-4)
  })

  it('rolls out 12 latents and writes 24 greedy tokens by default', async () => {
    await writeSafetensors(file('prompt.safetensors'), [['ids', firstIds(expected.get('ids')!, 20)]])
    await evaluate('prompt.safetensors', 'rollout,greedy', '--link', path.join(model, 'inner_link.safetensors'))
    const { tensors } = await readSafetensors(file('result.safetensors'))
    expect(distance(tensors.get('rollout.states'), expected.get('rollout.states')!)).toBeLessThan(1e-4)
    expect(distance(tensors.get('rollout.fed'), expected.get('rollout.fed')!)).toBeLessThan(1e-4)
    expect(tensors.get('greedy.tokens')!.data).toEqual(expected.get('greedy.tokens')!.data)
  })

  it('gives the same from ids and from their embeddings, the gradient too', async () => {
    const ids = firstIds(expected.get('ids')!, 5)
    const embeds = expected.get('embeds')!
    const [batch, length, width] = embeds.shape
    const cut = new Float32Array(batch * 5 * width)
    for (let b = 0; b < batch; b++)
      cut.set((embeds.data as Float32Array).subarray(b * length * width, (b * length + 5) * width), b * 5 * width)
    const cotangent = { shape: [batch, 5, width], data: Float32Array.from(cut, (_, i) => Math.sin(i)) }
    await writeSafetensors(file('a.safetensors'), [['ids', ids], ['cotangent', cotangent]]) // prettier-ignore
    await writeSafetensors(file('b.safetensors'), [['inputs_embeds', { shape: [batch, 5, width], data: cut }], ['cotangent', cotangent]]) // prettier-ignore
    await evaluate('a.safetensors', 'vjp')
    const fromIds = (await readSafetensors(file('result.safetensors'))).tensors.get('grad')!
    await evaluate('b.safetensors', 'vjp')
    const fromEmbeds = (await readSafetensors(file('result.safetensors'))).tensors.get('grad')
    expect(distance(fromEmbeds, fromIds)).toBeLessThan(1e-6)
  })

  it('leaves the model folder alone, and needs no right to write there', async () => {
    const before = readdirSync(model)
    chmodSync(model, 0o555)
    try {
      await writeSafetensors(file('ids.safetensors'), [['ids', expected.get('ids')!]])
      await evaluate('ids.safetensors', 'hidden')
    } finally {
      chmodSync(model, 0o755)
    }
    expect(readdirSync(model)).toEqual(before)
  })

  it('refuses to put the result into a folder that is not there, and makes none', async () => {
    await expect(
      evalCommand([
        '--model',
        model,
        '--in',
        file('ids.safetensors'),
        '--out',
        file('typo/result.safetensors'),
        '--want',
        'hidden',
      ]),
    ).rejects.toMatchObject({
      why: `The folder ${file('typo')} does not exist.`,
      next: expect.stringMatching(/[Mm]ake/),
    })
    expect(readdirSync(folder)).not.toContain('typo')
  })

  it('refuses to put the result into the model folder, by any path to it', async () => {
    const copy = file('copy')
    cpSync(model, copy, { recursive: true })
    symlinkSync(copy, file('another-way'))
    const before = readFileSync(path.join(copy, 'model.safetensors'))
    for (const out of [
      path.join(copy, 'model.safetensors'),
      path.join(copy, 'new.safetensors'),
      path.join(file('another-way'), 'r.safetensors'),
    ])
      await expect(
        evalCommand(['--model', copy, '--in', file('ids.safetensors'), '--out', out, '--want', 'hidden']),
      ).rejects.toThrow(/the model's own folder/)
    expect(readdirSync(copy).sort()).toEqual(readdirSync(model).sort())
    expect(readFileSync(path.join(copy, 'model.safetensors')).equals(before)).toBe(true)
  })

  it.each([
    [
      'an id outside the vocabulary',
      { ids: { shape: [1, 2], data: BigInt64Array.of(1n, 1_000_000n) } },
      'hidden',
      /1000000/,
    ],
    [
      'embeddings of another width',
      { inputs_embeds: { shape: [1, 2, 3], data: new Float32Array(6) } },
      'hidden',
      /width 3/,
    ],
    ['no input at all', { other: { shape: [1], data: new Float32Array(1) } }, 'hidden', /neither/],
    ['vjp without cotangent', { ids: { shape: [1, 2], data: BigInt64Array.of(1n, 2n) } }, 'vjp', /cotangent/],
    ['float ids', { ids: { shape: [1, 2], data: Float32Array.of(1, 2) } }, 'hidden', /int64/],
    ['an empty row', { ids: { shape: [1, 0], data: new BigInt64Array(0) } }, 'hidden', /no positions/],
  ])('refuses %s with a UserError and writes nothing', async (_, tensors, want, why) => {
    rmSync(file('result.safetensors'), { force: true })
    await writeSafetensors(file('bad.safetensors'), Object.entries(tensors))
    await expect(evaluate('bad.safetensors', want)).rejects.toSatisfy(
      (error) => error instanceof UserError && why.test(error.why),
    )
    expect(readdirSync(folder)).not.toContain('result.safetensors')
  })

  it('refuses what it does not know, and a rollout without a link', async () => {
    await expect(evaluate('ids.safetensors', 'hiden')).rejects.toThrow(UsageError)
    await expect(evaluate('ids.safetensors', 'rollout')).rejects.toThrow('--link')
    await expect(evaluate('ids.safetensors', 'hidden', '--steps', '0')).rejects.toThrow('at least 1')
  })
})

describe('engine describe', () => {
  it.each(['llama', 'qwen2-sharded', 'qwen3', 'mistral-window', 'llama3-rope-bf16', 'gemma3-text', 'qwen3_5-text'])(
    'tells what %s is',
    async (name) => {
      const description = await describeModel(path.join(models, name))
      const { family, hidden_size, parameters } = JSON.parse(
        readFileSync(path.join(models, name, 'expected.json'), 'utf8'),
      ) as { family: string; hidden_size: number; parameters: number }
      expect(description).toMatchObject({ family, widths: { hidden: hidden_size }, parameters })
      expect(description.memory.weights).toBe(4 * parameters)
      expect(description.memory.files).toBe((name.endsWith('bf16') ? 2 : 4) * parameters)
      expect(description.memory.total).toBe(description.memory.parts.reduce((n, { bytes }) => n + bytes, 0))
      const [weights, packed] = description.memory.parts
      expect(weights.bytes).toBe(4 * parameters)
      // float32 files: the blocks' matrices once more, all but the embeddings and the norms
      expect(/once more/.test(packed.name)).toBe(!name.endsWith('bf16'))
    },
  )

  it('counts the text part alone of a model that sees', async () => {
    const text = await describeModel(path.join(models, 'gemma3-text'))
    const { family, parameters, dtypes, memory } = await describeModel(path.join(models, 'gemma3-multimodal-bf16'))
    expect({ family, parameters, dtypes }).toEqual({ family: 'gemma3', parameters: text.parameters, dtypes: ['BF16'] })
    const { files, weights, cachePerToken, statePerRow } = text.memory
    expect(memory).toMatchObject({ files: files / 2, weights, cachePerToken, statePerRow })
    expect(memory.parts[0]).toEqual({ name: 'weights, widened to float32', bytes: weights })
  })

  it('counts what recurrent layers keep of a row beside the cache of the others', async () => {
    const { layers, recurrentLayers, memory } = await describeModel(path.join(models, 'qwen3_5-text'))
    expect([layers, recurrentLayers]).toEqual([5, 3])
    // 2 layers that attend: keys and values of 2 heads of 32; 3 that do not: 3 places of 160 channels, 4 states of 16 x 24
    expect([memory.cachePerToken, memory.statePerRow]).toEqual([4 * 2 * 2 * 2 * 32, 4 * 3 * (3 * 160 + 4 * 16 * 24)])
  })

  it('refuses a folder without a model', async () => {
    await expect(describeModel(folder)).rejects.toThrow(UserError)
    const config = path.join(models, 'qwen3/config.json')
    await expect(describeModel(config)).rejects.toThrow(
      `${config} is a file; the folder that it lies in may be the model's.`,
    )
  })
})

/** What a model takes: counted from config.json and headers, the same before it is downloaded. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modelMemory, modelMemoryOf, tensorsOf, typeOnHub } from '../../../src-main/engine/memory/model-memory'
import { resolveConfig } from '../../../src-main/engine/models/families'
import { openTextWeights } from '../../../src-main/engine/models/weights'

const models = join(import.meta.dirname, '../../golden/models')
const raw = (name: string) =>
  JSON.parse(readFileSync(join(models, name, 'config.json'), 'utf8')) as Record<string, unknown>

test.each(['llama', 'qwen2-sharded', 'mistral-window', 'gemma3-text', 'qwen3_5-text'])(
  'the tensors of %s are those of its files',
  async (name) => {
    const { tensors } = tensorsOf(resolveConfig(raw(name)))
    const files = (await openTextWeights(join(models, name))).tensors
    expect(new Map(tensors.map((t) => [t.name, t.shape]))).toEqual(
      new Map([...files].map(([tensor, { shape }]) => [tensor, shape])),
    )
    // the blocks' matrices, and nothing else, are read once more by steps
    for (const { name: tensor, shape, packs } of tensors)
      expect([tensor, packs]).toEqual([tensor, shape.length === 2 && tensor.startsWith('model.layers.')])
  },
)

test('a model on a hub is counted as it will be on the disk', async () => {
  for (const name of ['llama', 'llama3-rope-bf16', 'gemma3-multimodal-bf16']) {
    const config = resolveConfig(raw(name))
    const bytes = (await openTextWeights(join(models, name))).bytes
    for (const fields of [raw(name), { model_type: raw(name).model_type }])
      expect(modelMemoryOf(config, () => typeOnHub(fields, config, bytes))).toEqual(
        await modelMemory(join(models, name)),
      )
  }
})

test('longer texts take more: caches and working memory, nothing else', async () => {
  const short = await modelMemory(join(models, 'llama'), { places: 100 })
  const long = await modelMemory(join(models, 'llama'), { places: 200 })
  const grown = long.parts.filter(({ bytes }, i) => bytes !== short.parts[i].bytes).map(({ name }) => name)
  expect(grown).toEqual(['keys and values of 200 tokens', 'working memory for 200 tokens'])
  // 2 slabs a layer, float32
  const { layers, kvHeads, headDim } = resolveConfig(raw('llama'))
  expect(long.parts.find(({ name }) => name.startsWith('keys'))!.bytes).toBe(200 * 2 * layers * kvHeads * headDim * 4)
})

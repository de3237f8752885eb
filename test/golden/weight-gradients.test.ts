/** Gradients with respect to weights (full-weight training) against torch: tied heads, biases, norms, windows included. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readFloat32, readSafetensors } from '../../src-main/engine/formats/safetensors'
import type { DecoderConfig } from '../../src-main/engine/models/config'
import { decoderBlocks, embedTokens, finalNorm, headMatrix } from '../../src-main/engine/models/decoder'
import { readConfig } from '../../src-main/engine/models/families'
import { InputWeights, openTextWeights, textTensorName } from '../../src-main/engine/models/weights'
import { crossEntropy } from '../../src-main/engine/nn/losses'
import { gradients } from '../../src-main/engine/nn/rules'
import { Graph } from '../../src-main/engine/onnx/graph'
import * as op from '../../src-main/engine/onnx/ops'
import { EngineSession, type ArrayInput } from '../../src-main/engine/onnx/session'
import { modelCases, modelsFolder } from './model-cases'
import { relativeError, tokensOf } from './numbers'
import { plainPass } from './plain-pass'

/** Loss of one row and the gradients of all weights; fed by token ids or by embeddings. */
function lossGraph(config: DecoderConfig, length: number, from: 'ids' | 'embeds'): { g: Graph; names: string[] } {
  const g = new Graph('weights')
  const weights = new InputWeights(g)
  const x =
    from === 'ids'
      ? embedTokens(g, config, weights, g.input('ids', 'int64', [length]))
      : g.input('embeds', 'float32', [length, config.hiddenSize])
  const blocks = decoderBlocks(plainPass(g, config, length), config, weights, x)
  const states = finalNorm(g, config, weights, op.gather(g, blocks, g.input('places', 'int64', ['C'])))
  const logits = op.gemm(g, states, headMatrix(config, weights), null, { transB: true })
  const losses = crossEntropy(g, logits, g.input('labels', 'int64', ['C']))
  g.output(losses, 'losses')
  const names = [...weights.inputs.keys()]
  gradients(g, [[losses, g.input('weights', 'float32', ['C'])]], [...weights.inputs.values()]).forEach((v, i) =>
    g.output(v!, `d/${names[i]}`),
  )
  return { g, names }
}

describe.each(modelCases)('%s', (name) => {
  it.each([
    ['lm', 'ids', 0, 24],
    ['ce', 'embeds', 11, 20],
  ] as const)('%s.weight_grad', async (kind, from, start, length) => {
    const folder = join(modelsFolder, name)
    const config = await readConfig(folder)
    const { tensors } = await readSafetensors(join(folder, 'expected.safetensors'))
    const index = await openTextWeights(folder)
    const ids = tokensOf(tensors.get('ids')!)[0]
    const { g, names } = lossGraph(config, length, from)
    const session = await EngineSession.open(g, { threads: 1 })
    try {
      const int64 = (list: readonly number[]): ArrayInput => ({
        data: BigInt64Array.from(list.map(BigInt)),
        shape: [list.length],
      })
      const places = Array.from({ length: length - 1 - start }, (_, i) => start + i)
      const feeds: Record<string, ArrayInput> = {
        places: int64(places),
        labels: int64(places.map((p) => ids[p + 1])),
        weights: { data: new Float32Array(places.length).fill(1 / places.length), shape: [places.length] },
        ...(from === 'ids'
          ? { ids: int64(ids) }
          : {
              embeds: {
                data: tensors.get('vjp.inputs_embeds')!.data as Float32Array,
                shape: [length, config.hiddenSize],
              },
            }),
      }
      for (const n of names) {
        const t = index.tensors.get(n)!
        feeds[n] = { data: await readFloat32(t), shape: t.shape }
      }
      const results = await session.run(feeds)
      const losses = results.losses.data as Float32Array
      const want = tensors.get(`${kind}.loss`)!.data as Float32Array
      expect(Math.abs(losses.reduce((a, b) => a + b, 0) / losses.length / want[0] - 1)).toBeLessThan(1e-5)
      const golden = [...tensors.keys()].filter((k) => k.startsWith(`${kind}.weight_grad/`))
      expect(golden.length).toBeGreaterThan(5)
      for (const key of golden) {
        const weight = textTensorName(key.slice(key.indexOf('/') + 1))
        expect(
          relativeError(results[`d/${weight}`].data as Float32Array, tensors.get(key)!.data as Float32Array),
          key,
        ).toBeLessThan(1e-4)
      }
    } finally {
      await session.dispose()
    }
  })
})

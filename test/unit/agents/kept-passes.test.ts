/** A gradient that starts from a recorded pass must be the one that computes everything itself. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Row } from '../../../src-main/engine/agents/agent'
import { openAgent } from '../../../src-main/engine/agents/onnx-agent'
import { relativeError } from '../../golden/numbers'

const models = ['llama', 'qwen2-sharded', 'qwen3', 'mistral-window', 'gemma3-text', 'qwen3_5-text']
const ids = (n: number, from: number) => Array.from({ length: n }, (_, i) => 4 + ((from + i * 37) % 200))
const wave = (n: number, step: number) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * step))

describe.each(models)('a recorded pass of %s', (model) => {
  it('gives the states and gradients of one that is not, in several batches and after cached text', async () => {
    const folder = join(import.meta.dirname, '../../golden/models', model)
    const options = { threads: 1, maxPlaces: 60 }
    const [keeping, plain] = await Promise.all([openAgent(folder, { ...options, keepsPasses: true }), openAgent(folder, options)])
    try {
      const h = plain.hiddenSize
      const slot = (count: number): Row['segments'][number] => ({ kind: 'latents', values: wave(count * h, 0.7), count })
      const rows = async (agent: typeof plain): Promise<Row[]> => {
        const [prefix] = await agent.encodePrefixes([ids(11, 5)])
        return [
          { prefix, segments: [slot(5), { kind: 'tokens', ids: ids(9, 1) }] },
          { segments: [{ kind: 'tokens', ids: ids(3, 2) }, slot(4), { kind: 'tokens', ids: ids(20, 3) }] },
          { prefix, segments: [{ kind: 'tokens', ids: ids(2, 4) }, slot(5), { kind: 'tokens', ids: ids(8, 7) }] },
        ]
      }
      const positions = [[12, 13], [20, 25, 26], [14]]
      const cotangents = positions.map((p) => wave(p.length * h, 0.3))
      const expected = await plain.vjp(await rows(plain), { positions, cotangents })

      const given = await rows(keeping)
      const { states, kept } = await keeping.record(given, positions)
      expect(kept!.bytes).toBeGreaterThan(0)
      const made = await keeping.vjp(given, { positions, cotangents, kept: kept! })
      kept!.dispose()
      expect(kept!.bytes).toBe(0)
      for (const [i, s] of expected.states.entries()) {
        expect(relativeError([states[i]], [s])).toBeLessThan(1e-5)
        expect(relativeError([made.states[i]], [s])).toBeLessThan(1e-5)
        expect(relativeError(made.gradients[i], expected.gradients[i])).toBeLessThan(1e-5)
      }
      // and without having kept anything
      const alone = await keeping.vjp(given, { positions, cotangents })
      for (const [i, g] of expected.gradients.entries()) expect(relativeError(alone.gradients[i], g)).toBeLessThan(1e-5)
      await expect(keeping.vjp(given, { positions, cotangents, kept: kept! })).rejects.toThrow(/after it was disposed/)
    } finally {
      await Promise.all([keeping.dispose(), plain.dispose()])
    }
  })
})

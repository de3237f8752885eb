/** Model folders as people have them: linked, read-only, sharded; and broken ones, each refused by name before any run. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openAgent } from '../../../src-main/engine/agents/onnx-agent'
import { readSafetensors, writeSafetensors } from '../../../src-main/engine/formats/safetensors'
import { openTextWeights } from '../../../src-main/engine/models/weights'
import { relativeError } from '../../golden/numbers'

const golden = join(import.meta.dirname, '../../golden/models')
let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'model-folder-'))))
afterEach(() => {
  chmodSync(folder, 0o755)
  rmSync(folder, { recursive: true, force: true })
})

async function hiddenError(model: string, name: string): Promise<number> {
  const { tensors } = await readSafetensors(join(golden, name, 'expected.safetensors'))
  const agent = await openAgent(model)
  try {
    const ids = [...(tensors.get('ids')!.data as BigInt64Array)].slice(0, 24).map(Number)
    const states = await agent.states([{ segments: [{ kind: 'tokens', ids }] }], [ids.map((_, t) => t)])
    return relativeError(states, (tensors.get('hidden')!.data as Float32Array).slice(0, 24 * agent.hiddenSize))
  } finally {
    await agent.dispose()
  }
}

/** A copy of a golden model with its weights changed. */
async function changed(
  name: string,
  change: (tensors: Awaited<ReturnType<typeof readSafetensors>>['tensors']) => void,
): Promise<string> {
  const { tensors } = await readSafetensors(join(golden, name, 'model.safetensors'))
  change(tensors)
  await writeSafetensors(join(folder, 'model.safetensors'), tensors)
  cpSync(join(golden, name, 'config.json'), join(folder, 'config.json'))
  return folder
}

describe('model folders', () => {
  it('may be linked, as a Hugging Face cache is', async () => {
    const snapshot = join(folder, 'snapshots', 'abc')
    mkdirSync(snapshot, { recursive: true })
    mkdirSync(join(folder, 'blobs'))
    for (const file of ['config.json', 'model.safetensors']) {
      cpSync(join(golden, 'llama', file), join(folder, 'blobs', `sha-${file}`))
      symlinkSync(join('..', '..', 'blobs', `sha-${file}`), join(snapshot, file))
    }
    expect(await hiddenError(snapshot, 'llama')).toBeLessThan(1e-4)
  })

  it('may have shards in different folders', async () => {
    mkdirSync(join(folder, 'model'))
    mkdirSync(join(folder, 'elsewhere'))
    cpSync(join(golden, 'qwen2-sharded'), join(folder, 'model'), { recursive: true })
    const shard = 'model-00002-of-00002.safetensors'
    cpSync(join(golden, 'qwen2-sharded', shard), join(folder, 'elsewhere', shard))
    rmSync(join(folder, 'model', shard))
    symlinkSync(join(folder, 'elsewhere', shard), join(folder, 'model', shard))
    expect(await hiddenError(join(folder, 'model'), 'qwen2-sharded')).toBeLessThan(1e-4)
  })

  it.each([
    ['model.language_model.', 'lm_head.'],
    ['language_model.model.', 'language_model.lm_head.'],
  ])('may keep a text model beside a vision part as %s*', async (text, head) => {
    const vision = { dtype: 'F32' as const, shape: [3], data: new Float32Array(3) }
    const model = await changed('gemma3-text', (tensors) => {
      for (const [n, t] of [...tensors]) {
        tensors.delete(n)
        tensors.set(n.replace(/^model\./, text).replace(/^lm_head\./, head), t)
      }
      // parts with layers and norms of their own
      for (const n of ['vision_tower.norm.weight', 'model.visual.norm.weight', 'mtp.norm.weight'])
        tensors.set(n, vision)
    })
    expect(await hiddenError(model, 'gemma3-text')).toBeLessThan(1e-4)
    const { parameters } = JSON.parse(readFileSync(join(golden, 'gemma3-text/expected.json'), 'utf8')) as {
      parameters: number
    }
    const { tensors } = await openTextWeights(model)
    expect([...tensors.values()].reduce((n, { shape }) => n + shape.reduce((a, b) => a * b, 1), 0)).toBe(parameters)
  })

  it('may keep layers for predicting several tokens beside those of Qwen 3.5, which are not read', async () => {
    const model = await changed('qwen3_5-text', (tensors) => {
      for (const [n, t] of [...tensors])
        if (n.startsWith('model.layers.2.')) tensors.set(n.replace('model.layers.2.', 'mtp.layers.0.'), t)
    })
    expect(await hiddenError(model, 'qwen3_5-text')).toBeLessThan(1e-4)
  })

  it('may be read-only, with spaces and other letters in the path, and stay untouched', async () => {
    const model = join(folder, 'Modèle № 1 – 模型')
    cpSync(join(golden, 'qwen3'), model, { recursive: true })
    chmodSync(model, 0o555)
    const before = readFileSync(join(model, 'model.safetensors'))
    expect(await hiddenError(model, 'qwen3')).toBeLessThan(1e-4)
    expect(readFileSync(join(model, 'model.safetensors')).equals(before)).toBe(true)
    chmodSync(model, 0o755)
  })
})

describe('broken model folders', () => {
  it('a missing folder or config.json', async () => {
    await expect(openAgent(join(folder, 'nowhere'))).rejects.toThrow(/config\.json does not exist/)
  })

  it('a config.json that is not JSON', async () => {
    writeFileSync(join(folder, 'config.json'), '{"model_type": ')
    await expect(openAgent(folder)).rejects.toThrow(
      /config\.json is not JSON \(line 1, column 16: the text ends, but a \} is missing\)/,
    )
  })

  it('no weights at all', async () => {
    cpSync(join(golden, 'llama', 'config.json'), join(folder, 'config.json'))
    await expect(openAgent(folder)).rejects.toThrow(/neither model\.safetensors nor/)
  })

  it('truncated weights', async () => {
    cpSync(join(golden, 'llama'), folder, { recursive: true })
    truncateSync(join(folder, 'model.safetensors'), 500_000)
    await expect(openAgent(folder)).rejects.toThrow(/model\.safetensors/)
  })

  it('a tensor that is not there', async () => {
    const model = await changed('llama', (t) => t.delete('model.layers.2.mlp.up_proj.weight'))
    await expect(openAgent(model)).rejects.toThrow(/no tensor "model\.layers\.2\.mlp\.up_proj\.weight"/)
  })

  it('a tensor whose shape contradicts config.json', async () => {
    const model = await changed('llama', (t) =>
      t.set('model.norm.weight', { dtype: 'F32', shape: [32], data: new Float32Array(32) }),
    )
    await expect(openAgent(model)).rejects.toThrow(/"model\.norm\.weight".*shape \[32\].*implies \[64\]/)
  })

  it('a tensor of a type that holds no weights', async () => {
    const model = await changed('llama', (t) =>
      t.set('model.norm.weight', { dtype: 'I64', shape: [64], data: new BigInt64Array(64) }),
    )
    await expect(openAgent(model)).rejects.toThrow(/"model\.norm\.weight".*I64; supported are F32, F16 and BF16/)
  })
})

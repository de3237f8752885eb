/** Rows of the embedding matrix read straight from the weights file; rows seen before are kept. */
import { open, type FileHandle } from 'node:fs/promises'
import { decodeElements } from '../formats/dtypes'
import type { WeightIndex } from '../formats/model-weights'
import type { DecoderConfig } from '../models/config'
import { findTensor } from '../models/weights'

export class EmbeddingRows {
  private readonly known = new Map<number, Float32Array>()

  constructor(
    private readonly weights: WeightIndex,
    private readonly config: DecoderConfig,
  ) {}

  /** [ids.length, H], float32. */
  async rows(ids: readonly number[]): Promise<Float32Array> {
    const { hiddenSize: h, vocabSize } = this.config
    const missing = [...new Set(ids)].filter((id) => !this.known.has(id))
    if (missing.some((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize)) throw new RangeError('a token id is outside the vocabulary')
    if (missing.length) await this.read(missing, h, vocabSize)
    const out = new Float32Array(ids.length * h)
    ids.forEach((id, i) => out.set(this.known.get(id)!, i * h))
    return out
  }

  private async read(ids: readonly number[], h: number, vocabSize: number): Promise<void> {
    const factor = Math.fround(this.config.embeddingScale)
    const at = findTensor(this.weights, 'model.embed_tokens.weight', [vocabSize, h])
    const size = at.length / vocabSize
    const file: FileHandle = await open(at.file, 'r')
    try {
      for (const id of ids) {
        const bytes = new Uint8Array(size)
        await file.read(bytes, 0, size, at.offset + id * size)
        const row = decodeElements(bytes, at.dtype) as Float32Array
        this.known.set(id, factor === 1 ? row : row.map((x) => x * factor))
      }
    } finally {
      await file.close()
    }
  }
}

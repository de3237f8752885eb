/** What one row's text leaves behind, on the host: keys and values [slabs, kvHeads, length, headDim], and the memory of recurrent layers. */
import type { ArrayOutput } from '../onnx/session'
import type { Prefix } from './agent'

export class CachedText implements Prefix {
  private constructor(
    private values: Float32Array | null,
    private recurrent: Float32Array | null,
    readonly length: number,
  ) {}

  get bytes(): number {
    return (this.values?.byteLength ?? 0) + (this.recurrent?.byteLength ?? 0)
  }

  /** Throws after `dispose`. */
  get data(): Float32Array {
    if (!this.values) throw new Error('cached text was used after it was disposed')
    return this.values
  }

  /** Throws after `dispose`. */
  get memory(): Float32Array {
    if (!this.recurrent) throw new Error('cached text was used after it was disposed')
    return this.recurrent
  }

  dispose(): void {
    this.values = null
    this.recurrent = null
  }

  /**
   * Row `b` of memories [B, numbers] and of a cache [slabs, B, kvHeads, places, d] whose places are: past (`pastPlaces`, the
   * first `pastLength` valid), then the row's own text (the rest but `grown`, the first `length` valid), then `grown` valid ones.
   */
  static fromBatch({ cache, memory }: Record<string, ArrayOutput>, b: number, pastLength: number, pastPlaces: number, length: number, grown: number): CachedText {
    const [slabs, batch, heads, places, d] = cache.shape
    const total = pastLength + length + grown
    const data = cache.data as Float32Array
    const out = new Float32Array(slabs * heads * total * d)
    for (let s = 0; s < slabs; s++) {
      for (let h = 0; h < heads; h++) {
        const from = ((s * batch + b) * heads + h) * places * d
        const to = (s * heads + h) * total * d
        out.set(data.subarray(from, from + pastLength * d), to)
        const own = from + pastPlaces * d
        out.set(data.subarray(own, own + length * d), to + pastLength * d)
        const end = from + (places - grown) * d
        out.set(data.subarray(end, end + grown * d), to + (pastLength + length) * d)
      }
    }
    const numbers = memory.shape[1]
    return new CachedText(out, (memory.data as Float32Array).slice(b * numbers, (b + 1) * numbers), total)
  }
}

/**
 * Pasts of several rows as one array [slabs, B, kvHeads, longest, d], zeros after each row's own length, and their memories
 * [B, numbers]; one row of zeros stands for all where none has a past.
 */
export function joinPasts(
  pasts: readonly (CachedText | null)[],
  shape: { readonly slabs: number; readonly kvHeads: number; readonly headDim: number; readonly memory: number },
): { data: Float32Array; lengths: number[]; places: number; memory: Float32Array } {
  const lengths = pasts.map((p) => p?.length ?? 0)
  const places = Math.max(...lengths)
  const { slabs } = shape
  const d = shape.headDim
  const memory = new Float32Array(shape.memory * (pasts.some((p) => p) ? pasts.length : 1))
  const data = new Float32Array(slabs * pasts.length * shape.kvHeads * places * d)
  pasts.forEach((past, b) => {
    if (!past) return
    memory.set(past.memory, b * shape.memory)
    const n = past.length * d
    for (let s = 0; s < slabs; s++) {
      for (let h = 0; h < shape.kvHeads; h++) {
        const from = (s * shape.kvHeads + h) * n
        data.set(past.data.subarray(from, from + n), ((s * pasts.length + b) * shape.kvHeads + h) * places * d)
      }
    }
  })
  return { data, lengths, places, memory }
}

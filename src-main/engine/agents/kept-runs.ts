/** What the runs of recorded passes gave out, batch by batch, for gradients over the same batches; and the memory for it. */
import type { ArrayInput } from '../onnx/session'
import type { KeptPass } from './agent'

/** Memory that passes of an agent leave to later ones: making it anew would cost more than filling it. */
export class KeptMemory {
  private free: Float32Array[] = []
  /** Bytes in use. */
  held = 0

  /** Room for so many numbers, of any content. */
  take(size: number): ArrayInput & { readonly data: Float32Array } {
    const fits = this.free.filter((a) => a.length >= size).sort((a, b) => a.length - b.length)
    // a much larger one is left to those that need it
    const found = fits.length && fits[0].length < 2 * size ? fits[0] : new Float32Array(size)
    this.free = this.free.filter((a) => a !== found)
    this.held += found.byteLength
    return { data: found.subarray(0, size), shape: [size] }
  }

  give(data: Float32Array): void {
    const whole = new Float32Array(data.buffer)
    this.held -= whole.byteLength
    this.free.push(whole)
  }
}

export class KeptRuns implements KeptPass {
  private runs: { readonly batch: readonly number[]; readonly data: Float32Array }[] = []

  constructor(private readonly memory: KeptMemory) {}

  /** `data` comes from the memory. */
  add(batch: readonly number[], data: Float32Array): void {
    this.runs.push({ batch, data })
  }

  get bytes(): number {
    return this.runs.reduce((n, r) => n + r.data.byteLength, 0)
  }

  /** Throws after `dispose`. */
  get batches(): readonly (readonly number[])[] {
    if (this.runs.length === 0) throw new Error('a kept pass was used after it was disposed')
    return this.runs.map((r) => r.batch)
  }

  of(batch: readonly number[]): ArrayInput {
    const run = this.runs.find((r) => r.batch === batch)
    if (!run) throw new Error('a kept pass was used for other rows')
    return { data: run.data, shape: [run.data.length] }
  }

  dispose(): void {
    for (const { data } of this.runs) this.memory.give(data)
    this.runs = []
  }
}

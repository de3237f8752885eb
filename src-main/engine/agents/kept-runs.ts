/** What the runs of a recorded pass gave out, batch by batch, for a gradient over the same batches. */
import type { KeptPass } from './agent'

interface KeptRun {
  readonly batch: readonly number[]
  readonly parts: readonly Float32Array[]
}

export class KeptRuns implements KeptPass {
  private runs: KeptRun[] = []

  /** `held`: told of bytes that are held more, or fewer. */
  constructor(private readonly held: (bytes: number) => void) {}

  add(batch: readonly number[], parts: readonly Float32Array[]): void {
    this.runs.push({ batch, parts })
    this.held(bytesOf(parts))
  }

  get bytes(): number {
    return this.runs.reduce((n, r) => n + bytesOf(r.parts), 0)
  }

  /** Throws after `dispose`. */
  get batches(): readonly (readonly number[])[] {
    if (this.runs.length === 0) throw new Error('a kept pass was used after it was disposed')
    return this.runs.map((r) => r.batch)
  }

  of(batch: readonly number[]): readonly Float32Array[] {
    const run = this.runs.find((r) => r.batch === batch)
    if (!run) throw new Error('a kept pass was used for other rows')
    return run.parts
  }

  dispose(): void {
    this.held(-this.bytes)
    this.runs = []
  }
}

const bytesOf = (parts: readonly Float32Array[]) => parts.reduce((n, p) => n + p.byteLength, 0)

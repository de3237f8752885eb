/** What a link should say at each place of its sender's rollout: mean embeddings of the receiver's tokens that stand there. */
import type { Agent } from '../agents/agent'

/** Mean embeddings of lists of tokens, by place: place `row * steps + t` is step t of text `row`. */
export class TargetTable {
  private constructor(
    private readonly wanted: readonly (readonly number[])[],
    private readonly table: ReadonlyMap<number, Float32Array>,
    readonly width: number,
  ) {}

  /** `wanted`: per place the receiver's token ids, at least one. */
  static async of(
    receiver: Pick<Agent, 'embed' | 'hiddenSize'>,
    wanted: readonly (readonly number[])[],
  ): Promise<TargetTable> {
    const ids = [...new Set(wanted.flat())]
    const width = receiver.hiddenSize
    const all = ids.length > 0 ? await receiver.embed(ids) : new Float32Array(0)
    return new TargetTable(wanted, new Map(ids.map((id, i) => [id, all.subarray(i * width, (i + 1) * width)])), width)
  }

  get places(): number {
    return this.wanted.length
  }

  /** Targets of these places, [places.length, width]. */
  at(places: readonly number[]): Float32Array {
    const out = new Float32Array(places.length * this.width)
    places.forEach((place, k) => {
      const row = out.subarray(k * this.width, (k + 1) * this.width)
      const ids = this.wanted[place]
      for (const id of ids) {
        const e = this.table.get(id)!
        for (let i = 0; i < row.length; i++) row[i] += e[i] / ids.length
      }
    })
    return out
  }
}

/**
 * An agent small enough to check by hand: state t = tanh(A mean(x_0..x_t) + B x_t), logits = U state. Causal, with an exact
 * vjp in double precision, so that what is built above agents can be tested without a model.
 */
import type {
  Agent,
  InnerLinkState,
  Prefix,
  RolloutResult,
  Row,
  SamplingOptions,
  VjpRequest,
  VjpResult,
} from '../../../src-main/engine/agents/agent'
import type { LinkGraph } from '../../../src-main/engine/nn/link-graphs'

class ToyPrefix implements Prefix {
  disposed = false
  readonly bytes = 0
  constructor(readonly ids: readonly number[]) {}
  get length(): number {
    return this.ids.length
  }
  dispose(): void {
    this.disposed = true
  }
}

export class ToyAgent implements Agent {
  readonly parameterCount = 0
  /** Calls and rows by name, for tests of what is saved. */
  readonly calls: Record<string, number> = {}
  /** Positions read by any call, prefixes not counted again. */
  positionsRead = 0
  readonly prefixes: ToyPrefix[] = []
  private readonly table: Float64Array
  private readonly mix: Float64Array
  private readonly own: Float64Array
  private readonly head: Float64Array

  constructor(
    readonly hiddenSize: number,
    readonly vocabSize: number,
    seed: number,
    private readonly innerGraph: LinkGraph,
  ) {
    const random = lcg(seed)
    const draw = (n: number, size: number) => Float64Array.from({ length: n }, () => (random() * 2 - 1) * size)
    this.table = draw(vocabSize * hiddenSize, 1)
    this.mix = draw(hiddenSize * hiddenSize, 1.2 / Math.sqrt(hiddenSize))
    this.own = draw(hiddenSize * hiddenSize, 1.2 / Math.sqrt(hiddenSize))
    this.head = draw(vocabSize * hiddenSize, 1.5 / Math.sqrt(hiddenSize))
  }

  async embed(ids: readonly number[]): Promise<Float32Array> {
    return Float32Array.from(this.embedded(ids).flatMap((x) => [...x]))
  }

  async encodePrefixes(texts: readonly (readonly number[])[]): Promise<Prefix[]> {
    this.note('encodePrefixes')
    const made = texts.map((t) => new ToyPrefix(t))
    for (const t of texts) this.positionsRead += t.length
    this.prefixes.push(...made)
    return made
  }

  async states(rows: readonly Row[], positions: readonly (readonly number[])[]): Promise<Float32Array[]> {
    this.note('states')
    return rows.map((row, b) => {
      const { states, offset } = this.run(row)
      return Float32Array.from(positions[b].flatMap((p) => [...at(states, p + offset)]))
    })
  }

  async record(rows: readonly Row[], positions: readonly (readonly number[])[]): Promise<{ states: Float32Array[]; kept: null }> {
    return { states: await this.states(rows, positions), kept: null }
  }

  async logits(rows: readonly Row[], positions: readonly (readonly number[])[]): Promise<Float32Array[]> {
    this.note('logits')
    return rows.map((row, b) => {
      const { states, offset } = this.run(row)
      return Float32Array.from(positions[b].flatMap((p) => this.logitsOf(at(states, p + offset))))
    })
  }

  async crossEntropy(rows: readonly Row[], targets: NonNullable<VjpRequest['targets']>): Promise<Float32Array> {
    const r = await this.vjp(rows, { positions: rows.map(() => []), targets })
    this.note('crossEntropy')
    return r.losses
  }

  async vjp(rows: readonly Row[], request: VjpRequest): Promise<VjpResult> {
    this.note('vjp')
    const H = this.hiddenSize
    const losses = new Float32Array(rows.length)
    const states: Float32Array[] = []
    const gradients = rows.map((row, b) => {
      const run = this.run(row)
      const dh = run.states.map(() => new Float64Array(H))
      states.push(Float32Array.from(request.positions[b].flatMap((p) => [...at(run.states, p + run.offset)])))
      const cotangent = request.cotangents?.[b]
      if (cotangent)
        request.positions[b].forEach((p, k) => dh[p + run.offset].forEach((_, i, d) => (d[i] += cotangent[k * H + i])))
      const target = request.targets?.[b]
      const weight = request.lossWeights?.[b] ?? 1
      target?.ids.forEach((id, k) => {
        const t = target.positions[k] + run.offset
        const logits = this.logitsOf(at(run.states, t))
        const most = Math.max(...logits)
        const sum = logits.reduce((s, l) => s + Math.exp(l - most), 0)
        losses[b] += (Math.log(sum) + most - logits[id]) / target.ids.length
        logits.forEach((l, v) => {
          const g = ((Math.exp(l - most) / sum - (v === id ? 1 : 0)) * weight) / target.ids.length
          for (let i = 0; i < H; i++) dh[t][i] += g * this.head[v * H + i]
        })
      })
      const dx = this.back(run.states, dh)
      let place = run.offset
      const perSegment: Float32Array[] = []
      for (const s of row.segments) {
        const size = s.kind === 'tokens' ? s.ids.length : s.count
        if (s.kind === 'latents')
          perSegment.push(Float32Array.from(dx.slice(place, place + size).flatMap((d) => [...d])))
        place += size
      }
      return perSegment
    })
    return { states, losses, gradients }
  }

  async rollout(rows: readonly Row[], link: InnerLinkState, steps: number): Promise<RolloutResult> {
    this.note('rollout')
    const states: Float32Array[] = []
    const fed: Float32Array[] = []
    for (const row of rows) {
      const x = this.inputs(row)
      const s: number[] = []
      const f: number[] = []
      for (let t = 0; t < steps; t++) {
        const h = Float32Array.from(this.forward(x).at(-1)!)
        const e = await this.innerGraph.forward(link.parameters, h)
        s.push(...h)
        f.push(...e)
        x.push(Float64Array.from(e))
      }
      states.push(Float32Array.from(s))
      fed.push(Float32Array.from(f))
    }
    return { states, fed }
  }

  async generate(rows: readonly Row[], options: SamplingOptions): Promise<number[][]> {
    this.note('generate')
    return rows.map((row) => {
      const x = this.inputs(row)
      const out: number[] = []
      while (out.length < options.maxNewTokens) {
        const logits = this.logitsOf(this.forward(x).at(-1)!)
        const id = logits.indexOf(Math.max(...logits))
        out.push(id)
        if (options.stopIds.includes(id)) break
        x.push(...this.embedded([id]))
      }
      return out
    })
  }

  async dispose(): Promise<void> {}

  private note(name: string): void {
    this.calls[name] = (this.calls[name] ?? 0) + 1
  }

  private run(row: Row): { states: Float64Array[]; offset: number } {
    const prefix = row.prefix as ToyPrefix | undefined
    if (prefix?.disposed) throw new Error('a prefix was used after it was disposed')
    const x = this.inputs(row)
    this.positionsRead += x.length - (prefix?.length ?? 0)
    return { states: this.forward(x), offset: prefix?.length ?? 0 }
  }

  private inputs(row: Row): Float64Array[] {
    const x = row.prefix ? this.embedded((row.prefix as ToyPrefix).ids) : []
    for (const s of row.segments) {
      if (s.kind === 'tokens') x.push(...this.embedded(s.ids))
      else {
        if (s.values.length !== s.count * this.hiddenSize) throw new Error('latents of the wrong width')
        for (let k = 0; k < s.count; k++)
          x.push(Float64Array.from(s.values.subarray(k * this.hiddenSize, (k + 1) * this.hiddenSize)))
      }
    }
    if (x.length === 0) throw new Error('an empty row')
    return x
  }

  private embedded(ids: readonly number[]): Float64Array[] {
    return ids.map((id) =>
      Float64Array.from(this.table.subarray(id * this.hiddenSize, (id + 1) * this.hiddenSize), Math.fround),
    )
  }

  private forward(x: readonly Float64Array[]): Float64Array[] {
    const H = this.hiddenSize
    const sum = new Float64Array(H)
    return x.map((row, t) => {
      for (let i = 0; i < H; i++) sum[i] += row[i]
      return Float64Array.from({ length: H }, (_, i) => {
        let u = 0
        for (let j = 0; j < H; j++) u += this.mix[i * H + j] * (sum[j] / (t + 1)) + this.own[i * H + j] * row[j]
        return Math.tanh(u)
      })
    })
  }

  private back(h: readonly Float64Array[], dh: readonly Float64Array[]): Float64Array[] {
    const H = this.hiddenSize
    const later = new Float64Array(H)
    const dx = h.map(() => new Float64Array(H))
    for (let t = h.length - 1; t >= 0; t--) {
      const du = Float64Array.from(dh[t], (d, i) => d * (1 - h[t][i] ** 2))
      for (let j = 0; j < H; j++) {
        let toMean = 0
        let toOwn = 0
        for (let i = 0; i < H; i++) {
          toMean += this.mix[i * H + j] * du[i]
          toOwn += this.own[i * H + j] * du[i]
        }
        later[j] += toMean / (t + 1)
        dx[t][j] = toOwn + later[j]
      }
    }
    return dx
  }

  private logitsOf(h: Float64Array): number[] {
    const H = this.hiddenSize
    return Array.from({ length: this.vocabSize }, (_, v) => {
      let l = 0
      for (let i = 0; i < H; i++) l += this.head[v * H + i] * h[i]
      return l
    })
  }
}

function at(states: readonly Float64Array[], position: number): Float64Array {
  const s = states[position]
  if (!s) throw new Error(`position ${position} is outside the row (${states.length} positions)`)
  return s
}

/** A plain generator; quality is of no matter here. */
export function lcg(seed: number): () => number {
  let s = seed >>> 0
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0
    return s / 2 ** 32
  }
}

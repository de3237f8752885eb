/**
 * Notices when a model reads more positions than it was made for. Rotary positions go on beyond that, so nothing fails and nothing
 * is refused, but what the model makes of such a text gets worse: a person has to know.
 */
import {
  type Agent,
  type InnerLinkState,
  type KeptPass,
  type Prefix,
  type RolloutResult,
  type Row,
  rowLength,
  type RunControl,
  type SamplingOptions,
  type VjpRequest,
  type VjpResult,
} from './agent'

/** The same agent; what it reads is measured, with the latents and tokens that it adds itself. */
export class WatchedAgent implements Agent {
  readonly hiddenSize: number
  readonly vocabSize: number
  readonly parameterCount: number
  private read = 0
  private beyond = 0
  private longest = 0

  /** `limit`: positions that the model was made for; `name`: as in "the solver (qwen)". */
  constructor(
    private readonly agent: Agent,
    private readonly limit: number,
    private readonly name: string,
    private readonly warn: (message: string) => void,
  ) {
    this.hiddenSize = agent.hiddenSize
    this.vocabSize = agent.vocabSize
    this.parameterCount = agent.parameterCount
  }

  embed(ids: readonly number[]): Promise<Float32Array> {
    return this.agent.embed(ids)
  }

  /** Counted with the rows that start from them. */
  encodePrefixes(texts: readonly (readonly number[])[], control?: RunControl): Promise<Prefix[]> {
    return this.agent.encodePrefixes(texts, control)
  }

  states(
    rows: readonly Row[],
    positions: readonly (readonly number[])[],
    control?: RunControl,
  ): Promise<Float32Array[]> {
    this.measure(rows)
    return this.agent.states(rows, positions, control)
  }

  record(
    rows: readonly Row[],
    positions: readonly (readonly number[])[],
  ): Promise<{ states: Float32Array[]; kept: KeptPass | null }> {
    this.measure(rows)
    return this.agent.record(rows, positions)
  }

  logits(rows: readonly Row[], positions: readonly (readonly number[])[]): Promise<Float32Array[]> {
    this.measure(rows)
    return this.agent.logits(rows, positions)
  }

  crossEntropy(rows: readonly Row[], targets: NonNullable<VjpRequest['targets']>): Promise<Float32Array> {
    this.measure(rows)
    return this.agent.crossEntropy(rows, targets)
  }

  vjp(rows: readonly Row[], request: VjpRequest): Promise<VjpResult> {
    this.measure(rows)
    return this.agent.vjp(rows, request)
  }

  rollout(rows: readonly Row[], link: InnerLinkState, steps: number, control?: RunControl): Promise<RolloutResult> {
    this.measure(
      rows,
      rows.map(() => steps),
    )
    return this.agent.rollout(rows, link, steps, control)
  }

  async generate(rows: readonly Row[], options: SamplingOptions): Promise<number[][]> {
    const written = await this.agent.generate(rows, options)
    this.measure(
      rows,
      written.map((ids) => ids.length),
    )
    return written
  }

  dispose(): Promise<void> {
    return this.agent.dispose()
  }

  /** How often it happened, for the end of a job; nothing where it did not. */
  tellSum(): void {
    const { read, beyond, longest, limit, name } = this
    if (beyond > 0)
      this.warn(
        `Of ${count(read)} texts that ${name} was given, ${count(beyond)} went beyond the model's context of ` +
          `${count(limit)} positions; the longest came to ${count(longest)}.`,
      )
  }

  /** `added`: positions that the agent itself puts after each row. */
  private measure(rows: readonly Row[], added: readonly number[] = []): void {
    const texts = rows.map((row, k) => {
      const own = added[k] ?? 0
      return { own, length: (row.prefix?.length ?? 0) + rowLength(row) + own }
    })
    const over = texts.filter(({ length }) => length > this.limit).sort((a, b) => b.length - a.length)
    const first = this.beyond === 0 && over.length > 0
    this.read += texts.length
    this.beyond += over.length
    this.longest = Math.max(this.longest, over[0]?.length ?? 0)
    if (first)
      this.warn(
        `The model of ${this.name} was made for ${count(this.limit)} positions, but has a text that comes to ` +
          `${count(this.longest)} with filled slots${over[0].own > 0 ? ` and the ${made(over[0].own)} after it` : ''}. Such texts are read ` +
          `all the same, and the results may suffer; how many there were is told at the end. For shorter ones lower the ` +
          `latent steps, the new tokens or the length limit of the training, or choose a model with a longer context.`,
      )
  }
}

const count = (n: number): string => n.toLocaleString('en')
const made = (n: number): string => (n === 1 ? '1 latent or token' : `${count(n)} latents or tokens`)

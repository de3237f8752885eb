/** The Agent over one ONNX Runtime session: turns rows into the graph's inputs and its outputs back into rows. */
import type { WeightIndex } from '../formats/model-weights'
import type { DecoderConfig } from '../models/config'
import { readConfig } from '../models/families'
import { FileWeights, openTextWeights, type ComputeType } from '../models/weights'
import { innerLinkTypes } from '../nn/link-types'
import { concatRows } from '../nn/rows'
import { Graph } from '../onnx/graph'
import {
  EngineSession,
  writtenGraph,
  type ArrayInput,
  type ArrayOutput,
  type Device,
  type WrittenGraph,
} from '../onnx/session'
import type {
  Agent,
  InnerLinkState,
  KeptPass,
  Prefix,
  RolloutResult,
  Row,
  RunControl,
  SamplingOptions,
  VjpRequest,
  VjpResult,
} from './agent'
import { rowLength } from './agent'
import { buildAgentGraph } from './agent-graph'
import { cacheSlabs, keptInput, keptOutput, linkInputs, task, type Task } from './graph-io'
import { keptBytes, packsSteps, placesPerRun, planBatches } from './batching'
import { CachedText, joinPasts } from './cached-text'
import { memorySize } from './delta-memory'
import { EmbeddingRows } from './embedding-rows'
import { KeptRuns } from './kept-runs'
import { machineMemory } from '../memory/machine'
import { type SessionOwner, SessionPool } from './session-pool'
import { rowStream } from '../nn/row-stream'

export interface AgentOptions {
  readonly device?: Device
  readonly threads?: number
  /** Recompute blocks in the backward pass: less memory, more time. */
  readonly checkpointBlocks?: boolean
  /** Let `record` keep what a later gradient over the same rows needs: for training through rows whose states are read first. */
  readonly keepsPasses?: boolean
  /** Keep the weights a second time, as steps of a few rows read them fastest; default: where they are small for the memory. */
  readonly packSteps?: boolean
  /** Bytes that batches and kept passes go by; default: this machine's memory. */
  readonly memoryLimit?: number
  /** Shared with the agents that have their sessions in the same memory; default: one of its own. */
  readonly pool?: SessionPool
  /** Places per run at most (rows x longest row); bounds activation memory. */
  readonly maxPlaces?: number
}

/**
 * Tokens made per run of a generation: between runs rows that have ended leave the batch and a cancel is seen, but their
 * caches are copied. More of them where a token is a matter of milliseconds (weights of less than a gigabyte).
 */
const tokensPerRun = (parameters: number): number => (4 * parameters < 1e9 ? 64 : 32)

/** Opens a model folder in Hugging Face layout. UserErrors name what is missing or contradictory. */
export async function openAgent(folder: string, options: AgentOptions = {}): Promise<OnnxAgent> {
  const config = await readConfig(folder)
  const weights = await openTextWeights(folder)
  return new OnnxAgent(config, weights, options)
}

/** What an agent multiplies its matrices in. */
export function computeType(config: Pick<DecoderConfig, 'halfType'>, device: Device | undefined): ComputeType {
  return device === 'cuda' ? config.halfType : 'float32'
}

type Feeds = Record<string, ArrayInput>

/** What an agent does to fit into the memory that there is. */
export type MemoryChoice = Pick<AgentOptions, 'checkpointBlocks' | 'keepsPasses' | 'packSteps' | 'memoryLimit'> & {
  readonly footprint: number
}

export class OnnxAgent implements Agent, SessionOwner {
  readonly hiddenSize: number
  readonly vocabSize: number
  readonly parameterCount: number
  footprint = 0
  private readonly pool: SessionPool
  private options: AgentOptions
  /** Parameters that a link of a smaller type does not have. */
  private readonly absent: ReadonlyMap<string, Float32Array>
  private readonly embeddings: EmbeddingRows
  /** Bytes of kept passes. */
  private held = 0
  /** Kept for the next time that the session is opened: far smaller than what writing it leaves behind. */
  private written: WrittenGraph | null = null
  /** Seconds that making the session took; 0 before the first use. */
  sessionSeconds = 0

  constructor(
    readonly config: DecoderConfig,
    readonly weights: WeightIndex,
    options: AgentOptions,
  ) {
    this.options = options
    this.pool = options.pool ?? new SessionPool()
    this.hiddenSize = config.hiddenSize
    this.vocabSize = config.vocabSize
    this.parameterCount = [...weights.tensors.values()].reduce((n, t) => n + t.shape.reduce((a, b) => a * b, 1), 0)
    this.absent = new Map(
      linkInputs(this.hiddenSize).map((p) => [p.name, new Float32Array(p.shape.reduce((a, b) => a * b, 1))]),
    )
    this.embeddings = new EmbeddingRows(weights, config)
    // checks names, shapes and dtypes of all weights now rather than at the first run
    this.buildGraph()
  }

  private buildGraph(): Graph {
    const root = new Graph('agent')
    const compute = computeType(this.config, this.options.device)
    const weights = new FileWeights(root, this.weights, compute)
    buildAgentGraph(root, this.config, weights, {
      compute,
      checkpointBlocks: this.options.checkpointBlocks,
      keepsPasses: this.options.keepsPasses,
      stepWeights: this.packsSteps ? (around) => weights.packedIn(around) : undefined,
    })
    return root
  }

  /** Numbers of the parts of a kept pass, one for each layer. */
  private get keptParts(): readonly number[] {
    return this.options.keepsPasses ? this.config.windows.map((_, i) => i) : []
  }

  private get packsSteps(): boolean {
    return this.options.packSteps ?? packsSteps(4 * this.parameterCount, this.memoryLimit)
  }

  private get memoryLimit(): number {
    return this.options.memoryLimit ?? machineMemory()
  }

  /** Before anything was computed: what the session is made with, and how large batches may be. */
  settle({ footprint, ...options }: MemoryChoice): void {
    this.footprint = footprint
    this.options = { ...this.options, ...options }
    this.written = null
  }

  async open(): Promise<EngineSession> {
    this.written ??= writtenGraph(this.buildGraph())
    const session = await EngineSession.open(this.written, this.options)
    this.sessionSeconds = session.creationSeconds
    return session
  }

  dispose(): Promise<void> {
    return this.pool.drop(this)
  }

  /** Runs one task over rows in batches; `extra` gives what the task needs for the rows of a batch. */
  private async run(
    which: Task,
    rows: readonly Row[],
    outputs: readonly string[],
    extra: (batch: readonly number[], layout: BatchLayout) => Partial<Feeds>,
    take: (batch: readonly number[], results: Record<string, ArrayOutput>, layout: BatchLayout) => void,
    more: {
      readonly link?: InnerLinkState
      readonly control?: RunControl
      readonly batches?: readonly (readonly number[])[]
    } = {},
  ): Promise<void> {
    // what is cached counts too: the cache of a batch is joined into one array
    const lengths = rows.map((r) => (r.prefix?.length ?? 0) + rowLength(r))
    const keepsBlocks = which === task.vjp || which === task.record
    const maxPlaces =
      this.options.maxPlaces ?? placesPerRun(this.config, keepsBlocks, Math.max(...lengths), this.memoryLimit)
    const inBatches = async (session: EngineSession) => {
      for (const batch of more.batches ?? planBatches(lengths, { maxPlaces, maxPadding: 0.25 })) {
        await more.control?.between?.()
        const layout = layOut(
          batch.map((i) => rows[i]),
          this.config,
        )
        const feeds = {
          ...this.defaults(batch.length, more.link),
          ...layout.feeds,
          ...extra(batch, layout),
          task: scalar(which),
        } as Feeds
        take(batch, await session.run(feeds, outputs), layout)
      }
    }
    await this.pool.use(this, inBatches)
  }

  /** Inputs that a task does not use, empty. */
  private defaults(batch: number, link?: InnerLinkState): Feeds {
    const h = this.hiddenSize
    return {
      places: { data: new BigInt64Array(0), shape: [0] },
      cotangents: { data: new Float32Array(0), shape: [0, h] },
      ...this.keptFeeds(this.keptParts.map(() => new Float32Array(0))),
      target_places: { data: new BigInt64Array(0), shape: [0] },
      target_ids: { data: new BigInt64Array(0), shape: [0] },
      target_weights: { data: new Float32Array(0), shape: [0] },
      steps: scalar(1),
      uniforms: { data: new Float32Array(batch), shape: [1, batch, 1] },
      stop_ids: { data: new BigInt64Array(0), shape: [0] },
      sample: { data: Uint8Array.of(0), shape: [] },
      temperature: float32(1),
      top_p: float32(1),
      min_p: float32(0),
      top_k: { data: BigInt64Array.of(BigInt(this.vocabSize)), shape: [1] },
      ...this.linkFeeds(link),
    }
  }

  private keptFeeds(parts: readonly Float32Array[]): Feeds {
    return Object.fromEntries(parts.map((data, i) => [keptInput(i), { data, shape: [data.length] }]))
  }

  private linkFeeds(link?: InnerLinkState): Feeds {
    const parts = link ? innerLinkTypes[link.type] : { layers: 1, residual: false, norms: false }
    const has = (name: string) =>
      name.includes('_ln.') ? parts.norms : name.startsWith('proj2') ? parts.layers === 2 : true
    const flag = (on: boolean): ArrayInput => ({ data: Uint8Array.of(on ? 1 : 0), shape: [] })
    return {
      ...Object.fromEntries(
        linkInputs(this.hiddenSize).map((p) => [
          `link.${p.name}`,
          { data: link && has(p.name) ? parameter(link, p.name) : this.absent.get(p.name)!, shape: p.shape },
        ]),
      ),
      link_two_layers: flag(parts.layers === 2),
      link_residual: flag(parts.residual),
      link_norms: flag(parts.norms),
    }
  }

  async embed(ids: readonly number[]): Promise<Float32Array> {
    return this.embeddings.rows(ids)
  }

  async encodePrefixes(texts: readonly (readonly number[])[], control?: RunControl): Promise<Prefix[]> {
    const rows = texts.map((ids): Row => ({ segments: [{ kind: 'tokens', ids }] }))
    return this.cacheRows(rows, control)
  }

  private async cacheRows(rows: readonly Row[], control?: RunControl): Promise<CachedText[]> {
    const out: CachedText[] = new Array(rows.length)
    const take = (batch: readonly number[], results: Record<string, ArrayOutput>, layout: BatchLayout) =>
      batch.forEach(
        (i, b) =>
          (out[i] = CachedText.fromBatch(results, b, layout.past.lengths[b], layout.past.places, layout.lengths[b], 0)),
      )
    await this.run(task.prefix, rows, ['cache', 'memory'], () => ({}), take, { control })
    return out
  }

  async states(
    rows: readonly Row[],
    positions: readonly (readonly number[])[],
    control?: RunControl,
  ): Promise<Float32Array[]> {
    return this.atPlaces(task.states, 'states', rows, positions, this.hiddenSize, control)
  }

  async record(
    rows: readonly Row[],
    positions: readonly (readonly number[])[],
  ): Promise<{ states: Float32Array[]; kept: KeptPass | null }> {
    if (!this.options.keepsPasses || this.held > keptBytes(this.memoryLimit))
      return { states: await this.states(rows, positions), kept: null }
    const states: Float32Array[] = new Array(rows.length)
    const kept = new KeptRuns((bytes) => (this.held += bytes))
    await this.run(
      task.record,
      rows,
      ['states', ...this.keptParts.map(keptOutput)],
      (batch, layout) => ({ places: layout.places(batch.map((i) => positions[i])) }),
      (batch, results) => {
        cut(results.states.data as Float32Array, batch, (i) => positions[i].length * this.hiddenSize, states)
        kept.add(
          batch,
          this.keptParts.map((part) => results[keptOutput(part)].data as Float32Array),
        )
      },
    )
    return { states, kept }
  }

  async logits(rows: readonly Row[], positions: readonly (readonly number[])[]): Promise<Float32Array[]> {
    return this.atPlaces(task.logits, 'logits', rows, positions, this.vocabSize)
  }

  private async atPlaces(
    which: Task,
    output: string,
    rows: readonly Row[],
    positions: readonly (readonly number[])[],
    width: number,
    control?: RunControl,
  ): Promise<Float32Array[]> {
    const out: Float32Array[] = new Array(rows.length)
    await this.run(
      which,
      rows,
      [output],
      (batch, layout) => ({ places: layout.places(batch.map((i) => positions[i])) }),
      (batch, results) => cut(results[output].data as Float32Array, batch, (i) => positions[i].length * width, out),
      { control },
    )
    return out
  }

  async crossEntropy(rows: readonly Row[], targets: NonNullable<VjpRequest['targets']>): Promise<Float32Array> {
    const out = new Float32Array(rows.length)
    await this.run(
      task.loss,
      rows,
      ['losses'],
      (batch, layout) => {
        const of = layout.targets(batch.map((i) => targets[i]))
        return { ...of, places: of.target_places }
      },
      (batch, results) => meanLosses(results.losses.data as Float32Array, batch, targets, out),
    )
    return out
  }

  async vjp(rows: readonly Row[], request: VjpRequest): Promise<VjpResult> {
    const h = this.hiddenSize
    const { positions, cotangents, targets, lossWeights } = request
    const kept = request.kept as KeptRuns | undefined
    const states: Float32Array[] = new Array(rows.length)
    const losses = new Float32Array(rows.length)
    const gradients: Float32Array[][] = new Array(rows.length)
    await this.run(
      task.vjp,
      rows,
      ['states', 'losses', 'gradient'],
      (batch, layout) => ({
        places: layout.places(batch.map((i) => positions[i])),
        cotangents: {
          data: concatRows(batch.map((i) => cotangents?.[i] ?? new Float32Array(positions[i].length * h))),
          shape: [batch.reduce((n, i) => n + positions[i].length, 0), h],
        },
        ...(targets
          ? layout.targets(
              batch.map((i) => targets[i]),
              batch.map((i) => lossWeights?.[i] ?? 1),
            )
          : {}),
        ...(kept ? this.keptFeeds(kept.of(batch)) : {}),
      }),
      (batch, results) => {
        cut(results.states.data as Float32Array, batch, (i) => positions[i].length * h, states)
        if (targets) meanLosses(results.losses.data as Float32Array, batch, targets, losses)
        let at = 0
        for (const i of batch) {
          gradients[i] = rows[i].segments.flatMap((s) => {
            if (s.kind !== 'latents') return []
            const part = (results.gradient.data as Float32Array).slice(at, at + s.count * h)
            at += s.count * h
            return [part]
          })
        }
      },
      { batches: kept?.batches },
    )
    return { states, losses, gradients }
  }

  async rollout(
    rows: readonly Row[],
    link: InnerLinkState,
    steps: number,
    control?: RunControl,
  ): Promise<RolloutResult> {
    if (!Number.isInteger(steps) || steps < 1) throw new RangeError(`a rollout needs at least one step, not ${steps}`)
    const h = this.hiddenSize
    const states: Float32Array[] = new Array(rows.length)
    const fed: Float32Array[] = new Array(rows.length)
    await this.run(
      task.rollout,
      rows,
      ['rollout_states', 'rollout_fed'],
      (_, layout) => ({ steps: scalar(steps), places: layout.lastPlaces }),
      (batch, results) => {
        // [L, B, H] -> per row [L, H]
        const pick = (data: Float32Array, b: number) => {
          const out = new Float32Array(steps * h)
          for (let t = 0; t < steps; t++)
            out.set(data.subarray((t * batch.length + b) * h, (t * batch.length + b + 1) * h), t * h)
          return out
        }
        batch.forEach((i, b) => {
          states[i] = pick(results.rollout_states.data as Float32Array, b)
          fed[i] = pick(results.rollout_fed.data as Float32Array, b)
        })
      },
      { link, control },
    )
    return { states, fed }
  }

  async generate(rows: readonly Row[], options: SamplingOptions): Promise<number[][]> {
    const done: number[][] = rows.map(() => [])
    const stop = new Set(options.stopIds)
    const streams = rows.map((_, i) => rowStream(...(options.streams?.[i] ?? ([0, i, 0] as const))))
    let active = rows.map((row, i) => ({ i, row }))
    while (active.length && options.maxNewTokens > 0) {
      const made = done[active[0].i].length
      const steps = Math.min(tokensPerRun(this.parameterCount), options.maxNewTokens - made)
      const draws = active.map(({ i }) =>
        options.sample ? Float32Array.from({ length: steps }, () => streams[i].next()) : new Float32Array(steps),
      )
      const next: typeof active = []
      const fresh: number[][] = rows.map(() => [])
      await this.run(
        task.generate,
        active.map((a) => a.row),
        ['tokens', 'grown_cache', 'grown_memory'],
        (batch, layout) => ({
          steps: scalar(steps),
          places: layout.lastPlaces,
          uniforms: {
            data: interleave(
              batch.map((k) => draws[k]),
              steps,
            ),
            shape: [steps, batch.length, 1],
          },
          stop_ids: { data: bigints(options.stopIds), shape: [options.stopIds.length] },
          sample: { data: Uint8Array.of(options.sample ? 1 : 0), shape: [] },
          temperature: float32(options.temperature),
          top_p: float32(options.topP >= 1 ? Infinity : options.topP),
          min_p: float32(options.minP),
          top_k: {
            data: BigInt64Array.of(BigInt(options.topK > 0 ? Math.min(options.topK, this.vocabSize) : this.vocabSize)),
            shape: [1],
          },
        }),
        (batch, results, layout) => {
          const tokens = results.tokens.data as BigInt64Array
          const count = tokens.length / batch.length
          batch.forEach((k, b) => {
            const { i } = active[k]
            for (let t = 0; t < count; t++) {
              const id = Number(tokens[t * batch.length + b])
              fresh[i].push(id)
              if (stop.has(id)) break
            }
            done[i].push(...fresh[i])
            const last = done[i].at(-1)!
            if (stop.has(last) || done[i].length >= options.maxNewTokens) return
            const grown = { cache: results.grown_cache, memory: results.grown_memory }
            const cache = CachedText.fromBatch(
              grown,
              b,
              layout.past.lengths[b],
              layout.past.places,
              layout.lengths[b],
              count - 1,
            )
            next.push({ i, row: { prefix: cache, segments: [{ kind: 'tokens', ids: [last] }] } })
          })
        },
        { control: options },
      )
      options.onTokens?.(fresh)
      active = next.sort((a, b) => a.i - b.i)
    }
    return done
  }
}

// ---------------------------------------------------------------- rows to inputs

interface BatchLayout {
  readonly feeds: Feeds
  readonly lengths: readonly number[]
  readonly past: { readonly lengths: readonly number[]; readonly places: number }
  /** Each row's last place. */
  readonly lastPlaces: ArrayInput
  places(positions: readonly (readonly number[])[]): ArrayInput
  targets(targets: NonNullable<VjpRequest['targets']>, weights?: readonly number[]): Feeds
}

/** Rows side by side, padded on the right with id 0; latents are laid over their places. */
function layOut(rows: readonly Row[], config: DecoderConfig): BatchLayout {
  const h = config.hiddenSize
  const lengths = rows.map((r) => rowLength(r))
  if (lengths.some((n) => n < 1)) throw new RangeError('a row needs at least one place')
  const time = Math.max(...lengths)
  const ids = new BigInt64Array(rows.length * time)
  const places: number[] = []
  const vectors: Float32Array[] = []
  rows.forEach((row, b) => {
    let at = b * time
    for (const s of row.segments) {
      if (s.kind === 'tokens') for (const id of s.ids) ids[at++] = BigInt(checkedId(id, config.vocabSize))
      else {
        if (s.values.length !== s.count * h)
          throw new RangeError(`a slot holds ${s.values.length} numbers, not ${s.count} x ${h}`)
        vectors.push(s.values)
        for (let j = 0; j < s.count; j++) places.push(at++)
      }
    }
  })
  const slabs = cacheSlabs(config)
  const numbers = memorySize(config)
  const past = joinPasts(
    rows.map((r) => (r.prefix as CachedText | undefined) ?? null),
    { slabs, kvHeads: config.kvHeads, headDim: config.headDim, memory: numbers },
  )
  const flat = (positions: readonly (readonly number[])[]) =>
    positions.flatMap((list, b) =>
      list.map((p) => {
        if (!(p >= 0 && p < lengths[b])) throw new RangeError(`position ${p} is outside a row of ${lengths[b]} places`)
        return b * time + p
      }),
    )
  const places1d = (list: readonly number[]): ArrayInput => ({ data: bigints(list), shape: [list.length] })
  return {
    lengths,
    past,
    feeds: {
      ids: { data: ids, shape: [rows.length, time] },
      lengths: places1d(lengths),
      latents: { data: concatRows(vectors), shape: [places.length, h] },
      latent_places: places1d(places),
      past: { data: past.data, shape: [slabs, rows.length, config.kvHeads, past.places, config.headDim] },
      past_lengths: places1d(past.lengths),
      past_memory: { data: past.memory, shape: [past.memory.length / Math.max(1, numbers), numbers] },
    },
    lastPlaces: places1d(lengths.map((n, b) => b * time + n - 1)),
    places: (positions) => places1d(flat(positions)),
    targets: (targets, weights) => ({
      target_places: places1d(flat(targets.map((t) => t.positions))),
      target_ids: places1d(targets.flatMap((t) => [...t.ids])),
      target_weights: {
        data: Float32Array.from(
          targets.flatMap((t, b) => t.ids.map(() => (weights?.[b] ?? 1) / Math.max(1, t.ids.length))),
        ),
        shape: [targets.reduce((n, t) => n + t.ids.length, 0)],
      },
    }),
  }
}

function checkedId(id: number, vocabSize: number): number {
  if (!Number.isInteger(id) || id < 0 || id >= vocabSize)
    throw new RangeError(`token id ${id} is outside the vocabulary of ${vocabSize}`)
  return id
}

const scalar = (n: number): ArrayInput => ({ data: BigInt64Array.of(BigInt(n)), shape: [] })
const float32 = (x: number): ArrayInput => ({ data: Float32Array.of(x), shape: [] })

function bigints(list: readonly number[]): BigInt64Array {
  const out = new BigInt64Array(list.length)
  for (let i = 0; i < list.length; i++) out[i] = BigInt(list[i])
  return out
}

/** Per-row draws [n] each -> [n, B]. */
function interleave(rows: readonly Float32Array[], n: number): Float32Array {
  const out = new Float32Array(n * rows.length)
  rows.forEach((row, b) => {
    for (let t = 0; t < n; t++) out[t * rows.length + b] = row[t]
  })
  return out
}

function parameter(link: InnerLinkState, name: string): Float32Array {
  const p = link.parameters[name]
  if (!p) throw new RangeError(`the inner link of type ${link.type} lacks its parameter ${name}`)
  return p
}

/** Consecutive stretches of `data`, one per row of the batch, into `out` at the row's own index. */
function cut(data: Float32Array, batch: readonly number[], size: (i: number) => number, out: Float32Array[]): void {
  if (batch.length === 1) {
    out[batch[0]] = data
    return
  }
  let at = 0
  for (const i of batch) {
    out[i] = data.slice(at, at + size(i))
    at += size(i)
  }
}

function meanLosses(
  data: Float32Array,
  batch: readonly number[],
  targets: NonNullable<VjpRequest['targets']>,
  out: Float32Array,
): void {
  let at = 0
  for (const i of batch) {
    const n = targets[i].ids.length
    let sum = 0
    for (let k = 0; k < n; k++) sum += data[at + k]
    out[i] = n ? sum / n : 0
    at += n
  }
}

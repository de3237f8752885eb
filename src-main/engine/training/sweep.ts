/**
 * The two sweeps over the unrolled rounds. The forward sweep keeps only what crosses between stages (at most `cap` rows each); the
 * backward sweep asks each agent for one vjp per stage, in reverse, and runs the links' vjps in between. Rows of a
 * stage end at the last position that is used, logits are computed at target positions only, and text before a slot is
 * encoded once per sample for all rounds.
 */
import { type Agent, type KeptPass, type Row, type Segment, type VjpRequest, rowLength } from '../agents/agent'
import { addInPlace, concatRows, splitRows, sumOfSquares } from '../nn/rows'
import { type BuiltRow, PrefixPool, type SlotFill, buildRow, promptPositions } from '../styles/stage-text'
import { isFeedback } from '../styles/style'
import { type OuterLink, type Team, teamLink } from '../styles/team'
import { type StyleStep, walk } from '../styles/walk'
import { passedBy } from './passed-states'
import { measuredLength, rolloutLength, rolloutSteps, textsOf, tokensRead } from './reading-lengths'
import type { StateStore } from './state-store'
import type {
  LinkGradient,
  PassedStates,
  SkipCause,
  TrainingSample,
  TrainingText,
  UnrollOptions,
  UnrollResult,
} from './unrolled'

/** Latents on their way over a link, all samples one after the other. */
interface Crossing {
  readonly link: OuterLink
  readonly round: number
  readonly from: Held
  readonly values: Float32Array
  /** Gradient that the reader's vjp gave back. */
  gradient: Float32Array | null
}

/** What an agent holds after a stage: its states and their inner-link image. */
interface Held {
  readonly agent: number
  readonly counts: readonly number[]
  readonly states: Float32Array
  readonly image: Float32Array
  /** null: a constant (no slot was read). */
  readonly pass: Pass | null
  /** Gradient to `image`, the sum over the links that carry it. */
  gradient: Float32Array | null
}

/** One reading of a stage's text by its agent, to be repeated by the vjp. */
interface Pass {
  readonly agent: number
  readonly round: number
  readonly rows: readonly BuiltRow[]
  /** Positions whose states are passed on; empty lists for a pass that is only supervised. */
  readonly positions: readonly (readonly number[])[]
  readonly targets: VjpRequest['targets']
  /** Weight of each row's cross-entropy in the differentiated sum. */
  readonly weight: number
  readonly slots: readonly Crossing[]
  /** From the forward sweep; taken by the vjp. */
  kept: KeptPass | null
}

interface Stage {
  readonly agent: number
  readonly round: number
  readonly slots: readonly Crossing[]
  supervised: Pass | null
  held: Held | null
}

class Unusable extends Error {
  constructor(readonly found: { sample: number; cause: SkipCause }[]) {
    super('samples that cannot be used')
  }
}

export class Sweep {
  private readonly stages: Stage[] = []
  private readonly gradients = new Map<string, LinkGradient>()
  private readonly roundLosses: (Float32Array | null)[]
  private readonly crossings = new Map<string, Float32Array>()
  private positions = 0

  constructor(
    private readonly team: Team,
    /** Indices of the samples that take part. */
    private readonly active: readonly number[],
    private readonly samples: readonly TrainingSample[],
    private readonly options: UnrollOptions,
    private readonly firstStates: StateStore | null,
    private readonly prefixes: PrefixPool,
  ) {
    this.roundLosses = new Array<Float32Array | null>(options.rounds).fill(null)
  }

  /** Empty when all went well; else the samples to leave out, nothing having been kept. */
  async run(): Promise<{ sample: number; cause: SkipCause }[]> {
    try {
      await this.forward()
      await this.backward()
      return []
    } catch (error) {
      if (error instanceof Unusable) return error.found
      throw error
    } finally {
      for (const { held, supervised } of this.stages) for (const pass of [held?.pass, supervised]) pass?.kept?.dispose()
    }
  }

  result(): Omit<UnrollResult, 'skipped'> {
    const { rounds, earlierWeight } = this.options
    const losses = this.active.map((sample, k) => {
      const perRound = this.roundLosses.map((l) => (l ? l[k] : null))
      const earlier = perRound.slice(0, -1).filter((l) => l !== null)
      const mean = earlier.length ? earlier.reduce((a, b) => a + b, 0) / earlier.length : 0
      const last = perRound[rounds - 1]
      if (last === null) throw new Error('the last round has no cross-entropy')
      return { sample, loss: last + (earlierWeight ?? 0) * mean, rounds: perRound }
    })
    return { losses, gradients: this.gradients, positions: this.positions, crossings: this.crossings }
  }

  // ------------------------------------------------------------------ forward

  private async forward(): Promise<void> {
    const { rounds, earlierWeight } = this.options
    const held = new Map<string, Held>()
    for (const step of walk(this.team.style, rounds, { answersEveryRound: earlierWeight !== null })) {
      const slots: Crossing[] = []
      for (const link of step.reads) {
        const sent = isFeedback(link) ? step.round - 1 : step.round
        slots.push(await this.cross(mustGet(held, `${link.source} ${sent}`), link.key, sent))
      }
      const h = await this.stage(step, slots)
      if (h) held.set(`${step.agent} ${step.round}`, h)
    }
  }

  /** Reads the stage's text; null for a stage that passes nothing on. */
  private async stage({ agent, round, sends }: StyleStep, slots: readonly Crossing[]): Promise<Held | null> {
    const { rounds, earlierWeight } = this.options
    const supervised = agent === this.team.style.last && (round === rounds - 1 || earlierWeight !== null)
    const weight = (round === rounds - 1 ? 1 : (earlierWeight ?? 0) / (rounds - 1)) / this.options.divisor
    const mode = passedBy(this.team.style, agent, this.options)
    const readsTarget = mode === 'reference' || mode === 'shifted'
    const stage: Stage = { agent, round, slots, supervised: null, held: null }
    this.stages.push(stage)
    // what no slot reaches has no gradient
    const fixed = slots.length === 0
    if (supervised && (fixed || !(sends && readsTarget)))
      stage.supervised = await this.pass(agent, round, slots, { passed: null, supervised, weight })
    if (sends) {
      stage.held = fixed
        ? await this.fixedStage(agent, round, mode)
        : mode === 'self-fed'
          ? await this.selfFed(agent, round, slots)
          : await this.readAndHold(agent, round, slots, { passed: mode, supervised: supervised && readsTarget, weight })
    }
    return stage.held
  }

  /** The row of every sample, the positions that are passed on, and the targets. */
  private async pass(
    agent: number,
    round: number,
    slots: readonly Crossing[],
    want: { passed: PassedStates | null; supervised: boolean; weight: number },
  ): Promise<Pass> {
    const { cap } = this.options
    const fills = this.fills(slots)
    const texts = this.active.map((i) => textsOf(this.samples[i], round)[agent])
    const reads = want.passed === 'before-answer' && !want.supervised ? 'prompt' : 'context'
    await this.prefixes.prepare(
      this.agentOf(agent),
      texts.map((t) => t[reads]),
    )
    const positions: number[][] = []
    const targets: { positions: number[]; ids: number[] }[] = []
    const rows = texts.map((text, k) => {
      const pieces = text[reads]
      const prompt = promptPositions(pieces, fills[k])
      const whole = measuredLength(prompt, text.target.length, want, this.options)
      const cut = this.cut(whole, this.active[k])
      const gone = Math.max(0, cut - prompt)
      const target = gone > 0 ? text.target.slice(gone) : text.target
      const { passed, count } = tokensRead(target.length, want, cap)
      const tail: Segment[] = count > 0 ? [{ kind: 'tokens', ids: target.slice(0, count) }] : []
      const built = buildRow(pieces, fills[k], tail, {
        prefix: cut > 0 ? undefined : this.prefixes.find(this.agentOf(agent), pieces),
        cut: cut - gone,
      })
      // the state just before target token 0 is read; -1 when the cut took the whole prompt
      const before = built.promptLength - 1
      const first = want.passed === 'reference' ? before + 1 : before
      positions.push(range(passed).flatMap((t) => (first + t >= 0 ? [first + t] : [])))
      const skip = before < 0 ? 1 : 0
      const ids = want.supervised ? target.slice(skip) : []
      targets.push({ positions: ids.map((_, t) => before + skip + t), ids: [...ids] })
      if ((want.supervised && ids.length === 0) || (want.passed !== null && positions[k].length === 0))
        throw new Unusable([{ sample: this.active[k], cause: 'empty text' }])
      return built
    })
    return {
      agent,
      round,
      rows,
      positions,
      targets: want.supervised ? targets : undefined,
      weight: want.weight,
      slots,
      kept: null,
    }
  }

  /** Positions to cut from the left of a row that would be so long. */
  private cut(length: number, sample: number): number {
    const over = Math.max(0, length - this.options.maxLength)
    if (over > 0 && this.options.tooLong === 'leave-out')
      throw new Unusable([{ sample, cause: 'longer than the limit' }])
    return over
  }

  private async readAndHold(
    agent: number,
    round: number,
    slots: readonly Crossing[],
    want: { passed: PassedStates; supervised: boolean; weight: number },
  ): Promise<Held> {
    const pass = await this.pass(agent, round, slots, want)
    if (want.supervised)
      return this.hold(agent, await this.readStates(agent, this.withoutUnpassed(pass), pass.positions), pass)
    if (slots.length === 0) return this.hold(agent, await this.readStates(agent, pass.rows, pass.positions), pass)
    // the vjp will read the same rows again
    this.count(pass.rows)
    const { states, kept } = await this.agentOf(agent).record(
      pass.rows.map((r) => r.row),
      pass.positions,
    )
    pass.kept = kept
    return this.hold(agent, states, pass)
  }

  /** In the forward sweep nothing after the last passed-on position is read, even where the vjp will need the whole target. */
  private withoutUnpassed(pass: Pass): BuiltRow[] {
    return pass.rows.map((built, k) => {
      const end = Math.max(...pass.positions[k]) + 1
      return { ...built, row: { ...built.row, segments: takeFirst(built.row.segments, end) } }
    })
  }

  /** A self-fed stage: the real rollout without gradient; the vjp reads [prompt, fed latents as constants] in one pass. */
  private async selfFed(agent: number, round: number, slots: readonly Crossing[]): Promise<Held> {
    const fills = this.fills(slots)
    const texts = this.active.map((i) => textsOf(this.samples[i], round)[agent])
    await this.prefixes.prepare(
      this.agentOf(agent),
      texts.map((t) => t.prompt),
    )
    const prompts = texts.map((t, k) => this.promptRow(agent, t, fills[k], this.active[k]))
    const steps = this.latentSteps()
    const width = this.agentOf(agent).hiddenSize
    this.count(prompts, 1, steps - 1)
    const rolled = await this.agentOf(agent).rollout(
      prompts.map((p) => p.row),
      this.team.members[agent].inner,
      steps,
    )
    const rows = prompts.map((p, k) => {
      const tail: Segment[] =
        steps > 1 ? [{ kind: 'latents', values: rolled.fed[k].subarray(0, (steps - 1) * width), count: steps - 1 }] : []
      return { ...p, row: { ...p.row, segments: [...p.row.segments, ...tail] }, length: p.length + steps - 1 }
    })
    const positions = prompts.map((p) => range(steps).map((t) => p.promptLength - 1 + t))
    const pass: Pass = { agent, round, rows, positions, targets: undefined, weight: 0, slots, kept: null }
    return {
      agent,
      counts: rows.map(() => steps),
      states: concatRows(rolled.states),
      image: concatRows(rolled.fed),
      pass,
      gradient: null,
    }
  }

  private promptRow(agent: number, text: TrainingText, fills: readonly SlotFill[], sample: number): BuiltRow {
    const cut = this.cut(rolloutLength(promptPositions(text.prompt, fills), this.latentSteps()), sample)
    const prefix = cut > 0 ? undefined : this.prefixes.find(this.agentOf(agent), text.prompt)
    const built = buildRow(text.prompt, fills, [], { prefix, cut })
    if (built.promptLength === 0) throw new Unusable([{ sample, cause: 'empty text' }])
    return built
  }

  private latentSteps(): number {
    return rolloutSteps(this.options)
  }

  /** A stage without slots, as the first agents' in round 0: no gradient and no trained weight, so its states are kept for good. */
  private async fixedStage(agent: number, round: number, mode: PassedStates): Promise<Held> {
    const member = this.team.members[agent]
    const texts = this.active.map((i) => textsOf(this.samples[i], round)[agent])
    const settings = mode === 'self-fed' ? ['self-fed', this.latentSteps()] : [mode, this.options.cap]
    const keys = texts.map((t) => [
      settings,
      this.options.maxLength,
      this.options.tooLong,
      t.prompt,
      t.context,
      mode === 'self-fed' ? [] : t.target,
    ])
    const known = keys.map((key) => this.firstStates?.get(agent, key) ?? null)
    const missing = range(texts.length).filter((k) => known[k] === null)
    if (missing.length > 0) {
      const part = new Sweep(
        this.team,
        missing.map((k) => this.active[k]),
        this.samples,
        this.options,
        null,
        this.prefixes,
      )
      const made =
        mode === 'self-fed'
          ? await part.selfFed(agent, round, [])
          : await part.readAndHold(agent, round, [], { passed: mode, supervised: false, weight: 0 })
      this.positions += part.positions
      splitRows(made.states, made.counts, member.agent.hiddenSize).forEach((states, j) => {
        known[missing[j]] = states
        this.firstStates?.put(agent, keys[missing[j]], states)
      })
    }
    return this.hold(
      agent,
      known.map((s) => s!),
      null,
    )
  }

  private async hold(agent: number, states: readonly Float32Array[], pass: Pass | null): Promise<Held> {
    const member = this.team.members[agent]
    const all = concatRows(states)
    const image = await member.innerGraph.forward(member.inner.parameters, all)
    return {
      agent,
      counts: states.map((s) => s.length / member.agent.hiddenSize),
      states: all,
      image,
      pass,
      gradient: null,
    }
  }

  private async cross(from: Held, key: string, round: number): Promise<Crossing> {
    const link = teamLink(this.team, key)
    const values = await link.graph.forward(link.parameters, from.image)
    if (this.options.keepCrossings)
      splitRows(values, from.counts, link.graph.outWidth).forEach((v, k) =>
        this.crossings.set(`sample${this.active[k]}/round${round}/${link.key}`, v.slice()),
      )
    return { link, round, from, values, gradient: null }
  }

  /** Per sample: what stands in each of the stage's slots. */
  private fills(slots: readonly Crossing[]): SlotFill[][] {
    const perSlot = slots.map((c) => splitRows(c.values, c.from.counts, this.agentOf(c.link.target).hiddenSize))
    return this.active.map((_, k) => slots.map((c, s) => ({ values: perSlot[s][k], count: c.from.counts[k] })))
  }

  private agentOf(agent: number): Agent {
    return this.team.members[agent].agent
  }

  private async readStates(
    agent: number,
    rows: readonly BuiltRow[],
    positions: readonly (readonly number[])[],
  ): Promise<Float32Array[]> {
    this.count(rows)
    return this.agentOf(agent).states(
      rows.map((r) => r.row),
      positions,
    )
  }

  private count(rows: readonly BuiltRow[], times = 1, more = 0): void {
    for (const { row } of rows) this.positions += times * rowLength(row) + more
  }

  // ----------------------------------------------------------------- backward

  /** Stages in reverse: whoever reads a stage's latents comes after it, so their gradients are complete when its turn comes. */
  private async backward(): Promise<void> {
    for (const stage of this.stages.reverse()) {
      if (stage.supervised) await this.passBack(stage.supervised, undefined)
      const { held } = stage
      if (held?.pass)
        await this.passBack(held.pass, held.gradient ? await this.throughInner(held, held.gradient) : undefined)
      for (const crossing of stage.slots) await this.crossBack(crossing)
    }
  }

  private async throughInner(held: Held, gradient: Float32Array): Promise<Float32Array> {
    const member = this.team.members[held.agent]
    return member.innerGraph.backInput(member.inner.parameters, held.states, gradient)
  }

  /** One vjp of a stage: gradients to its slots are added to the crossings that filled them. */
  private async passBack(pass: Pass, cotangent: Float32Array | undefined): Promise<void> {
    const { agent } = this.team.members[pass.agent]
    const width = agent.hiddenSize
    const cotangents = cotangent
      ? splitRows(
          cotangent,
          pass.positions.map((p) => p.length),
          width,
        )
      : undefined
    if (pass.weight === 0 && !cotangents) {
      if (pass.targets) this.noteLosses(pass, await this.crossEntropies(agent, pass.rows, pass.targets))
      return
    }
    // forward and in reverse, forward only once where it was kept
    this.count(pass.rows, pass.kept ? 1 : 2)
    const request: VjpRequest = {
      positions: cotangents ? pass.positions : pass.rows.map(() => []),
      ...(cotangents ? { cotangents } : {}),
      ...(pass.targets ? { targets: pass.targets, lossWeights: pass.rows.map(() => pass.weight) } : {}),
      ...(pass.kept ? { kept: pass.kept } : {}),
    }
    const back = await agent.vjp(
      pass.rows.map((b) => b.row),
      request,
    )
    pass.kept?.dispose()
    pass.kept = null
    if (pass.targets) this.noteLosses(pass, back.losses)
    pass.slots.forEach((crossing, s) => {
      const parts = back.gradients.map((g, k) => slotGradient(g, pass.rows[k].row, s, crossing.from.counts[k], width))
      const all = concatRows(parts)
      if (crossing.gradient) addInPlace(crossing.gradient, all)
      else crossing.gradient = all
    })
  }

  private async crossEntropies(
    agent: Agent,
    rows: readonly BuiltRow[],
    targets: NonNullable<VjpRequest['targets']>,
  ): Promise<Float32Array> {
    this.count(rows)
    return agent.crossEntropy(
      rows.map((r) => r.row),
      targets,
    )
  }

  private noteLosses(pass: Pass, losses: Float32Array): void {
    const bad = this.active.filter((_, k) => !Number.isFinite(losses[k]))
    if (bad.length > 0) throw new Unusable(bad.map((sample) => ({ sample, cause: 'loss not finite' })))
    this.roundLosses[pass.round] = losses
  }

  /** The first gradient of a link starts its sum. */
  private newEntry(gradients: Record<string, Float32Array>): LinkGradient {
    const rounds = this.options.rounds
    const apart = this.options.keepRoundGradients
    return {
      total: apart ? Object.fromEntries(Object.entries(gradients).map(([n, g]) => [n, g.slice()])) : { ...gradients },
      squaredByRound: new Array<number | null>(rounds).fill(null),
      ...(apart ? { byRound: new Array<Record<string, Float32Array> | null>(rounds).fill(null) } : {}),
    }
  }

  /** The link's vjp: its parameters' gradients are kept, the gradient to its input goes to whoever held it. */
  private async crossBack(crossing: Crossing): Promise<void> {
    const { link, from, gradient, round } = crossing
    if (!gradient) return
    const { inputGradient, gradients } = await link.graph.vjp(link.parameters, from.image, gradient)
    let squared = 0
    for (const g of Object.values(gradients)) squared += sumOfSquares(g)
    const known = this.gradients.get(link.key)
    if (known) for (const [name, g] of Object.entries(gradients)) addInPlace(known.total[name], g)
    const entry = known ?? this.newEntry(gradients)
    entry.squaredByRound[round] = squared
    if (entry.byRound) entry.byRound[round] = gradients
    this.gradients.set(link.key, entry)
    if (!from.pass) return
    if (from.gradient) addInPlace(from.gradient, inputGradient)
    else from.gradient = inputGradient
  }
}

/** Gradient to slot `s`: a slot that the left cut shortened has zeros for the rows that were cut away. */
function slotGradient(
  gradients: readonly Float32Array[],
  row: Row,
  s: number,
  count: number,
  width: number,
): Float32Array {
  const found = gradients[s]
  const segments = row.segments.filter((x) => x.kind === 'latents')
  if (found && segments[s]?.count === count) return found
  const whole = new Float32Array(count * width)
  if (found) whole.set(found, whole.length - found.length)
  return whole
}

function takeFirst(segments: readonly Segment[], positions: number): Segment[] {
  const kept: Segment[] = []
  let left = positions
  for (const s of segments) {
    if (left <= 0) break
    const size = s.kind === 'tokens' ? s.ids.length : s.count
    if (size <= left) kept.push(s)
    else if (s.kind === 'tokens') kept.push({ kind: 'tokens', ids: s.ids.slice(0, left) })
    else kept.push({ kind: 'latents', values: s.values.subarray(0, (left * s.values.length) / s.count), count: left })
    left -= size
  }
  return kept
}

function range(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i)
}

function mustGet(held: ReadonlyMap<string, Held>, step: string): Held {
  const value = held.get(step)
  if (value === undefined) throw new Error(`agent and round ${step}: read before it has run`)
  return value
}

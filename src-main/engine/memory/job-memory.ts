/** What a whole job takes, and what it does to fit: decided once, before any model is loaded. */
import { keptBytes, packsSteps } from '../agents/batching'
import { UserError } from '../errors'
import type { AgentMemory, PassShape } from './agent-memory'
import { estimateOf, inGigabytes, type MemoryEstimate, type MemoryPart } from './estimate'
import { runtimeBytes } from './runtime-share'

/** One model of a job; agents that share it are one. */
export interface ModelWork {
  /** As messages call it. */
  readonly name: string
  readonly memory: AgentMemory
  readonly keepsPasses: boolean
  readonly passes: readonly PassShape[]
  /** Passes that are recorded and not yet taken back, at the most. */
  readonly recorded: readonly PassShape[]
  /** Bytes of encoded texts that are kept beside the session. */
  readonly prefixes: number
}

export interface JobWork {
  readonly models: readonly ModelWork[]
  /** Links, states, texts: what is there whichever model works. */
  readonly beside: readonly MemoryPart[]
}

export interface MemoryPlan {
  /** Bytes that the job may take, and who says so. */
  readonly limit: number
  /** Bytes that batches, kept passes and copies of weights go by: those that the run began with. */
  readonly batchLimit: number
  readonly limitFrom: 'job' | 'free memory'
  readonly estimate: MemoryEstimate
  readonly checkpointBlocks: boolean
  /** Passes are kept for their gradients: not where blocks are computed again. */
  readonly keepsPasses: boolean
  /** Models take turns, as not all of them fit together. */
  readonly inTurn: boolean
  /** Of the models in order: are weights kept once more for steps? */
  readonly packs: readonly boolean[]
  /** Of the models in order, bytes while loaded and at work. */
  readonly footprints: readonly number[]
  /** Of the estimate, what is there whichever models are loaded. */
  readonly besideModels: number
  /** It takes more time than with more memory. */
  readonly costsTime: boolean
  /** Why it is done so. */
  readonly reason: string
}

export interface MemoryRoom {
  readonly limit: number
  readonly from: MemoryPlan['limitFrom']
  /** Where batches go by another limit. */
  readonly batches?: number
}

interface Way {
  readonly checkpointBlocks: boolean
  readonly inTurn: boolean
  readonly packs: boolean
}

/** From what costs nothing to what costs most time. Copies of weights for steps go early where all stay loaded, late where loading counts. */
const ways: readonly Way[] = [
  { checkpointBlocks: false, inTurn: false, packs: true },
  { checkpointBlocks: false, inTurn: false, packs: false },
  { checkpointBlocks: true, inTurn: false, packs: true },
  { checkpointBlocks: true, inTurn: false, packs: false },
  { checkpointBlocks: false, inTurn: true, packs: true },
  { checkpointBlocks: true, inTurn: true, packs: true },
  { checkpointBlocks: false, inTurn: true, packs: false },
  { checkpointBlocks: true, inTurn: true, packs: false },
]

/**
 * The first way that fits. Throws UserError where none does, before anything is loaded. `checkpointBlocks`: what the job itself says
 * of it.
 */
export function planMemory(
  work: JobWork,
  memory: MemoryRoom,
  asked: { readonly checkpointBlocks?: boolean } = {},
): MemoryPlan {
  const trains = work.models.some(({ passes }) => passes.some(({ task }) => task === 'vjp'))
  const open = ways.filter(
    (way) =>
      (asked.checkpointBlocks === undefined
        ? trains || !way.checkpointBlocks
        : way.checkpointBlocks === asked.checkpointBlocks) &&
      (work.models.length > 1 || !way.inTurn),
  )
  const plans: MemoryPlan[] = []
  let plan: MemoryPlan | undefined
  for (const way of open) {
    const next = planned(work, memory, way)
    plans.push(next)
    if (next.estimate.total > memory.limit) continue
    plan = next
    break
  }
  if (!plan) throw tooLarge(plans.reduce((a, b) => (b.estimate.total < a.estimate.total ? b : a)))
  const costsTime = plan.inTurn || (plan.checkpointBlocks && asked.checkpointBlocks !== true)
  return { ...plan, costsTime, reason: reasonOf(plan, plans[0], asked.checkpointBlocks) }
}

function planned(work: JobWork, { limit, from, batches = limit }: MemoryRoom, way: Way): MemoryPlan {
  const models = work.models.map((model) => {
    const { memory } = model
    const keepsPasses = model.keepsPasses && !way.checkpointBlocks
    const choice = { keepsPasses, checkpointBlocks: way.checkpointBlocks, limit: batches }
    const packs = way.packs && packsSteps(memory.weights.held, batches)
    const held = memory.weights.held
    const packed = packs ? memory.weights.packed : 0
    const session = memory.session(choice)
    const working = memory.working(model.passes, choice)
    const recorded = (keepsPasses ? model.recorded : []).map((pass) => memory.kept(pass, choice))
    const most = keptBytes(batches) + Math.max(0, ...recorded)
    const kept = Math.min(
      recorded.reduce((a, b) => a + b, 0),
      most,
    )
    return {
      name: model.name,
      packs,
      held,
      packed,
      session,
      working,
      kept,
      footprint: held + packed + session + working,
    }
  })
  // in turn, the one that takes most is what the others have to leave room for
  const largest = models.reduce((a, b) => (b.footprint > a.footprint ? b : a), models[0])
  const loaded = way.inTurn ? [largest] : models
  const several = work.models.length > 1
  const of = (name: string) => (several ? ` of ${name}` : '')
  const widened = (name: string) => work.models.find((m) => m.name === name)!.memory.weights.widened
  const estimate = estimateOf([
    ...loaded.flatMap((m) => [
      { name: `weights${of(m.name)}${widened(m.name) ? ', widened to float32' : ''}`, bytes: m.held },
      { name: `weights${of(m.name)} once more, arranged for steps`, bytes: m.packed },
      { name: `working memory${of(m.name)}`, bytes: m.working },
      { name: `compiled graph${of(m.name)}`, bytes: m.session },
    ]),
    { name: 'passes kept for their gradients', bytes: models.reduce((n, m) => n + m.kept, 0) },
    { name: 'encoded texts', bytes: work.models.reduce((n, m) => n + m.prefixes, 0) },
    ...work.beside,
    { name: 'runtime', bytes: runtimeBytes },
  ])
  return {
    limit,
    batchLimit: batches,
    limitFrom: from,
    estimate,
    checkpointBlocks: way.checkpointBlocks,
    keepsPasses: !way.checkpointBlocks && work.models.some((m) => m.keepsPasses),
    inTurn: way.inTurn,
    packs: models.map((m) => m.packs),
    footprints: models.map((m) => m.footprint),
    besideModels: estimate.total - loaded.reduce((n, m) => n + m.footprint, 0),
    costsTime: false,
    reason: '',
  }
}

function reasonOf(plan: MemoryPlan, first: MemoryPlan, asked: boolean | undefined): string {
  const room = `${inGigabytes(plan.limit)} ${plan.limitFrom === 'job' ? 'that the job may take' : 'of free memory'}`
  const fits = `it needs about ${inGigabytes(plan.estimate.total)} of the ${room}`
  const measures = [
    ...(plan.checkpointBlocks && asked !== true ? ['blocks are computed again for their gradients'] : []),
    ...(plan.inTurn ? ['models are loaded in turn'] : []),
  ]
  const own = asked === undefined ? '' : `, blocks being ${asked ? '' : 'not '}computed again as the job says`
  if (measures.length === 0) return `${fits}${own}`
  return `${fits}${own}; without ${measures.length > 1 ? 'these measures' : 'this measure'} it would need about ${inGigabytes(first.estimate.total)}: ${measures.join(', and ')}, which takes more time`
}

function tooLarge({ estimate, limit, limitFrom, inTurn }: MemoryPlan): UserError {
  const parts = [...estimate.parts].sort((a, b) => b.bytes - a.bytes).slice(0, 5)
  const room = limitFrom === 'job' ? 'the job may take ("memoryLimit")' : 'are free'
  return new UserError({
    what: 'The job does not fit into the memory.',
    why:
      `${inTurn ? 'Even with one model at a time it' : 'It'} needs about ${inGigabytes(estimate.total)}, but ${inGigabytes(limit)} ${room}. ` +
      `The largest parts: ${parts.map(({ name, bytes }) => `${name} ${inGigabytes(bytes)}`).join(', ')}.`,
    next:
      'Choose a smaller batch, shorter texts or a smaller model' +
      (limitFrom === 'job' ? ', or raise "memoryLimit".' : ', or close other programs.'),
  })
}

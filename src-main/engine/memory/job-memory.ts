/** What a whole job takes, and what it does to fit: decided once, before any model is loaded. */
import { keptBytes, packsSteps } from '../agents/batching'
import { UserError } from '../errors'
import type { AgentMemory, PassShape } from './agent-memory'
import type { EarlierMemory } from './earlier'
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
  /** Of a resumed run, what of it that results depend on (to the bit) is done otherwise than when it began; null: nothing. */
  readonly departs: string | null
}

export interface MemoryRoom {
  readonly limit: number
  readonly from: MemoryPlan['limitFrom']
}

/** What is said beside the work itself. */
export interface MemoryWishes {
  /** As the job says. */
  readonly checkpointBlocks?: boolean
  /** As the run began, where it is resumed. */
  readonly earlier?: EarlierMemory | null
}

interface Way {
  readonly checkpointBlocks: boolean
  readonly inTurn: boolean
  /** All models' weights (where they are small for the memory), none's, or those of the models of these names. */
  readonly packs: boolean | readonly string[]
}

/** Ways with batches that go by so many bytes. */
interface Attempt {
  readonly ways: readonly Way[]
  readonly batches: number
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
 * The first way that fits. A resumed run goes on as it began, for the same results to the bit: with its models in turn, where that is
 * what it takes; else with the batches of its beginning; else with batches that fit now. Throws UserError where nothing fits, before
 * anything is loaded.
 */
export function planMemory(work: JobWork, memory: MemoryRoom, wishes: MemoryWishes = {}): MemoryPlan {
  const attempts = attemptsOf(work, memory, wishes)
  const plans: MemoryPlan[] = []
  for (const { ways, batches } of attempts)
    for (const way of ways) {
      const plan = planned(work, memory, batches, way)
      plans.push(plan)
      if (plan.estimate.total <= memory.limit) return explained(work, plan, plans[0], wishes)
    }
  throw tooLarge(plans.reduce((a, b) => (b.estimate.total < a.estimate.total ? b : a)))
}

function attemptsOf(work: JobWork, { limit }: MemoryRoom, { checkpointBlocks, earlier }: MemoryWishes): Attempt[] {
  const trains = work.models.some(({ passes }) => passes.some(({ task }) => task === 'vjp'))
  const inTurnOrNot = (way: Way) => work.models.length > 1 || !way.inTurn
  const open = ways.filter(
    (way) =>
      (checkpointBlocks === undefined ? trains || !way.checkpointBlocks : way.checkpointBlocks === checkpointBlocks) &&
      inTurnOrNot(way),
  )
  const now = { ways: open, batches: limit }
  if (!earlier) return [now]
  const begun = { checkpointBlocks: checkpointBlocks ?? earlier.checkpointBlocks, packs: earlier.packed }
  const asBegun = [false, true].map((inTurn) => ({ ...begun, inTurn })).filter(inTurnOrNot)
  return [{ ways: asBegun, batches: earlier.batchLimit }, { ways: open, batches: earlier.batchLimit }, now]
}

function explained(work: JobWork, plan: MemoryPlan, first: MemoryPlan, wishes: MemoryWishes): MemoryPlan {
  const { earlier } = wishes
  const asBegun = earlier?.checkpointBlocks ?? false
  const again = plan.checkpointBlocks && wishes.checkpointBlocks !== true && !asBegun
  return {
    ...plan,
    costsTime: plan.inTurn || again,
    reason: reasonOf(plan, first, wishes, again),
    departs: earlier ? departure(work, plan, earlier) : null,
  }
}

function planned(work: JobWork, { limit, from }: MemoryRoom, batches: number, way: Way): MemoryPlan {
  const models = work.models.map((model) => {
    const { memory } = model
    const keepsPasses = model.keepsPasses && !way.checkpointBlocks
    const choice = { keepsPasses, checkpointBlocks: way.checkpointBlocks, limit: batches }
    const packs =
      typeof way.packs === 'boolean'
        ? way.packs && packsSteps(memory.weights.held, batches)
        : way.packs.includes(model.name)
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
    departs: null,
  }
}

/** `again`: blocks are computed again as memory is short. */
function reasonOf(
  plan: MemoryPlan,
  first: MemoryPlan,
  { checkpointBlocks: asked, earlier }: MemoryWishes,
  again: boolean,
): string {
  const room = `${inGigabytes(plan.limit)} ${plan.limitFrom === 'job' ? 'that the job may take' : 'of free memory'}`
  const fits = `it needs about ${inGigabytes(plan.estimate.total)} of the ${room}`
  const measures = [
    ...(again ? ['blocks are computed again for their gradients'] : []),
    ...(plan.inTurn ? ['models are loaded in turn'] : []),
  ]
  const computed = `blocks being ${plan.checkpointBlocks ? '' : 'not '}computed again as`
  const own =
    asked !== undefined
      ? `, ${computed} the job says`
      : earlier?.checkpointBlocks
        ? `, ${computed} when the run began`
        : ''
  if (measures.length === 0) return `${fits}${own}`
  return `${fits}${own}; without ${measures.length > 1 ? 'these measures' : 'this measure'} it would need about ${inGigabytes(first.estimate.total)}: ${measures.join(', and ')}, which takes more time`
}

function departure(work: JobWork, plan: MemoryPlan, earlier: EarlierMemory): string | null {
  const names = (packed: boolean) =>
    work.models.flatMap(({ name }, i) =>
      plan.packs[i] === packed && earlier.packed.includes(name) !== packed ? [name] : [],
    )
  const copies = (packed: boolean) => (packed ? 'are kept once more for steps' : 'are not kept a second time any more')
  const changes = [
    ...(plan.batchLimit === earlier.batchLimit
      ? []
      : [`batches go by ${inGigabytes(plan.batchLimit)}, not by ${inGigabytes(earlier.batchLimit)}`]),
    ...(plan.checkpointBlocks === earlier.checkpointBlocks
      ? []
      : [`blocks are ${plan.checkpointBlocks ? '' : 'not '}computed again for their gradients`]),
    ...[true, false].flatMap((packed) =>
      names(packed).length > 0 ? [`the weights of ${names(packed).join(' and ')} ${copies(packed)}`] : [],
    ),
  ]
  return changes.length > 0 ? changes.join('; ') : null
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

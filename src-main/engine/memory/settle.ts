/** Puts a job's memory plan into force: the estimate is said, the agents are told what they may do. */
import type { OnnxAgent } from '../agents/onnx-agent'
import type { SessionPool } from '../agents/session-pool'
import type { JobContext } from '../job-context'
import type { JobSpec } from '../job-spec'
import { AgentMemory, type PassShape } from './agent-memory'
import type { EarlierMemory } from './earlier'
import { inGigabytes, type MemoryPart } from './estimate'
import { type MemoryPlan, type MemoryRoom, planMemory } from './job-memory'
import { availableMemory, machineMemory, memoryForJobs } from './machine'
import { storedAs } from './model-memory'

/** What one member of a team is asked for. */
export interface AgentWork {
  readonly passes: readonly PassShape[]
  /** Passes that are recorded and not yet taken back, at the most. */
  readonly recorded?: readonly PassShape[]
  /** Positions of encoded texts that are kept. */
  readonly prefixPlaces?: number
}

/** Several members may share a model. */
export interface WorkOf extends AgentWork {
  readonly agent: OnnxAgent
  readonly name: string
}

export interface SettleOptions {
  readonly pool: SessionPool
  readonly keepsPasses: boolean
  /** Where the run is resumed. */
  readonly earlier: EarlierMemory | null
}

/** Throws UserError where the job does not fit. */
export function settleMemory(
  ctx: JobContext,
  job: Pick<JobSpec, 'memoryLimit' | 'checkpointBlocks'>,
  work: { readonly agents: readonly WorkOf[]; readonly beside: readonly MemoryPart[] },
  { pool, keepsPasses, earlier }: SettleOptions,
): MemoryPlan {
  const agents = [...new Set(work.agents.map(({ agent }) => agent))]
  const models = agents.map((agent) => {
    const own = work.agents.filter((w) => w.agent === agent)
    const { tensors } = agent.weights
    const memory = new AgentMemory(agent.config, (name) => storedAs(tensors.get(name)?.dtype))
    const places = own.map(({ prefixPlaces = 0 }) => prefixPlaces)
    return {
      name: own.map(({ name }) => name).join(', '),
      memory,
      keepsPasses,
      passes: own.flatMap(({ passes }) => passes),
      recorded: own.flatMap(({ recorded = [] }) => recorded),
      prefixes: places.reduce((n, p) => n + (p > 0 ? memory.cache(p) : 0), 0),
    }
  })
  const room = roomOf(ctx, job.memoryLimit)
  const { checkpointBlocks } = job
  const plan = planMemory({ models, beside: work.beside }, room, { checkpointBlocks, earlier })
  ctx.say({
    kind: 'memory',
    ...plan.estimate,
    parts: [...plan.estimate.parts],
    limit: plan.limit,
    limitFrom: plan.limitFrom,
    batchLimit: plan.batchLimit,
    checkpointBlocks: plan.checkpointBlocks,
    loadedInTurn: plan.inTurn,
    packed: models.flatMap(({ name }, i) => (plan.packs[i] ? [name] : [])),
    reason: plan.reason,
  })
  const free = availableMemory()
  if (plan.limitFrom === 'job' && plan.estimate.total > free)
    ctx.warn(
      `The job needs about ${inGigabytes(plan.estimate.total)}, which "memoryLimit" lets it take, but only ${inGigabytes(free)} are free now: the system may end it. Close other programs, or set a lower limit.`,
    )
  if (plan.costsTime) ctx.warn(`Memory is short: ${plan.reason}.`)
  if (plan.departs !== null)
    ctx.warn(
      `The run goes on otherwise than it began: ${plan.departs}; ${plan.reason}. Its numbers may differ in their last digits from those of a run without an interruption.`,
    )
  pool.limit = plan.inTurn ? Math.max(...plan.footprints, plan.limit - plan.besideModels) : Infinity
  for (const [i, agent] of agents.entries())
    agent.settle({
      footprint: plan.footprints[i],
      checkpointBlocks: plan.checkpointBlocks,
      keepsPasses: plan.keepsPasses,
      packSteps: plan.packs[i],
      memoryLimit: plan.batchLimit,
    })
  return plan
}

function roomOf(ctx: JobContext, asked: number | undefined): MemoryRoom {
  if (asked === undefined) return { limit: memoryForJobs(), from: 'free memory' }
  const whole = machineMemory()
  if (asked > whole)
    ctx.warn(
      `"memoryLimit" is ${inGigabytes(asked)} (${asked} bytes), but this machine has ${inGigabytes(whole)}: the job takes those for its limit.`,
    )
  return { limit: Math.min(asked, whole), from: 'job' }
}

/** A warning where a process came to more than its job may take; null where it did not. */
export function beyondLimit(plan: MemoryPlan, peak: number | null): string | null {
  if (peak === null || peak <= plan.limit) return null
  const room = plan.limitFrom === 'job' ? 'that it may take ("memoryLimit")' : 'that were free for it'
  return (
    `The job came to ${inGigabytes(peak)} at the most, more than the ${inGigabytes(plan.limit)} ${room}; ${inGigabytes(plan.estimate.total)} had been expected. ` +
    'Where that is too much, choose a smaller batch or shorter texts, or leave the job a margin.'
  )
}

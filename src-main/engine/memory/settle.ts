/** Puts a job's memory plan into force: the estimate is said, the agents are told what they may do. */
import type { OnnxAgent } from '../agents/onnx-agent'
import type { SessionPool } from '../agents/session-pool'
import type { JobContext } from '../job-context'
import type { JobSpec } from '../job-spec'
import { AgentMemory, type PassShape } from './agent-memory'
import type { EarlierMemory } from './earlier'
import type { MemoryPart } from './estimate'
import { type MemoryPlan, type MemoryRoom, planMemory } from './job-memory'
import { memoryForJobs } from './machine'
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
  const room: MemoryRoom =
    job.memoryLimit !== undefined
      ? { limit: job.memoryLimit, from: 'job' }
      : { limit: memoryForJobs(), from: 'free memory' }
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

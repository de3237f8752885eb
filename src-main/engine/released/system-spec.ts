/** A job that names a system instead of its agents and links, with those put in. */
import { UserError } from '../errors'
import type { AgentSpec, JobSpec } from '../job-spec'
import { roleIn } from '../styles/registry'
import { findSystemOf, type FoundAgent } from './find-system'
import { styleOfSystem } from './parts'
import { checkBenchmark } from './recommended'

/** The job as it would stand without `system`; what it names itself goes before. UserErrors as of `findSystem`. */
export async function withSystem(job: JobSpec): Promise<JobSpec> {
  if (job.kind === 'inner' || !job.system) return job
  const { name = null, benchmark, outer, ...place } = job.system
  if (benchmark !== undefined && name === null)
    throw new UserError({
      what: 'The benchmark has no recommended settings here.',
      why: 'Settings are recommended for published systems, and the system has no name.',
      next: 'Give the "name" of the system, or leave "benchmark" out.',
    })
  if (benchmark !== undefined && name !== null) checkBenchmark(name, benchmark)
  const style = await styleOfSystem(name ?? job.style)
  // the default style says nothing
  if (name !== null && job.style !== style.name && job.style !== 'sequential')
    throw new UserError({
      what: 'The system is of another style than the job.',
      why: `${name} is of the style ${style.name}, the job of the style ${job.style}.`,
      next: 'Leave "style" out, or name another system.',
    })
  const latents = job.kind === 'outer' || job.passing === 'latents'
  const ownOuter = job.kind === 'outer' ? job.startFrom : job.outerLinks
  const own = new Set(job.agents.map((a) => roleIn(style, a.role)))
  const needed = job.kind === 'evaluate' && job.passing === 'single' ? [style.last] : style.roles.map((_, i) => i)
  const found = await findSystemOf(style, name, place, job.task, {
    links: !latents ? 'none' : outer && ownOuter === undefined ? 'all' : 'inner',
    agents: needed.filter((i) => !own.has(i)),
  })
  const agents = [...found.agents.map(agentOf), ...job.agents]
  const links = ownOuter ?? found.outerLinks ?? undefined
  const filled = { style: name === null ? job.style : style.name, agents }
  return job.kind === 'outer' ? { ...job, ...filled, startFrom: links } : { ...job, ...filled, outerLinks: links }
}

function agentOf({ role, model, innerLink }: FoundAgent): AgentSpec {
  return { role, model, innerLink: innerLink ?? undefined, innerLinkType: 'ln_res_adapter' }
}

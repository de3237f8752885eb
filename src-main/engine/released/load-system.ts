/** A whole published system, or one of our own in the same layout, for code that uses the engine as a library. */
import type { Agent, InnerLinkState } from '../agents/agent'
import { openMembers, openTeam, readLinks, Resources } from '../job-setup'
import type { AgentSpec, JobSpec } from '../job-spec'
import { TorchGenerator } from '../nn/torch-generator'
import type { LinkGraph } from '../nn/link-graphs'
import { isStyleFile } from '../styles/registry'
import type { StyleDefinition } from '../styles/style'
import type { OuterLink, Team } from '../styles/team'
import { type ModelText, requireChat } from '../text'
import { findSystemOf, type SystemPlace } from './find-system'
import { styleOfSystem } from './parts'
import { type RecommendedSettings, recommendedSettings } from './recommended'
import { releasedSystem } from './systems'

export interface LoadSystemOptions extends SystemPlace {
  /** Which links of systems that have them by task; default: the benchmark's task, else `math`. */
  readonly task?: 'math' | 'code' | 'choice'
  /** For `settings`; of a published system. */
  readonly benchmark?: string
  /** Put over the recommended settings; unknown ones are UserErrors. */
  readonly overrides?: Readonly<Partial<RecommendedSettings>>
  readonly device?: JobSpec['device']
  readonly threads?: number
  /** Hears of what does not stop the loading, as links that were trained with another model. */
  readonly warn?: (message: string) => void
}

export interface LoadedAgent {
  readonly role: string
  /** Real path of the model's folder. */
  readonly folder: string
  /** Its session is made when it first computes. */
  readonly agent: Agent
  readonly text: ModelText
  readonly inner: InnerLinkState
  readonly innerGraph: LinkGraph
}

export interface LoadedSystem {
  readonly style: StyleDefinition
  /** By role. */
  readonly agents: ReadonlyMap<string, LoadedAgent>
  /** By key. */
  readonly links: ReadonlyMap<string, OuterLink>
  /** The same, as `think` and `answer` take it. */
  readonly team: Team
  /** Recommended for the benchmark, with the overrides; null where no benchmark was named. */
  readonly settings: RecommendedSettings | null
  /** Frees models and links; whoever loaded the system calls it. */
  dispose(): Promise<void>
}

/**
 * Opens all agents and links of a system. `name`: one of the published systems (sequential_light, sequential_scaled, mixture,
 * distillation, deliberation), or a style's own name or file for folders in the same layout. Files are read and checked, no session is made
 * and so no model computed with. UserErrors as of `findSystem`, and for models, tokenizers and links that do not fit.
 */
export async function loadSystem(name: string, options: LoadSystemOptions): Promise<LoadedSystem> {
  const style = await styleOfSystem(name)
  const settings =
    options.benchmark === undefined ? null : recommendedSettings(name, options.benchmark, options.overrides)
  const task = options.task ?? settings?.task ?? 'math'
  const found = await findSystemOf(style, releasedSystem(name)?.name ?? null, options, task)
  const resources = new Resources(
    {
      device: options.device ?? 'cpu',
      threads: options.threads,
      style: isStyleFile(name) ? name : style.name,
      promptPack: undefined,
    },
    options.warn ?? (() => undefined),
  )
  try {
    const specs = found.agents.map(({ role, model, innerLink }): AgentSpec => ({
      role,
      model,
      innerLink: innerLink!,
      innerLinkType: 'ln_res_adapter',
    }))
    const generator = new TorchGenerator(0)
    const given = await readLinks(style, specs, found.outerLinks!, task)
    const members = await openMembers(resources, specs, generator, task, given.inner)
    const choice = { type: () => 'outer_ln_res_adapter' as const, given: given.outer, path: found.outerLinks! }
    const team = await openTeam(resources, style, members, generator, choice, task)
    const agents = new Map<string, LoadedAgent>()
    for (const [i, { inner, innerGraph, agent }] of members.entries()) {
      const { folder, text } = await resources.modelOf(members[i])
      requireChat(text)
      const { role } = style.roles[i]
      agents.set(role, { role, folder, agent, text, inner, innerGraph })
    }
    const links = new Map(team.links.map((l) => [l.key, l]))
    return { style, agents, links, team, settings, dispose: () => resources.dispose() }
  } catch (error) {
    await resources.dispose()
    throw error
  }
}

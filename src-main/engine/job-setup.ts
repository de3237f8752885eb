/**
 * What a job opens before it works: prompt pack, models with their texts, links. Everything that can be told to be wrong
 * without running anything is told here. Whoever makes `Resources` disposes them, whatever happens.
 */
import { realpath } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Agent } from './agents/agent'
import { WatchedAgent } from './agents/context-watch'
import { OnnxAgent } from './agents/onnx-agent'
import { SessionPool } from './agents/session-pool'
import type { DataReport } from './data/rows'
import type { JobContext } from './job-context'
import type { AgentSpec, JobSpec, OuterJob } from './job-spec'
import { earlierMemory } from './memory/earlier'
import type { MemoryPart } from './memory/estimate'
import type { MemoryPlan } from './memory/job-memory'
import { peakMemory } from './memory/machine'
import { type AgentWork, beyondLimit, settleMemory } from './memory/settle'
import { readConfig } from './models/families'
import { modelFingerprint, weightsIdentity } from './models/fingerprint'
import { openTextWeights } from './models/weights'
import { LinkSessions } from './nn/link-graphs'
import { initInnerLink, initOuterLink } from './nn/link-init'
import type { LinkParameters, OuterLinkType } from './nn/link-types'
import type { TorchGenerator } from './nn/torch-generator'
import type { PromptSettings } from './styles/row-prompts'
import { namedLinks, type StyleDefinition } from './styles/style'
import { packOf } from './styles/style-file'
import type { Member, OuterLink, Team } from './styles/team'
import { loadModelText, type ModelText, promptPackHash, type PromptPack, requireChat } from './text'
import { type InnerLinkFile, loadInnerLink, loadOuterLinks, type OuterLinksFile } from './training/link-files'
import type { LinkManifest, LinkProvenance } from './training/link-manifest'

export interface Model {
  /** Real path of the folder. */
  readonly folder: string
  readonly agent: Agent
  readonly text: ModelText
  /** Changes whenever the weights do. */
  readonly fingerprint: string
}

/** Sessions, agents and link sessions of a job; weights that agents share are loaded once, also where two folders hold the same files. */
export class Resources {
  readonly links: LinkSessions
  private readonly pool = new SessionPool()
  private plan: MemoryPlan | null = null
  private readonly models = new Map<string, Promise<Model>>()
  /** By what they read: folders keep their own names and texts over one session. */
  private readonly sessions = new Map<string, OnnxAgent>()
  private readonly watched = new Map<Agent, { readonly watched: WatchedAgent; readonly opened: OnnxAgent }>()

  constructor(
    private readonly options: Pick<JobSpec, 'device' | 'threads' | 'promptPack'> & {
      readonly style?: string
      readonly keepsPasses?: boolean
    },
    private readonly warn: (message: string) => void,
    /** Which role reads with which model folder, for messages. */
    private readonly readers: readonly { readonly role: string; readonly model: string }[] = [],
  ) {
    this.links = new LinkSessions({ threads: options.threads })
  }

  /** Checks config, weights and tokenizer now; the session is made at the first run. */
  async model(path: string): Promise<Model> {
    const folder = await realpath(path).catch(() => path)
    let model = this.models.get(folder)
    if (!model) this.models.set(folder, (model = this.open(folder)))
    return model
  }

  /** The model of a member that was opened here. */
  async modelOf({ agent }: Pick<Member, 'agent'>): Promise<Model> {
    for (const model of this.models.values()) if ((await model).agent === agent) return model
    throw new Error('a member of another job')
  }

  /** Warns where links were trained for something else than what they serve here: prompts, task, or models (in the manifest's order). */
  async compareOrigin(
    source: string,
    manifest: LinkManifest,
    task: string,
    serves: readonly { readonly role: string; readonly model: Model }[],
  ): Promise<void> {
    const { promptPack, task: trainedTask, baseModels } = manifest
    const differs = (what: string) => this.warn(`The links of ${source} were trained ${what}.`)
    const pack = await packOf(this.options.style, this.options.promptPack)
    if (promptPack !== null && promptPack !== promptPackHash(pack)) differs('with another prompt pack')
    if (trainedTask !== task) differs(`for the task "${trainedTask}", not "${task}"`)
    for (const [i, { role, model }] of serves.entries()) {
      const [then, now] = [baseModels[i]?.id, basename(model.folder)]
      if (then !== undefined && then !== now) differs(`with the model ${then} as ${role}, not ${now}`)
    }
  }

  /** What the models' texts come to, where they went beyond what a model was made for. */
  tellContexts(): void {
    for (const { watched } of this.watched.values()) watched.tellSum()
  }

  /**
   * Estimates what the job takes and decides how it fits, before any model computes: to be called before the run begins. UserError where
   * it does not. `work`: what each member is asked for.
   */
  settleMemory(
    ctx: JobContext,
    job: Pick<JobSpec, 'memoryLimit' | 'checkpointBlocks'>,
    work: readonly (AgentWork & { readonly agent: Agent; readonly name: string })[],
    beside: readonly MemoryPart[],
  ): void {
    const agents = work.map((w) => ({ ...w, agent: this.watched.get(w.agent)!.opened }))
    this.plan = settleMemory(
      ctx,
      job,
      { agents, beside },
      {
        pool: this.pool,
        keepsPasses: this.options.keepsPasses ?? false,
        earlier: ctx.resume ? earlierMemory(ctx.output) : null,
      },
    )
  }

  /** What the process came to, beside what was expected; nothing where no estimate was made. */
  tellMemory(ctx: JobContext): void {
    if (!this.plan) return
    const peak = peakMemory()
    ctx.say({ kind: 'memory-used', peak, estimate: this.plan.estimate.total, loads: this.pool.loads })
    const beyond = beyondLimit(this.plan, peak)
    if (beyond !== null) ctx.warn(beyond)
  }

  async dispose(): Promise<void> {
    for (const model of this.models.values()) await model.then((m) => m.agent.dispose()).catch(() => undefined)
    this.models.clear()
    this.sessions.clear()
    await this.links.dispose()
  }

  private async open(folder: string): Promise<Model> {
    const { device, threads, keepsPasses } = this.options
    const config = await readConfig(folder)
    const weights = await openTextWeights(folder)
    const identity = await weightsIdentity(folder, weights)
    let opened = this.sessions.get(identity)
    if (!opened)
      this.sessions.set(
        identity,
        (opened = new OnnxAgent(config, weights, { device, threads, keepsPasses, pool: this.pool })),
      )
    const agent = new WatchedAgent(opened, opened.config.maxPositions, await this.nameOf(folder), this.warn)
    this.watched.set(agent, { watched: agent, opened })
    return {
      folder,
      agent,
      text: await loadModelText(folder),
      fingerprint: await modelFingerprint(folder, weights, device),
    }
  }

  private async nameOf(folder: string): Promise<string> {
    const real = await Promise.all(this.readers.map(({ model }) => realpath(model).catch(() => model)))
    const roles = new Set(this.readers.flatMap(({ role }, i) => (real[i] === folder ? [role] : [])))
    return roles.size === 0 ? basename(folder) : `the ${[...roles].join(' and the ')} (${basename(folder)})`
  }
}

export function promptSettings(
  spec: Pick<JobSpec, 'kind' | 'mode' | 'enableThinking'> & { solverQuestionFirst?: boolean },
  style: StyleDefinition,
  pack: PromptPack,
  /** null: the model is not open (yet); prompts can be built, not tokenised. */
  texts: readonly (ModelText | null)[] = style.roles.map(() => null),
): PromptSettings {
  // before any model computes; inner training writes plain text for a model without a template
  if (spec.kind !== 'inner') for (const text of texts) if (text) requireChat(text)
  return {
    style,
    pack,
    mode: spec.mode,
    enableThinking: spec.enableThinking,
    questionFirst: spec.solverQuestionFirst ?? false,
    texts,
  }
}

/** What a job's link files hold. */
export interface GivenLinks {
  /** By agent index; null: a fresh link. */
  readonly inner: readonly (InnerLinkFile | null)[]
  /** null: fresh links. */
  readonly outer: OuterLinksFile | null
}

/**
 * Reads the link files that a job names. They have to meet the widths of the models, which config.json says: UserErrors come before
 * any weights are opened.
 */
export async function readLinks(
  style: StyleDefinition,
  agents: readonly Pick<AgentSpec, 'model' | 'innerLink'>[],
  outerPath: string | undefined,
  task: string,
): Promise<GivenLinks> {
  const widths = await Promise.all(agents.map(async ({ model }) => (await readConfig(model)).hiddenSize))
  const inner: (InnerLinkFile | null)[] = []
  for (const [i, { innerLink }] of agents.entries())
    inner.push(innerLink === undefined ? null : await loadInnerLink(innerLink, { width: widths[i], task }))
  const expected = namedLinks(style).map((link, i) => {
    const { source, target } = style.links[i]
    return { ...link, inWidth: widths[source], outWidth: widths[target] }
  })
  return { inner, outer: outerPath === undefined ? null : await loadOuterLinks(outerPath, { expected, task }) }
}

/**
 * Members of a team in style order. Fresh inner links are drawn in that order from the run's generator; a loaded link
 * draws as well, as in the reference, so that what is drawn after it does not depend on it.
 */
export async function openMembers(
  resources: Resources,
  agents: readonly AgentSpec[],
  generator: TorchGenerator,
  task: string,
  given: GivenLinks['inner'],
): Promise<Member[]> {
  const members: Member[] = []
  for (const [i, spec] of agents.entries()) {
    const model = await resources.model(spec.model)
    const { agent, fingerprint } = model
    const width = agent.hiddenSize
    const loaded = given[i]
    if (loaded?.manifest)
      await resources.compareOrigin(spec.innerLink!, loaded.manifest, task, [{ role: spec.role, model }])
    const type = loaded?.type ?? spec.innerLinkType
    const fresh = initInnerLink(type, width, generator)
    members.push({
      agent,
      inner: { type, parameters: loaded?.parameters ?? fresh },
      innerGraph: resources.links.link({ kind: 'inner', type, width }),
      fingerprint,
    })
  }
  return members
}

export interface OuterChoice {
  /** Type of a fresh link. */
  type(key: string): OuterLinkType
  /** Instead of drawing. */
  readonly given: OuterLinksFile | null
  /** Where they are from. */
  readonly path?: string
}

/** The type of a link that is not loaded. */
export function freshLinkType(
  { linkType, linkTypes }: Pick<OuterJob, 'linkType' | 'linkTypes'>,
  key: string,
): OuterLinkType {
  return Object.hasOwn(linkTypes, key) ? linkTypes[key] : linkType
}

/** The outer links of a team, drawn in creation order after the inner ones, or loaded. Their parameters may be trained in place. */
export async function openTeam(
  resources: Resources,
  style: StyleDefinition,
  members: readonly Member[],
  generator: TorchGenerator,
  choice: OuterChoice,
  task: string,
): Promise<Team> {
  const widths = style.links.map((l) => ({
    key: l.key,
    inWidth: members[l.source].agent.hiddenSize,
    outWidth: members[l.target].agent.hiddenSize,
  }))
  const loaded = choice.given
  if (loaded?.manifest)
    await resources.compareOrigin(
      choice.path!,
      loaded.manifest,
      task,
      await Promise.all(
        members.map(async (m, i) => ({ role: style.roles[i].role, model: await resources.modelOf(m) })),
      ),
    )
  const links = style.links.map(({ key, source, target }, i): OuterLink => {
    const { inWidth, outWidth } = widths[i]
    const known = loaded?.links.get(key)
    const type = known?.type ?? choice.type(key)
    const fresh = initOuterLink(type, inWidth, outWidth, generator)
    const graph = resources.links.link({ kind: 'outer', type, inWidth, outWidth })
    return { key, type, source, target, parameters: known?.parameters ?? fresh, graph }
  })
  return { style, members, links }
}

/** Puts saved values into parameters that others hold on to. */
export function restoreParameters(into: LinkParameters, from: LinkParameters): void {
  for (const [name, values] of Object.entries(into)) values.set(from[name])
}

/** What a manifest says of the models of a run. */
export function describeModels(
  agents: readonly { role: string; folder: string; hiddenSize: number }[],
): LinkProvenance['baseModels'] {
  return agents.map(({ role, folder, hiddenSize }) => ({
    role,
    id: basename(folder),
    revision: revisionOf(folder),
    hiddenSize,
  }))
}

/** What a manifest says of the data of a run. */
export function describeData(
  { field, columns = {}, shuffle, limit }: JobSpec['data'],
  { file, sha256, usable }: DataReport,
): LinkProvenance['dataset'] {
  return { file, sha256, rows: usable, field: field ?? null, columns, shuffle, limit }
}

/** A hub cache keeps each revision in a folder named by its commit. */
function revisionOf(folder: string): string | null {
  return /[/\\]snapshots[/\\]([0-9a-f]{40})(?:[/\\]|$)/.exec(folder)?.[1] ?? null
}

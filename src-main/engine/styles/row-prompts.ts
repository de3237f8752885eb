/** From a row of data to what an agent of a style reads in a round: the prompt, with slots or with text standing in them. */
import { repeats } from '../defects'
import { UserError } from '../errors'
import type { Mode } from '../job-spec'
import {
  buildPrompt,
  codeTypeOf,
  type ModelText,
  type PackTask,
  type Prompt,
  type PromptPack,
  promptVariants,
  renderStage,
  type Stage,
} from '../text'
import { styles } from './registry'
import { linksOfSlots } from './slot-names'
import { isFeedback, linksInto, type StyleDefinition, type StyleLink, type StyleRole } from './style'

/** What the prompts of a row need to know of it. */
export interface RowFacts {
  readonly question: string
  readonly task: PackTask
  readonly codeType?: 'function' | 'program'
  readonly functionName?: string
}

export interface PromptSettings {
  readonly style: StyleDefinition
  readonly pack: PromptPack
  readonly mode: Mode
  readonly enableThinking: boolean
  readonly questionFirst: boolean
  /** By agent index; null for an agent that is not there (a single agent answering alone). */
  readonly texts: readonly (ModelText | null)[]
}

/** Situations that prompts may tell apart. */
export const promptSituations: readonly RowFacts[] = [
  { task: 'math', question: '?' },
  { task: 'choice', question: '?' },
  { task: 'choice', question: '?\nA. one\nB. two' },
  { task: 'code', question: '?', codeType: 'program' },
  { task: 'code', question: '?', codeType: 'function', functionName: 'f' },
]

/** The facts of a row. Its own `task_family` goes before the run's task. */
export function factsOf(row: Readonly<Record<string, unknown>>, question: string, task: PackTask): RowFacts {
  const family = textOf(row.task_family).toLowerCase()
  const functionName = textOf(row.fn_name)
  return {
    question,
    task: family === 'math' || family === 'code' || family === 'choice' ? family : task,
    codeType: codeTypeOf(textOf(row.type)),
    ...(functionName ? { functionName } : {}),
  }
}

/** A cell as text: stripped; missing, null and objects give ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string'
    ? value.trim()
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : ''
}

/** The variant of an agent's prompt in a round (from 0): an agent that feedback reaches reads it from round 1 on. */
export function promptVariant(style: StyleDefinition, agent: number, round: number): 'first' | 'feedback' {
  return linksInto(style, agent, round).some(isFeedback) ? 'feedback' : 'first'
}

/** The agent that each of a prompt's slots is filled by, in order. */
export function slotSources(style: StyleDefinition, agent: number, round: number): readonly number[] {
  return linksInto(style, agent, round).map((l) => l.source)
}

/** A role's text in a row: the first of its columns that is not blank; '' where all are. */
export function targetText({ targets }: Pick<StyleRole, 'targets'>, row: Readonly<Record<string, unknown>>): string {
  for (const column of targets) {
    const text = textOf(row[column])
    if (text !== '') return text
  }
  return ''
}

/** System and user message of an agent in a round; `slotTexts`: text for its slots in order (absent: they stay slots). */
export function agentPrompt(
  settings: PromptSettings,
  facts: RowFacts,
  agent: number,
  round: number,
  slotTexts?: readonly string[],
): Prompt {
  const { style, pack } = settings
  const request = requestOf(settings, facts, agent, round)
  const prompt = buildPrompt(pack, request)
  const names = slotNames(prompt)
  const reads = linksInto(style, agent, round)
  const found = linksOfSlots(style, reads, names)
  const why =
    'why' in found
      ? found.why
      : found.links.some((link, i) => link !== reads[i])
        ? `its slots stand in another order (${names.join(', ')}) than for other tasks`
        : null
  if (why !== null)
    throw new UserError({
      what: `The prompt of the ${request.role} does not fit the style ${style.name}.`,
      why: `Prompt pack "${pack.name}", prompts.${request.role}.${request.variant}: ${why}.`,
      next: 'Give the prompt one slot for each link that it reads, called after it, or use the built-in pack.',
    })
  if (!slotTexts || names.length === 0) return prompt
  return buildPrompt(pack, { ...request, slots: Object.fromEntries(names.map((n, i) => [n, slotTexts[i]])) })
}

function requestOf(
  { style, pack, mode, questionFirst }: PromptSettings,
  facts: RowFacts,
  agent: number,
  round: number,
) {
  const { role } = style.roles[agent]
  const variant = promptVariant(style, agent, round)
  if (!promptVariants(pack, role).includes(variant) && !styles.some(({ name }) => name === style.name))
    throw new UserError({
      what: `The ${role} of the style ${style.name} has no prompt.`,
      why: `Neither the style file nor the prompt pack "${pack.name}" has prompts.${role}.${variant}.`,
      next: 'Write it into "prompts" of the style file, or into a prompt pack that the style file or the job names.',
    })
  return {
    role,
    variant,
    mode,
    round: repeats('round-two', mode, style.name) ? 2 : round + 1,
    questionFirst,
    ...facts,
  }
}

function slotNames(prompt: Prompt): string[] {
  return prompt.user.flatMap((p) => (p.kind === 'slot' ? [p.name] : []))
}

/**
 * The style with the order in which the prompts of a pack have their slots. Prompts that are not there or do not fit are told by
 * `agentPrompt`, as are those that have another order for another task.
 */
export function withSlotOrder(style: StyleDefinition, pack: PromptPack): StyleDefinition {
  const orderIn = (agent: number, round: number): readonly string[] | null => {
    const reads = linksInto(style, agent, round)
    if (reads.length < 2) return null
    for (const facts of promptSituations)
      for (const mode of ['corrected', 'reference'] as const) {
        const settings = { style, pack, mode, enableThinking: false, questionFirst: false, texts: [] }
        const links = linksIn(settings, facts, agent, round, reads)
        if (links !== null) return links.every((l, i) => l === reads[i]) ? null : links.map(({ key }) => key)
      }
    return null
  }
  const slotOrder = style.roles.map((_, agent) => ({ first: orderIn(agent, 0), feedback: orderIn(agent, 1) }))
  return slotOrder.every(({ first, feedback }) => first === null && feedback === null) ? style : { ...style, slotOrder }
}

/** null: the prompt is not there or does not fit. */
function linksIn(
  settings: PromptSettings,
  facts: RowFacts,
  agent: number,
  round: number,
  reads: readonly StyleLink[],
): readonly StyleLink[] | null {
  try {
    const names = slotNames(buildPrompt(settings.pack, requestOf(settings, facts, agent, round)))
    const found = linksOfSlots(settings.style, reads, names)
    return 'links' in found ? found.links : null
  } catch (error) {
    if (error instanceof UserError) return null
    throw error
  }
}

/** Stages of one row by what they say: rounds that ask the same are rendered once. */
export type RowStages = Map<string, Promise<Stage>>

/** The same as tokens of that agent's model; with a target for training. `known`: of the same row. */
export async function agentStage(
  settings: PromptSettings,
  facts: RowFacts,
  agent: number,
  round: number,
  more: { readonly slotTexts?: readonly string[]; readonly target?: string; readonly known?: RowStages } = {},
): Promise<Stage> {
  const text = settings.texts[agent]
  if (!text) throw new Error(`agent ${agent} of style ${settings.style.name} is not there`)
  const prompt = agentPrompt(settings, facts, agent, round, more.slotTexts)
  const key = JSON.stringify([agent, prompt, more.target])
  const made =
    more.known?.get(key) ??
    renderStage(text, prompt, more.target ?? null, {
      mode: settings.mode,
      enableThinking: settings.enableThinking,
    })
  more.known?.set(key, made)
  return made
}

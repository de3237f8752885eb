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
  renderStage,
  type Stage,
} from '../text'
import { isFeedback, linksInto, type StyleDefinition, type StyleRole } from './style'

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
  const { style, pack, mode, questionFirst } = settings
  const request = {
    role: style.roles[agent].role,
    variant: promptVariant(style, agent, round),
    mode,
    round: repeats('round-two', mode, style.name) ? 2 : round + 1,
    questionFirst,
    ...facts,
  }
  const prompt = buildPrompt(pack, request)
  const names = prompt.user.flatMap((p) => (p.kind === 'slot' ? [p.name] : []))
  const sources = slotSources(style, agent, round)
  if (names.length !== sources.length)
    throw new UserError({
      what: `The prompt of the ${request.role} does not fit the style ${style.name}.`,
      why:
        `In the prompt pack "${pack.name}" prompts.${request.role}.${request.variant} has ${slotWord(names.length)} ` +
        `(${names.join(', ') || 'none'}), but ${slotWord(sources.length)} are filled here ` +
        `(from ${sources.map((s) => style.roles[s].role).join(', ') || 'nobody'}).`,
      next: 'Give the prompt one slot for each agent that it reads, or use the built-in pack.',
    })
  if (!slotTexts || names.length === 0) return prompt
  return buildPrompt(pack, { ...request, slots: Object.fromEntries(names.map((n, i) => [n, slotTexts[i]])) })
}

const slotWord = (n: number): string => `${n} ${n === 1 ? 'slot' : 'slots'}`

/** The same as tokens of that agent's model; with a target for training. */
export async function agentStage(
  settings: PromptSettings,
  facts: RowFacts,
  agent: number,
  round: number,
  more: { readonly slotTexts?: readonly string[]; readonly target?: string } = {},
): Promise<Stage> {
  const text = settings.texts[agent]
  if (!text) throw new Error(`agent ${agent} of style ${settings.style.name} is not there`)
  const prompt = agentPrompt(settings, facts, agent, round, more.slotTexts)
  return renderStage(text, prompt, more.target ?? null, {
    mode: settings.mode,
    enableThinking: settings.enableThinking,
  })
}

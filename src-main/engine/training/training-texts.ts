/** Rows of training data as texts and token ids: what each role reads and writes, for inner links, aligned starts and outer links. */
import type { ColumnWish, DataRow } from '../data/rows'
import { repeats } from '../defects'
import type { Mode } from '../job-spec'
import {
  type PromptSettings,
  agentPrompt,
  agentStage,
  factsOf,
  promptVariant,
  type RowFacts,
  type RowStages,
  targetText,
  textOf,
} from '../styles/row-prompts'
import { isFeedback, linksInto, type StyleDefinition } from '../styles/style'
import type { PackTask, Prompt, Stage } from '../text'
import type { TrainingSample, TrainingText } from './unrolled'

type Values = Readonly<Record<string, unknown>>

/** Where a question stands. */
export const questionColumn: ColumnWish = ['question', 'problem']

/** The question of a row that was read with `questionColumn`. */
export function questionOf(row: DataRow): string {
  return textOf(row.text.question ?? row.values.question)
}

/** The column of an agent's text, or the columns of which each row has it in the first that is not blank. */
function ownColumn({ roles }: StyleDefinition, agent: number): ColumnWish {
  const { targets } = roles[agent]
  return targets.length === 1 ? targets[0] : { anyOf: targets }
}

/** Columns that outer training of a style needs. */
export function outerColumns(style: StyleDefinition): ColumnWish[] {
  return [questionColumn, ...style.roles.map((_, agent) => ownColumn(style, agent))]
}

/** What inner training of a role needs of the data, and how it finds a role's text in a row. */
export interface RoleColumns {
  readonly required: readonly ColumnWish[]
  /** Given the columns that the data has, the finder of an agent's text in a row; '' where there is none. */
  finder(columns: readonly string[]): TextFinder
}

export type TextFinder = (agent: number, values: Values) => string

/** For `readRows`. */
export function publishedNulls(style: StyleDefinition, mode: Mode): { nullAs?: string } {
  return repeats('text-none', mode, style.name) ? { nullAs: 'None' } : {}
}

/** A line for the log; null where nothing was filled. */
export function describeFilled(filled: number): string | null {
  return filled > 0 ? `${filled} rows lack a text and are trained on "None" in its place, as published.` : null
}

/**
 * The role's own text and what stands in the slots of its first prompt. In reference mode as published: of several names the
 * first that the data has counts for every row; in a mixture and a deliberation only the role's own text has to be there.
 */
export function roleColumns(style: StyleDefinition, agent: number, mode: Mode): RoleColumns {
  const sources = linksInto(style, agent, 0).map((l) => l.source)
  if (!repeats('one-column-for-all', mode, style.name))
    return {
      required: [questionColumn, ...[...sources, agent].map((a) => ownColumn(style, a))],
      finder: () => (a, values) => targetText(style.roles[a], values),
    }
  const names = (a: number) => style.roles[a].innerTargets ?? style.roles[a].targets
  const alone = repeats('blank-experts', mode, style.name) || repeats('marker-as-text', mode, style.name)
  const needed = alone ? [agent] : [...sources, agent]
  return {
    required: [questionColumn, ...needed.map(names)],
    finder: (columns) => (a, values) => {
      const name = names(a).find((n) => columns.includes(n))
      return name === undefined ? '' : textOf(values[name])
    },
  }
}

/** The texts of each round: the `rounds` column where a row has one, else the row's own columns in every round. */
export function roundTexts(row: Values): readonly Values[] {
  const { rounds } = row
  return Array.isArray(rounds) && rounds.length > 0 && rounds.every((r) => typeof r === 'object' && r !== null)
    ? (rounds as Values[])
    : [row]
}

/** A stage's prompt and target as the trainer takes them. The target is what follows the common part, up to the turn's end. */
export function trainingText(stage: Stage): TrainingText {
  if (!stage.full) throw new Error('a training text needs a target')
  const pieces = stage.full.ids
  const last = pieces.length - 1
  const before = pieces.slice(0, last).reduce((n, p) => n + p.length, 0)
  // a template that differs already before the last slot leaves nothing of the last piece as prompt
  const split = Math.min(Math.max(stage.beforeTarget - before, 0), pieces[last].length)
  return {
    prompt: stage.prompt.ids,
    context: [...pieces.slice(0, last), pieces[last].slice(0, split)],
    target: pieces[last].slice(split),
  }
}

/** One text task of a role: text stands in the slots. */
export interface RoleText {
  readonly facts: RowFacts
  readonly round: number
  readonly slotTexts: readonly string[]
  readonly target: string
}

/**
 * The text tasks of a role in a row. `first`: the role's first prompt with the row's own columns. `all`: every
 * prompt that the role meets in the rounds of the row, each task once; the feedback of a row without texts of its
 * rounds is its column `feedback`, else the sender's text. Tasks that lack a text are left out.
 */
export function roleTexts(
  style: StyleDefinition,
  agent: number,
  row: DataRow,
  task: PackTask,
  prompts: 'first' | 'all',
  { find = (a, values) => targetText(style.roles[a], values), blankSlots = false }: RoleTextOptions = {},
): RoleText[] {
  const facts = factsOf(row.values, questionOf(row), task)
  const texts = prompts === 'first' ? [row.values] : roundTexts(row.values)
  const made: RoleText[] = []
  const add = (round: number, slotTexts: readonly string[], target: string) => {
    if (target === '' || (!blankSlots && slotTexts.some((t) => t === ''))) return
    const known = (m: RoleText) =>
      m.target === target &&
      m.slotTexts.join('\0') === slotTexts.join('\0') &&
      promptVariant(style, agent, m.round) === promptVariant(style, agent, round)
    if (!made.some(known)) made.push({ facts, round, slotTexts, target })
  }
  texts.forEach((now, round) => {
    const slotTexts = linksInto(style, agent, round).map((l) => find(l.source, isFeedback(l) ? texts[round - 1] : now))
    add(round, slotTexts, find(agent, now))
  })
  if (prompts === 'all' && texts.length === 1 && promptVariant(style, agent, 1) === 'feedback') {
    const [now] = texts
    const given = textOf(row.values.feedback)
    const slotTexts = linksInto(style, agent, 1).map((l) => (isFeedback(l) && given) || find(l.source, now))
    add(1, slotTexts, find(agent, now))
  }
  return made
}

export interface RoleTextOptions {
  /** Default: the first of the role's columns that is not blank in the row. */
  readonly find?: TextFinder
  /** A slot may stand empty. */
  readonly blankSlots?: boolean
}

/** The prompt of a text task with its texts in the slots. */
export function rolePrompt(settings: PromptSettings, agent: number, text: RoleText): Prompt {
  return agentPrompt(settings, text.facts, agent, text.round, text.slotTexts)
}

/** A row as a sample: prompts may name their round, so every round has texts of its own. */
export async function outerSample(
  settings: PromptSettings,
  row: DataRow,
  id: number,
  { task, maxRounds, warn }: { task: PackTask; maxRounds: number; warn: (message: string) => void },
): Promise<TrainingSample> {
  const rounds: TrainingText[][] = []
  const known: RowStages = new Map()
  const texts = new Map<Stage, TrainingText>()
  for (let round = 0; round < maxRounds; round++) {
    const stages: TrainingText[] = []
    for (let agent = 0; agent < settings.style.agentCount; agent++) {
      const { stage, target } = await outerStage(settings, row, task, agent, round, known)
      stage.warnings.forEach(warn)
      const text = texts.get(stage) ?? trainingText(stage)
      texts.set(stage, text)
      // of a blank text only the template's end of turn would be left
      stages.push(target === '' ? { ...text, target: [] } : text)
    }
    rounds.push(stages)
  }
  return { id, rounds }
}

/** A stage of a row in a round (from 0), and the text that its agent is trained to write there. */
export async function outerStage(
  settings: PromptSettings,
  row: DataRow,
  task: PackTask,
  agent: number,
  round: number,
  known?: RowStages,
): Promise<{ stage: Stage; target: string }> {
  const { style, mode } = settings
  const { task_family: _, ...withoutFamily } = row.values
  const facts = factsOf(repeats('task-ignored', mode, style.name) ? withoutFamily : row.values, questionOf(row), task)
  const texts = roundTexts(row.values)
  const target = targetText(style.roles[agent], texts[Math.min(round, texts.length - 1)])
  return { stage: await agentStage(settings, facts, agent, round, { target, known }), target }
}

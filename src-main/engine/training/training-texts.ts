/** Rows of training data as texts and token ids: what each role reads and writes, for inner links, aligned starts and outer links. */
import type { DataRow } from '../data/rows'
import {
  type PromptSettings,
  agentPrompt,
  agentStage,
  factsOf,
  promptVariant,
  type RowFacts,
  slotSources,
  textOf,
} from '../styles/row-prompts'
import type { StyleDefinition } from '../styles/style'
import type { PackTask, Prompt, Stage } from '../text'
import type { TrainingSample, TrainingText } from './unrolled'

type Values = Readonly<Record<string, unknown>>

/** Columns that outer training of a style needs. */
export function outerColumns(style: StyleDefinition): string[] {
  return ['question', ...style.roles.map((r) => r.target)]
}

/** Columns that training of one role needs: its own text and what stands in the slots of its first prompt. */
export function roleColumns(style: StyleDefinition, agent: number): string[] {
  return ['question', ...slotSources(style, agent, 0).map((s) => style.roles[s].target), style.roles[agent].target]
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
 * rounds is its column `feedback`, else the last agent's text. Tasks that lack a text are left out.
 */
export function roleTexts(
  style: StyleDefinition,
  agent: number,
  row: DataRow,
  task: PackTask,
  prompts: 'first' | 'all',
): RoleText[] {
  const facts = factsOf(row.values, textOf(row.values.question), task)
  const texts = prompts === 'first' ? [row.values] : roundTexts(row.values)
  const made: RoleText[] = []
  const add = (round: number, slotTexts: readonly string[], target: string) => {
    if (target === '' || slotTexts.some((t) => t === '')) return
    const known = (m: RoleText) =>
      m.target === target &&
      m.slotTexts.join('\0') === slotTexts.join('\0') &&
      promptVariant(style, agent, m.round) === promptVariant(style, agent, round)
    if (!made.some(known)) made.push({ facts, round, slotTexts, target })
  }
  const column = (of: number) => style.roles[of].target
  texts.forEach((now, round) => {
    const isFirst = style.first.includes(agent)
    // feedback comes from the round before, everything else from the same round
    const from = isFirst && round > 0 ? texts[round - 1] : now
    add(
      round,
      slotSources(style, agent, round).map((s) => textOf(from[column(s)])),
      textOf(now[column(agent)]),
    )
    if (prompts === 'all' && isFirst && texts.length === 1)
      add(1, [textOf(row.values.feedback) || textOf(now[column(style.last)])], textOf(now[column(agent)]))
  })
  return made
}

/** The prompt of a text task with its texts in the slots. */
export function rolePrompt(settings: PromptSettings, agent: number, text: RoleText): Prompt {
  return agentPrompt(settings, text.facts, agent, text.round, text.slotTexts)
}

/** Makes the samples of outer training as they are asked for, each once. */
export class OuterSamples {
  private readonly made = new Map<number, Promise<TrainingSample>>()

  constructor(
    private readonly settings: PromptSettings,
    private readonly rows: readonly DataRow[],
    private readonly task: PackTask,
    /** Rounds that a batch can have at most. */
    private readonly maxRounds: number,
    private readonly warn: (message: string) => void,
  ) {}

  sample(index: number): Promise<TrainingSample> {
    let made = this.made.get(index)
    if (!made) this.made.set(index, (made = this.make(index)))
    return made
  }

  private async make(index: number): Promise<TrainingSample> {
    const { style, mode } = this.settings
    const row = this.rows[index].values
    // published outer training of sequential systems takes no notice of a row's own task
    const { task_family: _, ...withoutFamily } = row
    const facts = factsOf(mode === 'reference' ? withoutFamily : row, textOf(row.question), this.task)
    const texts = roundTexts(row)
    // prompts may name their round, so every round has texts of its own
    const rounds: TrainingText[][] = []
    for (let round = 0; round < this.maxRounds; round++) {
      const targets = texts[Math.min(round, texts.length - 1)]
      const stages: TrainingText[] = []
      for (let agent = 0; agent < style.agentCount; agent++) {
        const target = textOf(targets[style.roles[agent].target])
        const stage = await agentStage(this.settings, facts, agent, round, { target })
        stage.warnings.forEach(this.warn)
        const text = trainingText(stage)
        // of a blank text only the template's end of turn would be left
        stages.push(target === '' ? { ...text, target: [] } : text)
      }
      rounds.push(stages)
    }
    return { id: index, rounds }
  }
}

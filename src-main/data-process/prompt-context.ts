/** What prompts are written with: style, pack, a model's tokenizer and template, and the defaults that runs of each kind have. */
import type { RunUse } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { evaluateJob, innerJob, outerJob } from '../engine/job-spec'
import { readConfig } from '../engine/models/families'
import { roleIn, styleByName } from '../engine/styles/registry'
import type { PromptSettings } from '../engine/styles/row-prompts'
import type { StyleDefinition } from '../engine/styles/style'
import { openStyle } from '../engine/styles/style-file'
import { loadModelText, type ModelText, type PackTask } from '../engine/text'
import { passedFeedback, passedStates } from '../engine/training/passed-states'
import type { UnrollOptions } from '../engine/training/unrolled'

/** As in the contract's requests; names of the workspace resolved to folders and files. */
export interface PromptParams {
  readonly style: string
  readonly mapping: Readonly<Record<string, string>>
  readonly use: RunUse
  /** The model's folder. */
  readonly model: string
  /** A prompt pack file; null: the built-in pack. */
  readonly pack: string | null
  readonly task: PackTask
  readonly enableThinking: boolean
  readonly latentSteps: number
  readonly rounds: number
  readonly maxLength: number | null
}

export interface PromptContext {
  readonly style: StyleDefinition
  readonly settings: PromptSettings
  readonly text: ModelText
  /** Positions that the model was made for. */
  readonly maxPositions: number | null
  /** Most positions of a row; null: none of the run's own. */
  readonly limit: number | null
  readonly task: PackTask
  readonly enableThinking: boolean
}

const anywhere = { output: '.', data: { file: '.' } }
const defaults = {
  inner: innerJob.parse({ kind: 'inner', role: '-', model: '.', ...anywhere }),
  outer: outerJob.parse({ kind: 'outer', ...anywhere }),
  evaluate: evaluateJob.parse({ kind: 'evaluate', ...anywhere }),
} as const
const { mode } = defaults.outer

/** Tokenizers take seconds to load and hundreds of megabytes, so the last ones are kept. */
const kept = new Map<string, Promise<ModelText>>()
const mostKept = 3

/** Throws UserError. */
export async function openPrompts(params: PromptParams): Promise<PromptContext> {
  const { use, model, task, enableThinking, maxLength } = params
  // a page names styles, never files
  const { style, pack } = await openStyle(styleByName(params.style).name, params.pack ?? undefined)
  const text = await modelText(model)
  return {
    style,
    settings: {
      style,
      pack,
      mode,
      enableThinking,
      questionFirst: false,
      texts: style.roles.map(() => text),
    },
    text,
    maxPositions: (await readConfig(model)).maxPositions,
    limit: maxLength ?? (use === 'evaluate' ? null : defaults[use].maxLength),
    task,
    enableThinking,
  }
}

/** Throws UserError for a role that the style does not have. */
export function agentOf(style: StyleDefinition, role: string): number {
  const agent = roleIn(style, role)
  if (agent >= 0) return agent
  throw new UserError({
    what: `The style ${style.name} has no role "${role}".`,
    why: `Its roles are ${style.roles.map((r) => r.role).join(', ')}.`,
    next: 'Choose one of them.',
  })
}

/** How outer training of so many rounds reads its texts. */
export function outerOptions(rounds: number, latentCap: number) {
  const { superviseFinalOnly, earlierRoundsWeight } = defaults.outer
  return {
    rounds,
    states: passedStates(defaults.outer) as UnrollOptions['states'],
    feedback: passedFeedback(defaults.outer),
    cap: latentCap,
    latentSteps: latentCap,
    earlierWeight: superviseFinalOnly ? null : earlierRoundsWeight,
    tooLong: 'leave-out' as const,
  }
}

/** `#### result` at the end of a worked answer is the gold of math sets. */
export const resultMark = defaults.evaluate.grader === 'math'

function modelText(folder: string): Promise<ModelText> {
  const known = kept.get(folder)
  const text = known ?? loadModelText(folder)
  kept.delete(folder)
  kept.set(folder, text)
  text.catch(() => kept.delete(folder))
  for (const other of kept.keys()) if (kept.size > mostKept) kept.delete(other)
  return text
}

/**
 * What an inner link reads, from rows of data in any of their forms to tokens: a role's prompts and texts, questions with
 * worked answers, or plain text.
 */
import { type DataReport, type DataRow, type ReadRows, readRows } from '../data/rows'
import { repeats } from '../defects'
import { UserError } from '../errors'
import type { DataSpec, InnerJob } from '../job-spec'
import { factsOf, type PromptSettings, promptVariant } from '../styles/row-prompts'
import {
  type InnerRow,
  type ModelText,
  type PackTask,
  plainTrainingText,
  type Prompt,
  renderInnerRow,
  renderTextRow,
} from '../text'
import { publishedNulls, questionColumn, questionOf, roleColumns, rolePrompt, roleTexts } from './training-texts'

/** One text to learn from: an answer to a prompt, or a text by itself. */
export type InnerTask =
  | {
      readonly kind: 'answer'
      readonly prompt: Prompt
      readonly target: string
      /** From here on the target teaches nothing. */
      readonly latentsEndAt?: string
      /** Feedback stands in the prompt. */
      readonly feedback: boolean
      /** The target stands in the prompt too, since two roles share a column. */
      readonly copies: boolean
    }
  | { readonly kind: 'text'; readonly text: string }

export interface InnerData {
  readonly rows: readonly DataRow[]
  readonly report: DataReport
  /** Rows in which a missing text became the text "None", as published. */
  readonly filled: number
  /** UserError: the pack lacks a prompt. */
  tasksOf(row: DataRow): InnerTask[]
  /** Tasks that rows may be of. */
  readonly kinds: ReadonlySet<PackTask>
}

type InnerDataJob = Pick<InnerJob, 'form' | 'textColumn' | 'task' | 'prompts' | 'mode' | 'seed'>

/** Reads training or held-out rows in the job's form. UserErrors: see readRows. */
export async function readInnerData(
  job: InnerDataJob,
  data: DataSpec,
  prompts: PromptSettings,
  agent: number,
): Promise<InnerData> {
  switch (job.form) {
    case 'role':
      return roleData(job, data, prompts, agent)
    case 'question-answer':
      return answerData(job, data, prompts)
    case 'text':
      return textData(job, data)
    default:
      throw new Error(`form ${String(job.form satisfies never)}`)
  }
}

/** Stands in the published prompt of a tool-caller where the reflector's text would be. */
const publishedMarker = '<<DELIBERATION_REFLECTOR_SLOT>>'

async function roleData(job: InnerDataJob, data: DataSpec, prompts: PromptSettings, agent: number): Promise<InnerData> {
  const { style } = prompts
  const columns = roleColumns(style, agent, job.mode)
  const read = await readRows(data, {
    required: columns.required,
    seed: job.seed,
    ...publishedNulls(style, job.mode),
    hint: 'Rows of questions and answers alone train with "form": "question-answer", plain text with "form": "text".',
  })
  const own = columns.finder(read.report.columns)
  const marked = repeats('marker-as-text', job.mode, style.name) && style.roles[agent].role === 'tool-caller'
  const find: typeof own = marked ? (a, values) => (a === agent ? own(a, values) : publishedMarker) : own
  const options = { find, blankSlots: repeats('blank-experts', job.mode, style.name) }
  return {
    ...read,
    kinds: new Set(read.rows.map((r) => factsOf(r.values, '', job.task).task)),
    tasksOf: (row) =>
      roleTexts(style, agent, row, job.task, job.prompts, options).map((t) => ({
        kind: 'answer',
        prompt: rolePrompt(prompts, agent, t),
        target: t.target,
        feedback: promptVariant(style, agent, t.round) === 'feedback',
        copies: t.slotTexts.includes(t.target),
      })),
  }
}

async function answerData(job: InnerDataJob, data: DataSpec, { pack, mode }: PromptSettings): Promise<InnerData> {
  // told at once where the pack has no text for it
  plainTrainingText(pack, { question: '', answer: '', mode })
  const read = await readRows(data, { required: [questionColumn, 'answer'], optional: ['cot'], seed: job.seed })
  return {
    ...read,
    kinds: new Set(),
    tasksOf: (row) => {
      const { answer, cot } = row.text
      const worked = cot === undefined || cot.trim() === '' ? answer : `${cot}\n#### ${answer}`
      return [
        {
          kind: 'answer',
          feedback: false,
          copies: false,
          ...plainTrainingText(pack, { question: questionOf(row), answer: worked, mode }),
        },
      ]
    },
  }
}

/** A text column is named, or it is the first that holds text. */
async function textData(job: InnerDataJob, data: DataSpec): Promise<InnerData> {
  const column = job.textColumn ?? firstTextColumn(await readRows(data, { required: [], seed: job.seed }))
  const read = await readRows(data, { required: [column], seed: job.seed })
  return { ...read, kinds: new Set(), tasksOf: (row) => [{ kind: 'text', text: row.text[column] }] }
}

function firstTextColumn({ rows, report }: ReadRows): string {
  const column = report.columns.find((c) => rows.some(({ values }) => typeof values[c] === 'string'))
  if (column !== undefined) return column
  throw new UserError({
    what: 'There is no text to train on.',
    why: `${report.file} has no column of text; its columns are ${report.columns.join(', ') || 'none'}.`,
    next: 'Choose a file with a column of text.',
  })
}

export interface InnerText extends InnerRow {
  /** It was longer than the limit and lost its end. */
  readonly cut: boolean
}

/** A task as tokens of the model. */
export async function tokenise(
  text: ModelText,
  task: InnerTask,
  { mode, enableThinking, maxLength }: Pick<InnerJob, 'mode' | 'enableThinking' | 'maxLength'>,
): Promise<InnerText> {
  // one token more tells a text that just fits from one that is cut
  const limit = maxLength + 1
  const row =
    task.kind === 'text'
      ? await renderTextRow(text, task.text, limit)
      : await renderInnerRow(text, task.prompt, task.target, {
          mode,
          enableThinking,
          maxLength: limit,
          latentsEndAt: task.latentsEndAt,
        })
  return cutText(row, maxLength)
}

/** What is left of a text within the limit. */
export function cutText(row: InnerRow, maxLength: number): InnerText {
  return {
    ...row,
    ids: row.ids.slice(0, maxLength),
    promptLength: Math.min(row.promptLength, maxLength),
    latentEnd: Math.min(row.latentEnd, maxLength),
    cut: row.ids.length > maxLength,
  }
}

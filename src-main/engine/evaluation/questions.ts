/** Rows of a data set as questions with gold answers. */
import { type ColumnWish, type DataReport, type DataRow, readRows } from '../data/rows'
import type { DataSpec } from '../job-spec'
import { type RowFacts, factsOf, textOf } from '../styles/row-prompts'
import { hasOptionLines, type PackTask } from '../text'
import { goldAnswer } from './grading'

export interface Question {
  /** Place among the usable rows, after shuffle and limit. */
  readonly index: number
  /** The row's number in the file, as in DataRow. */
  readonly number: number
  readonly question: string
  readonly gold: string
  /** Of a multiple-choice question, as the row has them; else none. */
  readonly options: readonly string[]
  readonly facts: RowFacts
  /** Values of columns that group rows, by column. */
  readonly groups: Readonly<Record<string, string>>
  /** The whole row. */
  readonly values: Readonly<Record<string, unknown>>
}

export interface QuestionSettings {
  readonly task: PackTask
  readonly questionColumn?: string
  readonly answerColumn?: string
  /** `#### result` at the end of a worked answer is the gold of math sets. */
  readonly resultMark: boolean
  readonly seed: number
}

/** Columns that sort questions into kinds, where a data set has them. */
const groupColumns = ['depth', 'level', 'subject']

const letterOf = (place: number): string => String.fromCharCode('A'.charCodeAt(0) + place)

/** A list of texts, or texts by letter. */
function optionsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const options = Array.isArray(value)
    ? value.map(textOf)
    : Object.entries(value).map(([letter, text]) => `${letter}. ${textOf(text)}`)
  return options.some((o) => o === '') ? [] : options
}

/** The question with its options below it, one a line, unless it has them already. */
function withOptions(question: string, options: readonly string[]): string {
  if (options.length === 0 || hasOptionLines(question)) return question
  const labelled = options.every((o) => hasOptionLines(o))
  return [question, ...options.map((o, i) => (labelled ? o : `${letterOf(i)}. ${o}`))].join('\n')
}

/** The columns that an evaluation needs: of the question, and of the gold answer. */
export function questionColumns({
  questionColumn,
  answerColumn,
}: Pick<QuestionSettings, 'questionColumn' | 'answerColumn'>): readonly [ColumnWish, ColumnWish] {
  return [questionColumn ?? ['question', 'problem'], answerColumn ?? 'answer']
}

/** The question of a row that was read with `questionColumns`. */
export function questionIn(
  { number, text, values }: DataRow,
  settings: Omit<QuestionSettings, 'seed'>,
): Omit<Question, 'index'> {
  const asked = (text[settings.questionColumn ?? 'question'] ?? '').trim()
  const { task } = factsOf(values, asked, settings.task)
  const options = task === 'choice' ? optionsOf(values.options) : []
  const q = task === 'choice' ? withOptions(asked, options) : asked
  const a = (text[settings.answerColumn ?? 'answer'] ?? '').trim()
  const groups = groupColumns.flatMap((c) => (textOf(values[c]) === '' ? [] : [[c, textOf(values[c])] as const]))
  return {
    number,
    question: q,
    gold: settings.resultMark ? goldAnswer(a) : a,
    options,
    facts: factsOf(values, q, settings.task),
    groups: Object.fromEntries(groups),
    values,
  }
}

/** Reads a data set's questions. UserErrors: see readRows. */
export async function readQuestions(
  data: DataSpec,
  settings: QuestionSettings,
): Promise<{ questions: Question[]; report: DataReport }> {
  const { rows, report } = await readRows(data, { required: questionColumns(settings), seed: settings.seed })
  return { questions: rows.map((row, index) => ({ index, ...questionIn(row, settings) })), report }
}

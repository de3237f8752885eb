/** Rows of a data set as questions with gold answers. */
import { UserError } from '../errors'
import { type RowFacts, factsOf, textOf } from '../styles/row-prompts'
import type { PackTask } from '../text'

export interface Question {
  /** Row of the data, after shuffle and limit. */
  readonly index: number
  readonly question: string
  readonly gold: string
  readonly facts: RowFacts
  /** Values of columns that group rows, by column. */
  readonly groups: Readonly<Record<string, string>>
}

export interface QuestionSettings {
  /** Names the data in errors. */
  readonly file: string
  readonly task: PackTask
  readonly questionColumn?: string
  readonly answerColumn?: string
  /** `#### result` at the end of a worked answer is the gold of math sets. */
  readonly resultMark: boolean
}

const questionColumns = ['question', 'problem']
const answerColumns = ['answer']
/** Columns that sort questions into kinds, where a data set has them. */
const groupColumns = ['depth', 'level', 'subject']

/** Questions, and rows left out by cause. A UserError names the columns there are when none fits. */
export function readQuestions(
  rows: readonly Readonly<Record<string, unknown>>[],
  settings: QuestionSettings,
): { questions: Question[]; leftOut: Record<string, number> } {
  const question = columnOf(rows, settings.questionColumn, questionColumns, 'question', settings.file)
  const answer = columnOf(rows, settings.answerColumn, answerColumns, 'answer', settings.file)
  const leftOut: Record<string, number> = {}
  const questions = rows.flatMap((row, index): Question[] => {
    const [q, a] = [textOf(row[question]), textOf(row[answer])]
    const blank = q === '' ? question : a === '' ? answer : null
    if (blank !== null) {
      const cause = `"${blank}" is blank`
      leftOut[cause] = (leftOut[cause] ?? 0) + 1
      return []
    }
    const groups = groupColumns.flatMap((c) => (textOf(row[c]) === '' ? [] : [[c, textOf(row[c])] as const]))
    return [{ index, question: q, gold: settings.resultMark ? resultOf(a) : a, facts: factsOf(row, q, settings.task), groups: Object.fromEntries(groups) }]
  })
  return { questions, leftOut }
}

function resultOf(answer: string): string {
  const at = answer.lastIndexOf('####')
  return at < 0 ? answer : answer.slice(at + 4).trim()
}

function columnOf(
  rows: readonly Readonly<Record<string, unknown>>[],
  given: string | undefined,
  candidates: readonly string[],
  what: string,
  file: string,
): string {
  const wanted = given === undefined ? candidates : [given]
  const found = wanted.find((c) => rows.some((r) => c in r))
  if (found !== undefined) return found
  const present = [...new Set(rows.flatMap((r) => Object.keys(r)))]
  throw new UserError({
    what: 'The data set cannot be used for evaluation.',
    why: `${file} has no ${what} column (${wanted.map((w) => `"${w}"`).join(' or ')}); it has ${present.map((p) => `"${p}"`).join(', ')}.`,
    next: `Name the ${what} column of this data set.`,
  })
}

/** Which verdict counts for an answer, beside all that were made. */
import type { Mode } from '../job-spec'
import type { PackTask } from '../text'
import { boxedText } from './grading/reference/boxed'
import { referenceLetter } from './grading/reference/choice'
import { referenceCode } from './grading/reference/code'
import { gradeReferenceMath } from './grading/reference/math'
import type { GradeRecord } from './sample-record'

/** `math`: reference and strict verdicts. `exact`: every word of the gold text, and the end token. */
export type Grader = 'math' | 'exact'

export interface Answered {
  readonly task: PackTask
  readonly gold: string
  readonly output: string
  /** The output ended with a stop token. */
  readonly ended: boolean
}

export interface Graded {
  readonly correct: boolean
  readonly strict: boolean | null
  readonly grades: GradeRecord[]
}

export function grade(grader: Grader, mode: Mode, answered: Answered): Graded {
  switch (grader) {
    case 'exact':
      return gradeExact(answered)
    case 'math':
      return gradeMath(mode, answered)
    default:
      throw new Error(`grader ${String(grader satisfies never)}`)
  }
}

/** True where an output holds no answer that could be read, so that a short second generation is worth it. */
export function needsRetry(grader: Grader, task: PackTask, output: string): boolean {
  if (grader === 'exact') return false
  if (task === 'code') return referenceCode(output) === ''
  if (task === 'choice') return referenceLetter(output) === null
  return boxedText(output) === null
}

function gradeExact({ gold, output, ended }: Answered): Graded {
  const words = (text: string) => text.split(/\s+/).filter(Boolean).join(' ')
  const same = words(output) === words(gold)
  const cause = same ? (ended ? null : 'the answer did not end') : 'the words differ'
  return { correct: same && ended, strict: null, grades: [{ grader: 'exact', correct: same && ended, prediction: words(output), gold: words(gold), cause }] }
}

function gradeMath(_mode: Mode, { gold, output }: Answered): Graded {
  const reference = gradeReferenceMath(gold, output)
  const grades: GradeRecord[] = [{ grader: 'reference', correct: reference.correct, prediction: reference.pred, gold, cause: reference.cause ?? null }]
  return { correct: reference.correct, strict: null, grades }
}

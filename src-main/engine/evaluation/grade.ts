/** Which verdict counts for an answer, beside all that were made. */
import { repeats } from '../defects'
import type { Mode } from '../job-spec'
import type { PackTask } from '../text'
import { grade as gradeText, type GradeRequest } from './grading'
import type { GradeRecord, SampleRecord } from './sample-record'

/** `math`: reference and strict verdicts, letters for a choice. `exact`: every word of the gold text, and the end token. */
export type Grader = 'math' | 'exact'

/** How a question of a task is graded. */
export function graderOf(grader: Grader, task: PackTask): GradeRequest['grader'] {
  return grader === 'math' && task === 'choice' ? 'choice' : grader
}

export type Graded = Pick<SampleRecord, 'correct' | 'strict' | 'grades'>

/** In corrected mode the strict verdict counts, in reference mode the published one; both are kept. */
export function gradeAnswer(mode: Mode, request: GradeRequest): Graded {
  const verdict = gradeText(request)
  switch (verdict.grader) {
    case 'exact': {
      const { correct, pred, gold, cause } = verdict.exact
      return {
        correct,
        strict: null,
        grades: [{ grader: 'exact', correct, prediction: pred, gold, cause: cause ?? null }],
      }
    }
    case 'choice':
    case 'math': {
      const { reference, strict } = verdict
      const gold = verdict.grader === 'choice' ? verdict.reference.gold : request.gold
      const grades: GradeRecord[] = [
        {
          grader: 'reference',
          correct: reference.correct,
          prediction: reference.pred,
          gold,
          cause: reference.cause ?? null,
        },
        {
          grader: 'strict',
          correct: strict.correct,
          prediction: strict.pred,
          gold: strict.gold,
          cause: strict.correct === true ? null : strict.reason,
        },
      ]
      // where people differ about an answer it does not count as right
      const correct = repeats('lenient-grade', mode) ? reference.correct : strict.correct === true
      return { correct, strict: strict.correct, grades }
    }
    default:
      throw new Error(`verdict ${String(verdict satisfies never)}`)
  }
}

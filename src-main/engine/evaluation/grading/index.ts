/**
 * Grading of outputs. Mathematics and multiple choice always get two verdicts: `reference` is the published behaviour with its leniency, for
 * comparison with published numbers; `strict` is what a careful person says.
 */
import { gradeExact, type ExactVerdict } from './exact'
import { boxedText } from './reference/boxed'
import { gradeReferenceChoice, referenceGold, referenceLetter, type ReferenceChoice } from './reference/choice'
import { referenceCode } from './reference/code'
import { gradeReferenceMath, type ReferenceVerdict } from './reference/math'
import { gradeStrictChoice, strictGold } from './strict/choice'
import { gradeStrictMath, type StrictVerdict } from './strict/math'

export type { ExactVerdict, ReferenceChoice, ReferenceVerdict, StrictVerdict }

export interface GradeRequest<G extends 'math' | 'choice' | 'exact' = 'math' | 'choice' | 'exact'> {
  readonly grader: G
  /** The answer field of the row; a worked solution counts from behind its last "####". */
  readonly gold: string
  readonly output: string
  /** Of a multiple-choice question, in order, with their letters or without. */
  readonly options?: readonly string[]
  /** Whether the output stopped with an end token rather than at the length limit. */
  readonly ended: boolean
}

export interface MathGrade {
  readonly grader: 'math'
  readonly reference: ReferenceVerdict
  /** `correct` is null where people differ; counts as not right in an accuracy. */
  readonly strict: StrictVerdict
}

export interface ChoiceGrade {
  readonly grader: 'choice'
  readonly reference: ReferenceChoice
  readonly strict: StrictVerdict
}

export interface ExactGrade {
  readonly grader: 'exact'
  readonly exact: ExactVerdict
}

/** The final answer in an answer field: what follows the last "####" (GSM8K's worked solutions), else all of it. */
export function goldAnswer(field: string): string {
  const at = field.lastIndexOf('####')
  return (at < 0 ? field : field.slice(at + 4)).trim()
}

/** Grades one output. Never throws, whatever the texts; the time is bounded by their length. */
export function grade(request: GradeRequest<'math'>): MathGrade
export function grade(request: GradeRequest<'choice'>): ChoiceGrade
export function grade(request: GradeRequest<'exact'>): ExactGrade
export function grade(request: GradeRequest): MathGrade | ChoiceGrade | ExactGrade
export function grade({
  grader,
  gold,
  output,
  options = [],
  ended,
}: GradeRequest): MathGrade | ChoiceGrade | ExactGrade {
  switch (grader) {
    case 'math': {
      const answer = goldAnswer(gold)
      return { grader, reference: gradeReferenceMath(answer, output), strict: gradeStrictMath(answer, output) }
    }
    case 'choice': {
      const answer = goldAnswer(gold)
      return {
        grader,
        reference: gradeReferenceChoice(referenceGold(answer, options), output),
        strict: gradeStrictChoice(strictGold(answer, options), output, options),
      }
    }
    case 'exact':
      return { grader, exact: gradeExact(gold, output, ended) }
    default: {
      const never: never = grader
      return never
    }
  }
}

/** Whether an output holds an answer in the form of its task; where not, the answer retry asks once more. */
export function hasParsableAnswer(task: 'math' | 'choice' | 'code', output: string): boolean {
  switch (task) {
    case 'math':
      return boxedText(output) !== null
    case 'choice':
      return referenceLetter(output) !== null
    case 'code':
      return referenceCode(output) !== ''
    default: {
      const never: never = task
      return never
    }
  }
}

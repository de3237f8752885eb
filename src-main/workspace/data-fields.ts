/** Fields of rows that no role of a style names: what is asked, the gold answer, and what a row may say about its task. */
import { questionColumn } from '../engine/training/training-texts'

/** Names under which the question is found by itself. */
export const questionFields = [questionColumn].flat() as string[]

/** Where evaluations find the gold answer (evaluation/questions.ts). */
export const answerField = 'answer'

/** Field -> what it holds, in words. */
export const optionalFields = {
  task_family: 'Kind of task (math, code or choice)',
  options: 'Options of a choice question',
  type: 'Kind of program that a code task asks for',
  fn_name: 'Name of the function that a code task asks for',
} as const

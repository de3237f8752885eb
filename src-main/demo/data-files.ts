/** The demo's data files: one JSON row a line, all depths by turns. */
import { interleave, type Problems } from './data'
import { rowOf, type Problem } from './vel'

/** Training rows of each depth that the demo carries; its models are trained on more. */
export const carriedTrainRows = 1000

/** File name -> content. */
export function dataFiles(problems: Problems): Record<string, string> {
  return {
    'train.jsonl': lines(interleave(problems.train, carriedTrainRows)),
    'validation.jsonl': lines(interleave(problems.validation)),
    'held-out.jsonl': lines(interleave(problems.heldOut)),
  }
}

function lines(problems: readonly Problem[]): string {
  return problems.map((problem) => JSON.stringify(rowOf(problem)) + '\n').join('')
}

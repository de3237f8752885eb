/** The grader `exact`: every word of the gold text in its order, and the end token behind them. */
export interface ExactVerdict {
  readonly correct: boolean
  /** The words that are compared, one space between them. */
  readonly pred: string
  readonly gold: string
  /** Why the answer is wrong. */
  readonly cause?: string
}

const words = (text: string) => text.split(/\s+/).filter(Boolean).join(' ')

/** `ended`: the text stopped with an end token rather than at the length limit. */
export function gradeExact(goldField: string, output: string, ended: boolean): ExactVerdict {
  const [gold, pred] = [words(goldField), words(output)]
  if (gold === '') return { correct: false, pred, gold, cause: 'there is no gold answer' }
  if (pred !== gold) return { correct: false, pred, gold, cause: 'the words differ' }
  return ended ? { correct: true, pred, gold } : { correct: false, pred, gold, cause: 'the answer did not end' }
}

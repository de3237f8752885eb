/** Math grading as the published reference does it: four lenient normal forms, the first that agrees decides. */
import { boxedText, finalAnswerLabel, labelledText } from './boxed'
import { PYTHON_SPACE, stripPython } from '../../../text/python-text'
import { PythonError, divideIntegers, floatText, parseInteger, removeSpace } from './python-text'

export type NormalForm = 'intpart' | 'latex_text' | 'nospace' | 'digits'

export interface ReferenceVerdict {
  readonly correct: boolean
  /** What was read as the answer; null where the output is blank. */
  readonly pred: string | null
  /** The normal form that decided, as `name:text`; empty where no form exists on both sides. */
  readonly goldNorm: string
  readonly predNorm: string
  /** Why the reference would have raised an error here instead of grading. */
  readonly cause?: string
}

const flatText = /\\text\{([^{}]*)\}/g
const integerFraction = new RegExp(
  `\\\\frac\\{[${PYTHON_SPACE}]*([+-]?\\p{Nd}+)[${PYTHON_SPACE}]*\\}\\{[${PYTHON_SPACE}]*([+-]?\\p{Nd}+)[${PYTHON_SPACE}]*\\}`,
  'gu',
)
const firstNumber = /(-?\p{Nd}+)(?:\.\p{Nd}+)?/u

function quotientText(whole: string, over: string, under: string): string {
  const divisor = parseInteger(under)
  return divisor === 0n ? whole : floatText(divideIntegers(parseInteger(over), divisor))
}

const forms: Record<NormalForm, (text: string) => string> = {
  intpart: (text) => {
    const plain = stripPython(text)
      .replace(flatText, '$1')
      .replace(integerFraction, quotientText)
      .replace(/\\left|\\right|,/g, '')
      .replaceAll('\\circ', '')
    const number = firstNumber.exec(plain)
    return number === null ? '' : String(parseInteger(number[1]))
  },
  latex_text: (text) =>
    removeSpace(
      stripPython(text)
        .replace(flatText, '$1')
        .replace(/\\left|\\right/g, '')
        .replace(/\\[,;!:]|[${}"']/g, ''),
    ),
  nospace: removeSpace,
  digits: (text) => {
    const digits = text.split('.', 1)[0].replace(/\P{Nd}+/gu, '')
    return digits === '' ? '' : digits.replace(/^0+/, '') || '0'
  },
}

/** The order in which the reference tries them. */
export const normalForms = Object.keys(forms) as NormalForm[]

/** One normal form of a text; empty where it has none. Throws PythonError where the reference would raise. */
export function normalise(form: NormalForm, text: string): string {
  return forms[form](text)
}

/** What the reference takes as the answer of an output: box, else label, else everything; null for a blank output. */
export function referencePrediction(output: string): string | null {
  return boxedText(output) ?? labelledText(output, finalAnswerLabel) ?? (stripPython(output) || null)
}

/** Grades an output against the answer field of a row. Never throws; where the reference would, wrong with a cause. */
export function gradeReferenceMath(goldField: string, output: string): ReferenceVerdict {
  const gold = stripPython(goldField)
  const pred = referencePrediction(output)
  if (pred === null) return { correct: false, pred, goldNorm: '', predNorm: '' }
  let reported: { goldNorm: string; predNorm: string } | undefined
  try {
    for (const form of normalForms) {
      const goldForm = normalise(form, gold)
      const predForm = normalise(form, pred)
      if (goldForm === '' || predForm === '') continue
      const norms = { goldNorm: `${form}:${goldForm}`, predNorm: `${form}:${predForm}` }
      if (goldForm === predForm) return { correct: true, pred, ...norms }
      reported ??= norms
    }
  } catch (error) {
    if (!(error instanceof PythonError)) throw error
    return { correct: false, pred, goldNorm: '', predNorm: '', cause: error.message }
  }
  return { correct: false, pred, ...(reported ?? { goldNorm: '', predNorm: '' }) }
}

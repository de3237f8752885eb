/** Multiple choice as the published reference grades it: a letter where one is found, else A, on both sides. */
import { boxedText, finalChoiceLabel, labelledText } from './boxed'
import { PYTHON_SPACE, stripPython } from '../../../text/python-text'
import { skipSpace } from './python-text'

const keyword = /choice|option|answer/giu
const wordCharacter = /[\p{L}\p{N}_]/u
const letter = /^[A-Da-d]$/

/** Reads "optional opening bracket, space, letter" at `from`; the letter and the index behind it, or null. */
function bracketedLetter(text: string, from: number): { letter: string; end: number } | null {
  let at = skipSpace(text, from)
  if (text[at] === '(' || text[at] === '[') at = skipSpace(text, at + 1)
  return letter.test(text[at] ?? '') ? { letter: text[at].toUpperCase(), end: at + 1 } : null
}

function letterIn(source: string): string | null {
  const text = stripPython(source)
  for (const match of text.matchAll(keyword)) {
    let at = skipSpace(text, match.index + match[0].length)
    if (text[at] === ':' || text[at] === '-') at++
    const found = bracketedLetter(text, at)
    if (!found) continue
    const next = text.codePointAt(found.end)
    if (next === undefined || !wordCharacter.test(String.fromCodePoint(next))) return found.letter
  }
  const first = bracketedLetter(text, 0)
  if (!first) return null
  const behind = text[skipSpace(text, first.end)]
  return behind === undefined || ')]:.-'.includes(behind) ? first.letter : null
}

/** The letter A to D without the reference's default; null where it finds none. */
export function referenceLetter(output: string): string | null {
  const boxed = boxedText(output)
  const labelled = labelledText(output, finalChoiceLabel)
  return (
    (boxed !== null ? letterIn(boxed) : null) ?? (labelled !== null ? letterIn(labelled) : null) ?? letterIn(output)
  )
}

export interface ReferenceChoice {
  readonly correct: boolean
  /** What counted as the answer; A also where no letter was found. */
  readonly pred: string
  readonly gold: string
  /** Set where the letter of the answer is a default. */
  readonly cause?: string
}

/** Compares the letters of an output and of a row's gold, both of which default to A. */
export function gradeReferenceChoice(gold: string, output: string): ReferenceChoice {
  const [wanted, found] = [referenceLetter(gold) ?? 'A', referenceLetter(output)]
  const pred = found ?? 'A'
  return {
    correct: pred === wanted,
    pred,
    gold: wanted,
    ...(found ? {} : { cause: 'no letter was found, which counts as A' }),
  }
}

const optionLabel = new RegExp(`^[${PYTHON_SPACE}]*([A-Da-d])[${PYTHON_SPACE}]*[.):\\-]`, 'u')

function withoutLabel(text: string): string {
  return stripPython(stripPython(text).replace(optionLabel, ''))
    .replace(new RegExp(`[${PYTHON_SPACE}]+`, 'gu'), ' ')
    .toLowerCase()
}

/** The letter of a gold answer that is given as text: a letter in it, else the first option that it contains or is part of, else A. */
export function referenceGold(answer: string, options: readonly string[]): string {
  const letter = referenceLetter(answer)
  if (letter) return letter
  const wanted = withoutLabel(answer)
  if (wanted !== '')
    for (const option of options) {
      const text = withoutLabel(option)
      const label = optionLabel.exec(option)
      if (label && text !== '' && (text.includes(wanted) || wanted.includes(text))) return label[1].toUpperCase()
    }
  return 'A'
}

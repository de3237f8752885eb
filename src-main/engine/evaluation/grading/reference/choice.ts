/** The letter that the reference finds in a multiple-choice output. */
import { boxedText, finalChoiceLabel, labelledText } from './boxed'
import { stripPython } from '../../../text/python-text'
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

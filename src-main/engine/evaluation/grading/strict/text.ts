/** Answers in words: compared without case, spaces, quotation marks and the macros around them. */
import { closingBrace, maxAnswerLength } from './lexer'
import { debatable, right, wrong, type Verdict } from './verdict'

const wordMacro =
  /\\(?:text|mbox|hbox|textrm|textbf|textit|textsf|texttt|textnormal|mathrm|mathbf|mathit|mathsf|operatorname|boxed|fbox)\s*\{/
const spacing = /\\(?:[,;:! ]|(?:left|right|displaystyle|quad|qquad)(?![A-Za-z]))|~/g

/** The content of \text{…} and its like in place of the macros, spacing macros as spaces, dollar signs dropped. */
export function unwrapped(source: string): string {
  let text = source.slice(0, maxAnswerLength)
  for (let match = wordMacro.exec(text); match !== null; match = wordMacro.exec(text)) {
    const open = match.index + match[0].length - 1
    const close = closingBrace(text, open)
    const inside = close < 0 ? text.slice(open + 1) : text.slice(open + 1, close)
    text = text.slice(0, match.index) + inside + (close < 0 ? '' : text.slice(close + 1))
  }
  return text.replace(spacing, ' ').replaceAll('$', '')
}

const outerMarks = /^[\s"'“”‘’`*_.,;:!]+|[\s"'“”‘’`*_.,;:!]+$/g

function words(source: string): string {
  let text = unwrapped(source).replace(/\s+/gu, ' ').replace(outerMarks, '')
  const inner = /^\(([^()]*)\)$/.exec(text)
  if (inner) text = inner[1].replace(outerMarks, '')
  return text
}

const key = (text: string) => text.toLowerCase().replace(/\s+/gu, '')
const softKey = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}+\-*/=<>^]/gu, '')
const tokens = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? []

const alternatives = new Set(['or', 'not', 'no', 'neither', 'nor', 'never', 'isn', 'and'])

/** Compares two answers as words; gold words with others around them are debatable. */
export function compareText(goldSource: string, predSource: string): Verdict {
  const verdict = compareCharacters(goldSource, predSource)
  if (verdict.correct !== false) return verdict
  const isInside = contains(tokens(words(goldSource)), tokens(words(predSource)))
  return isInside ? debatable('the answer with words around it') : verdict
}

/** Compares two answers character by character, but for case, space and the marks around them. */
export function compareCharacters(goldSource: string, predSource: string): Verdict {
  const [gold, pred] = [words(goldSource), words(predSource)]
  if (gold === '' || pred === '') return wrong('no words to compare')
  if (key(gold) === key(pred)) {
    return gold.length === 1 && gold !== pred ? debatable('the same letter in the other case') : right('the same words')
  }
  if (softKey(gold) !== '' && softKey(gold) === softKey(pred)) return debatable('the same but for punctuation')
  return wrong('other words')
}

/** Whether the gold words stand in the prediction, which neither denies them nor offers others beside them. */
function contains(gold: readonly string[], pred: readonly string[]): boolean {
  if (gold.length === 0 || pred.length > 60) return false
  const same = (a: string, b: string | undefined) => a.toLowerCase() === b?.toLowerCase()
  const start = pred.findIndex((_, at) => gold.every((word, index) => same(word, pred[at + index])))
  if (start < 0) return false
  const others = [...pred.slice(0, start), ...pred.slice(start + gold.length)]
  if (others.length === 0 || others.some((word) => alternatives.has(word.toLowerCase()))) return false
  const isLetter = gold.length === 1 && gold[0].length === 1
  return !isLetter || !others.some((word) => /^[A-Zb-z]$/.test(word))
}

/** The reference's two ways of finding an answer in a text: a box, and what follows a label. Their defects are part of them. */
import { PYTHON_SPACE, stripPython } from '../../../text/python-text'
import { lineEnd, skipSpace } from './python-text'

const box = '\\boxed{'
const flatBox = /\\boxed\{([^{}]+)\}/g

/**
 * What the reference reads as boxed, trimmed; null for no box. A box without inner braces wins wherever it stands (the last
 * one); else the last line that holds a box counts, up to the last closing brace of that line.
 */
export function boxedText(text: string): string | null {
  let last: string | null = null
  for (const match of text.matchAll(flatBox)) last = match[1]
  if (last !== null) return stripPython(last)
  let from = text.indexOf(box)
  while (from >= 0) {
    const start = from + box.length
    const end = lineEnd(text, start)
    const close = text.lastIndexOf('}', end - 1)
    if (close >= start) last = text.slice(start, close)
    from = text.indexOf(box, end)
  }
  return last === null ? null : stripPython(last)
}

/**
 * The rest of the line after the last of the labels that `label` finds (white space after a label is skipped, line feeds
 * too), trimmed; null where there is no label or nothing behind it. `label` must end at its colon and have the flag g.
 */
export function labelledText(text: string, label: RegExp): string | null {
  let found: string | null = null
  label.lastIndex = 0
  for (let match = label.exec(text); match !== null; match = label.exec(text)) {
    const start = skipSpace(text, match.index + match[0].length)
    const end = lineEnd(text, start)
    if (end > start) found = stripPython(text.slice(start, end))
    // A label inside the text that an earlier label claimed is no label.
    label.lastIndex = Math.max(end, label.lastIndex)
  }
  return found || null
}

export const finalAnswerLabel = new RegExp(`final[${PYTHON_SPACE}]+answer[${PYTHON_SPACE}]*:`, 'giu')
export const finalChoiceLabel = new RegExp(`final[${PYTHON_SPACE}]*(?:choice|answer)[${PYTHON_SPACE}]*:`, 'giu')

/** The program that the reference takes from an output: the first closed fence tagged `python` outside think blocks. */
import { stripPython } from '../../../text/python-text'
import { skipSpace } from './python-text'

const thinkTag = /<(\/?)think>/giu
const pythonFence = /```python/giu
/** Where Python's `splitlines` ends a line. */
const lineBreak = /\r\n|[\n-\r\x1c-\x1e\x85\u2028\u2029]/u

/** The text without closed think blocks; one that is not closed stays. */
function withoutThinking(text: string): string {
  let kept = ''
  let from = 0
  let opened: number | null = null
  for (const tag of text.matchAll(thinkTag)) {
    if (tag[1] === '') {
      opened ??= tag.index
    } else if (opened !== null) {
      kept += text.slice(from, opened)
      from = tag.index + tag[0].length
      opened = null
    }
  }
  return kept + text.slice(from)
}

/** The code, trimmed; empty where there is none. */
export function referenceCode(output: string): string {
  const text = stripPython(withoutThinking(output))
  pythonFence.lastIndex = 0
  const open = pythonFence.exec(text)
  if (!open) return ''
  const start = skipSpace(text, open.index + open[0].length)
  const close = text.indexOf('```', start)
  if (close < 0) return ''
  const lines = stripPython(text.slice(start, close))
    .split(lineBreak)
    .filter((line) => !stripPython(line).startsWith('```'))
  if (stripPython(lines[0] ?? '').toLowerCase() === 'python') lines.shift()
  return stripPython(lines.join('\n'))
}

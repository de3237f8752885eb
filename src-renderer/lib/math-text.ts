/**
 * Splits a text into plain stretches and mathematics by the delimiters that questions and answers use:
 * $…$, $$…$$, \(…\), \[…\], and a bare \boxed{…}. A dollar sign that is money ("$5 and $7") stays plain.
 */

export type MathPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'math'; readonly source: string; readonly tex: string; readonly display: boolean }

export function splitMath(text: string): MathPart[] {
  const parts: MathPart[] = []
  let plain = ''
  let i = 0
  const flush = (): void => {
    if (plain) parts.push({ kind: 'text', text: plain })
    plain = ''
  }
  while (i < text.length) {
    const found = mathAt(text, i)
    if (found) {
      flush()
      parts.push(found)
      i += found.source.length
    } else if (text[i] === '\\' && text[i + 1] === '$') {
      plain += '$'
      i += 2
    } else {
      plain += text[i]
      i += 1
    }
  }
  flush()
  return parts
}

/** True where `splitMath` would find anything to typeset. */
export function hasMath(text: string): boolean {
  return splitMath(text).some((part) => part.kind === 'math')
}

const pairs = [
  { open: '$$', close: '$$', display: true },
  { open: '\\[', close: '\\]', display: true },
  { open: '\\(', close: '\\)', display: false },
] as const

function mathAt(text: string, at: number): Extract<MathPart, { kind: 'math' }> | undefined {
  for (const { open, close, display } of pairs) {
    if (!text.startsWith(open, at)) continue
    const end = text.indexOf(close, at + open.length)
    const tex = end < 0 ? '' : text.slice(at + open.length, end)
    if (tex.trim() === '') continue
    return { kind: 'math', source: text.slice(at, end + close.length), tex, display }
  }
  if (text.startsWith('\\boxed{', at)) {
    const end = closingBrace(text, at + '\\boxed'.length)
    if (end < 0) return undefined
    const source = text.slice(at, end + 1)
    return { kind: 'math', source, tex: source, display: false }
  }
  if (text[at] !== '$' || text[at + 1] === '$') return undefined
  const end = closingDollar(text, at + 1)
  if (end < 0) return undefined
  return { kind: 'math', source: text.slice(at, end + 1), tex: text.slice(at + 1, end), display: false }
}

/** The brace that closes the one at `open`; -1 where none does. */
function closingBrace(text: string, open: number): number {
  let depth = 0
  for (let i = open; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1
    else if (text[i] === '{') depth += 1
    else if (text[i] === '}') {
      depth -= 1
      if (depth === 0) return i
    }
  }
  return -1
}

/**
 * As Pandoc reads it: no space just inside either dollar, no digit right after the closing one, and within one paragraph.
 * Returns -1 for a dollar sign that opens nothing.
 */
function closingDollar(text: string, from: number): number {
  if (from >= text.length || /\s/.test(text[from])) return -1
  for (let i = from; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1
    else if (text[i] === '\n' && text[i + 1] === '\n') return -1
    else if (text[i] === '$') {
      if (i === from) return -1
      if (/\s/.test(text[i - 1]) || /\d/.test(text[i + 1] ?? '')) return -1
      return i
    }
  }
  return -1
}

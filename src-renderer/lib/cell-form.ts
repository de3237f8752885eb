/** In which form a whole cell is best read. */
import type { ColumnView } from '../../src-main/bridge/contract'
import { hasMath } from './math-text'

export type CellForm = 'nothing' | 'json' | 'math' | 'text'

/** Characters up to which structure and mathematics are looked for. */
const lookedThrough = 200_000

export function cellForm(text: string | null, type: ColumnView['type']): CellForm {
  if (text === null || text.trim() === '') return 'nothing'
  if (text.length > lookedThrough) return 'text'
  if (type === 'list' || type === 'object' || /^\s*[[{]/.test(text))
    return prettyJson(text) === null ? plain(text) : 'json'
  return plain(text)
}

function plain(text: string): CellForm {
  return hasMath(text) ? 'math' : 'text'
}

/**
 * JSON with line ends and indents; null where it is none. Only white space between the tokens changes: numbers keep all their digits,
 * names that come twice stay, as a parser would not have it.
 */
export function prettyJson(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return null
  } catch {
    return null
  }
  let out = ''
  let depth = 0
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? []
  tokens.forEach((token, i) => {
    const opens = token === '{' || token === '['
    const closes = token === '}' || token === ']'
    const empty = closes && (tokens[i - 1] === '{' || tokens[i - 1] === '[')
    if (closes) depth -= 1
    if (closes && !empty) out += `\n${'  '.repeat(depth)}`
    out += token === ':' ? ': ' : token
    if (opens) depth += 1
    const next = tokens[i + 1]
    if (token === ',' || (opens && next !== '}' && next !== ']')) out += `\n${'  '.repeat(depth)}`
  })
  return out
}

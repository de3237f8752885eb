/**
 * Text functions that behave as Python's do, because chat templates, the published prompts and the published graders were written for Python:
 * white space is another set of characters there than in JavaScript.
 */

/** What Python's `str.isspace` holds true for, as the inside of a character class. */
export const PYTHON_SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const space = new RegExp(`^[${PYTHON_SPACE}]$`)

/** `str.isspace` of one character. */
export function isPythonSpace(character: string): boolean {
  return space.test(character)
}

/** Python's strip, lstrip, rstrip: takes white space, or the characters of `characters`, from the chosen ends. */
export function stripPython(
  text: string,
  ends: 'both' | 'left' | 'right' = 'both',
  characters?: string | null,
): string {
  const chosen = characters === undefined || characters === null ? null : new Set(characters)
  const taken = (c: string) => (chosen ? chosen.has(c) : isPythonSpace(c))
  const all = [...text]
  let from = 0
  let to = all.length
  if (ends !== 'right') while (from < to && taken(all[from])) from++
  if (ends !== 'left') while (to > from && taken(all[to - 1])) to--
  return all.slice(from, to).join('')
}

/** JSON written by people: where it is wrong, by line and column, in words. */

/**
 * Like JSON.parse, a byte order mark aside. Throws a SyntaxError whose message says where and what: "line 3, column 5: a comma is
 * missing before "rounds"".
 */
export function parseJson(text: string): unknown {
  const json = text.replace(/^\uFEFF/, '')
  try {
    return JSON.parse(json)
  } catch (cause) {
    const fault = faultIn(json)
    throw fault === null ? cause : new SyntaxError(`${placeOf(json, fault.at)}: ${fault.why}`, { cause })
  }
}

interface Fault {
  /** Index into the text. */
  readonly at: number
  readonly why: string
}

type Awaited = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end'

/** The first place at which a text stops being JSON; null where it is JSON. */
export function faultIn(json: string): Fault | null {
  const open: ('{' | '[')[] = []
  let awaited: Awaited = 'value'
  for (let at = 0; ;) {
    at = skip(json, at, ' \t\n\r')
    const c = json.charAt(at)
    const inside = open.at(-1)
    const end = inside === '{' ? '}' : ']'
    if (c === '') {
      if (awaited === 'comma or end' && inside === undefined) return null
      return { at, why: inside === undefined ? 'the text holds no value' : `the text ends, but a ${end} is missing` }
    }
    switch (awaited) {
      case 'value':
      case 'value or end':
        if (c === '{' || c === '[') {
          open.push(c)
          awaited = c === '{' ? 'name or end' : 'value or end'
          at++
          break
        }
        if (c === ']' && awaited === 'value or end') {
          open.pop()
          at++
        } else {
          if (inside !== undefined && c === end && json.charAt(before(json, at)) === ',')
            return { at: before(json, at), why: `a comma stands before the closing ${end}` }
          const scalar = c === '"' ? textFrom(json, at) : wordFrom(json, at)
          if (typeof scalar !== 'number') return scalar
          at = scalar
        }
        awaited = 'comma or end'
        break
      case 'name':
      case 'name or end':
        if (c === '}' && awaited === 'name or end') {
          open.pop()
          at++
          awaited = 'comma or end'
          break
        }
        if (c === '}') return { at: before(json, at), why: 'a comma stands before the closing }' }
        if (c !== '"') return { at, why: `a name in double quotes is missing before ${shown(json, at)}` }
        {
          const name = textFrom(json, at)
          if (typeof name !== 'number') return name
          at = name
        }
        awaited = 'colon'
        break
      case 'colon':
        if (c !== ':') return { at, why: `a colon is missing before ${shown(json, at)}` }
        at++
        awaited = 'value'
        break
      case 'comma or end':
        if (inside === undefined) return { at, why: `${shown(json, at)} stands after the end` }
        if (c === ',') awaited = inside === '{' ? 'name' : 'value'
        else if (c === end) open.pop()
        else if (c === '}' || c === ']') return { at, why: `there is a ${c} where a ${end} is missing` }
        else return { at, why: `a comma is missing before ${shown(json, at)}` }
        at++
        break
      default:
        throw new Error(`awaited ${String(awaited satisfies never)}`)
    }
  }
}

function skip(json: string, from: number, characters: string): number {
  let at = from
  while (at < json.length && characters.includes(json.charAt(at))) at++
  return at
}

/** The last place before `at` that holds more than white space. */
function before(json: string, at: number): number {
  let last = at - 1
  while (last > 0 && ' \t\n\r'.includes(json.charAt(last))) last--
  return last
}

/** The place after the text in quotes that starts at `start`, or what is wrong with it. */
function textFrom(json: string, start: number): number | Fault {
  for (let at = start + 1; at < json.length; at++) {
    const c = json.charAt(at)
    if (c === '"') return at + 1
    if (c === '\n' || c === '\r') return { at: start, why: 'a text is not closed by a double quote on its line' }
    if (c < ' ') return { at, why: `a text holds the character ${JSON.stringify(c)}, which is written ${escaped(c)}` }
    if (c !== '\\') continue
    const known = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y
    known.lastIndex = at + 1
    if (!known.test(json))
      return { at, why: `a text holds a backslash that means nothing (a backslash itself is written \\\\)` }
    at = known.lastIndex - 1
  }
  return { at: start, why: 'a text is not closed by a double quote' }
}

const escaped = (control: string): string => JSON.stringify(control).slice(1, -1)

/** The place after the number, true, false or null that starts at `start`. */
function wordFrom(json: string, start: number): number | Fault {
  const word = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y
  word.lastIndex = start
  if (word.test(json)) return word.lastIndex
  if (json.startsWith('//', start) || json.startsWith('/*', start))
    return { at: start, why: 'there is a comment, which JSON does not have' }
  return { at: start, why: `${shown(json, start)} is no value (a text stands in double quotes)` }
}

/** The word or sign at a place. */
function shown(json: string, at: number): string {
  const whole = /"(?:[^"\\\n]|\\.){0,24}"?|[\p{L}\p{N}_.+-]{1,24}|./suy
  whole.lastIndex = at
  const found = whole.exec(json)?.[0] ?? ''
  return found.startsWith('"') ? found : `"${found}"`
}

function placeOf(json: string, at: number): string {
  const lines = json.slice(0, at).split(/\r\n|\n|\r/)
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`
}

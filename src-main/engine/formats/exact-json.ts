/** JSON whose numbers keep their digits: a literal that JSON.parse would change (7.50, 1e5, big integers) becomes a string. */

/** Like JSON.parse, except that a number it would change comes as the text that stands in the file. Throws SyntaxError. */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const exact = quoteInexactNumbers(text)
  return exact === text ? value : JSON.parse(exact)
}

/** Valid JSON with quotes around every number that JSON.parse would change; the same text where there is none. */
export function quoteInexactNumbers(json: string, inexact: (literal: string) => boolean = changesInParse): string {
  const pieces: string[] = []
  let done = 0
  for (let at = 0; at < json.length;) {
    const code = json.charCodeAt(at)
    if (code === quote) {
      at = endOfString(json, at)
      continue
    }
    if (code !== minus && !isDigit(code)) {
      at++
      continue
    }
    const end = endOfNumber(json, at)
    const literal = json.slice(at, end)
    if (inexact(literal)) {
      pieces.push(json.slice(done, at), '"', literal, '"')
      done = end
    }
    at = end
  }
  return pieces.length === 0 ? json : pieces.join('') + json.slice(done)
}

/** Whether a number literal, once parsed, would be written otherwise. */
export function changesInParse(literal: string): boolean {
  return String(Number(literal)) !== literal
}

/** The place after the closing quote of the string that starts at `start`; the text's length where it is not closed. */
export function endOfString(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = json.indexOf('"', at)
    if (at < 0) return json.length
    let slashes = 0
    while (json.charCodeAt(at - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return at + 1
  }
}

/** The place after the number that starts at `start`. */
export function endOfNumber(json: string, start: number): number {
  let at = start + 1
  for (; at < json.length; at++) {
    const code = json.charCodeAt(at)
    // digits, sign, point, exponent
    if (!isDigit(code) && code !== 43 && code !== minus && code !== 46 && code !== 69 && code !== 101) break
  }
  return at
}

const quote = 34
const backslash = 92
const minus = 45

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/** Cuts an answer, in LaTeX or as people type it, into tokens. Fonts, sizes, colours and spacing macros disappear here. */
import {
  textMacros,
  romanMacros,
  spaceMacros,
  silentMacros,
  argumentDropped,
  markMacros,
  markCharacters,
  macroCharacters,
  fractionCharacters,
  superscripts,
  subscripts,
} from './symbols'
import { isUnitWord } from './units'

/** `text`: inside \text and its like; `roman`: inside \mathrm and its like; `math`: everything else. */
export type Font = 'math' | 'text' | 'roman'

export type Token = { readonly gap: boolean } & (
  | { readonly kind: 'number'; readonly text: string; readonly exponent?: string }
  /** Digits of a base above ten. */
  | { readonly kind: 'digits'; readonly text: string }
  | { readonly kind: 'letters'; readonly text: string; readonly font: Font }
  | { readonly kind: 'macro'; readonly name: string }
  /** Operators, brackets and separators, in one spelling each. */
  | { readonly kind: 'mark'; readonly text: string }
  | { readonly kind: 'begin'; readonly name: string }
  | { readonly kind: 'end'; readonly name: string }
)

export interface LexerOptions {
  /** Whether a comma between groups of three digits belongs to the number. */
  readonly commaGroups: boolean
}

/** Longer answers are no answers; the bound also bounds all later work. */
export const maxAnswerLength = 4_000

export const functionNames = new Set(
  'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp sqrt lcm gcd max min floor ceil abs det binom'.split(
    ' ',
  ),
)

const greekNames = 'alpha beta gamma delta epsilon theta lambda mu rho sigma tau phi varphi psi omega'.split(' ')
const plainWords = new Set(
  'the is of not no yes to for or and if as at by it its are was has per base deg inf infty infinity pi answer'.split(
    ' ',
  ),
)
const knownWords = new Set([...functionNames, ...greekNames, ...plainWords])
const isMathName = (word: string) => functionNames.has(word.toLowerCase()) || greekNames.includes(word) || word === 'pi'

const plainMarks = new Set("+-*/^_!%',;:=<>()[]|&{}".split(''))
const twoCharacterMarks: Record<string, string> = { '<=': '≤', '>=': '≥', '!=': '≠', '->': '→', '**': '^' }

const plainNumber = /\d+(?:\.(?!\.)\d*)?|\.\d+/y
const spacedGroups = /[1-9]\d{0,2}(?:(?:,\\!\s*|\\!,|\{,\}|\\[,;: ])\d{3})+(?!\d)(?:\.(?!\.)\d*)?/y
const commaGroups = /[1-9]\d{0,2}(?:,\d{3})+(?![\d])(?:\.(?!\.)\d*)?/y
const scientificTail = /[eE]([+-]?\d{1,9})(?![\w.])/y
const digitsAboveTen = /(?=[0-9]*[A-F])[0-9A-F]{2,}(?=_(?:\{1[1-6]\}|1[1-6](?!\d)))/y
const letterRun = /\p{L}+/uy
const macroName = /\\(?:[A-Za-z]+\*?|[\s\S])/y
const doubleDollar = /\$/g

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Index of the brace that closes the one at `open`; -1 for none. */
export function closingBrace(text: string, open: number): number {
  let depth = 0
  for (let at = open; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  return -1
}

/** The tokens of an answer; null where it is too long or holds something that is no part of mathematics or words. */
export function tokenise(source: string, options: LexerOptions): Token[] | null {
  if (source.length > maxAnswerLength) return null
  const tokens: Token[] = []
  // An even number of dollar signs are delimiters, an odd one is money.
  const dollars = source.replaceAll('\\$', '').match(doubleDollar)?.length ?? 0
  return lex(source, 'math', dollars % 2 === 1, options, tokens, 0) ? tokens : null
}

function lex(text: string, font: Font, money: boolean, options: LexerOptions, out: Token[], depth: number): boolean {
  if (depth > 50) return false
  let gap = false
  const push = (token: Token) => {
    out.push(token)
    gap = false
  }
  const mark = (name: string) => push({ kind: 'mark', text: name, gap })
  const afterWord = () => {
    const last = out.at(-1)
    return (
      last?.kind === 'letters' && last.text.length > 1 && !/^(?:and|or)$/i.test(last.text) && !isMathName(last.text)
    )
  }
  const afterValue = () => {
    const last = out.at(-1)
    return last?.kind === 'number' || (last?.kind === 'mark' && [')', '}', '%', '°'].includes(last.text))
  }

  let at = 0
  while (at < text.length) {
    const character = String.fromCodePoint(text.codePointAt(at) as number)

    if (/\s|~|\u00a0/u.test(character)) {
      gap = true
      at += character.length
      continue
    }

    if (character === '\\') {
      const macro = matchAt(macroName, text, at)
      if (!macro) return false
      const name = macro[0].slice(1).replace(/(?<=\w)\*$/, '')
      at += macro[0].length
      if (textMacros.has(name) || romanMacros.has(name)) {
        while (text[at] === ' ') at++
        const close = text[at] === '{' ? closingBrace(text, at) : -1
        if (close < 0) continue
        const inner = textMacros.has(name) ? 'text' : 'roman'
        if (inner === 'text' && /^\s/.test(text.slice(at + 1, close))) gap = true
        const before = out.length
        if (!lex(text.slice(at + 1, close), inner, money, options, out, depth + 1)) return false
        if (gap && out.length > before) out[before] = { ...out[before], gap: true }
        gap = /\s$/.test(text.slice(at + 1, close))
        at = close + 1
      } else if (name === 'mathbb') {
        const set = /^\s*\{?\s*([A-Z])\s*\}?/.exec(text.slice(at, at + 20))
        if (!set) return false
        at += set[0].length
        if (set[1] === 'R') push({ kind: 'macro', name: 'reals', gap })
        else push({ kind: 'letters', text: `set ${set[1]}`, font: 'text', gap })
      } else if (name === 'begin' || name === 'end') {
        const environment = /^\s*\{([A-Za-z]+)\*?\}/.exec(text.slice(at, at + 40))
        if (!environment) return false
        at += environment[0].length
        push({ kind: name, name: environment[1], gap })
      } else if (argumentDropped.has(name)) {
        while (text[at] === ' ') at++
        const close = text[at] === '{' ? closingBrace(text, at) : -1
        if (close >= 0) at = close + 1
      } else if (spaceMacros.has(name) || /^\s$/.test(name)) {
        gap = true
      } else if (silentMacros.has(name)) {
        if (/^(?:left|right|middle)$/.test(name) && text[at] === '.') at++
      } else if (Object.hasOwn(markMacros, name)) {
        mark(markMacros[name])
      } else {
        push({ kind: 'macro', name: name === 'R' ? 'reals' : name, gap })
      }
      continue
    }

    const number =
      matchAt(digitsAboveTen, text, at) ??
      matchAt(spacedGroups, text, at) ??
      (options.commaGroups ? matchAt(commaGroups, text, at) : null) ??
      matchAt(plainNumber, text, at)
    if (number) {
      at += number[0].length
      if (/[A-F]/.test(number[0])) {
        push({ kind: 'digits', text: number[0], gap })
        continue
      }
      const plain = number[0].replace(/[^\d.]/g, '')
      const exponent = font === 'math' ? matchAt(scientificTail, text, at) : null
      if (exponent) at += exponent[0].length
      push({ kind: 'number', text: plain, gap, ...(exponent ? { exponent: exponent[1] } : {}) })
      continue
    }

    if (Object.hasOwn(macroCharacters, character)) {
      at += character.length
      push({ kind: 'macro', name: macroCharacters[character], gap })
      continue
    }
    if (Object.hasOwn(fractionCharacters, character)) {
      at += character.length
      const [over, under] = fractionCharacters[character]
      push({ kind: 'macro', name: 'frac', gap })
      for (const part of [over, under]) push({ kind: 'number', text: part, gap: false })
      continue
    }
    if (superscripts.includes(character) || subscripts.includes(character)) {
      const row = superscripts.includes(character) ? superscripts : subscripts
      let digits = ''
      while (at < text.length && row.includes(text[at])) digits += row.indexOf(text[at++])
      mark(row === superscripts ? '^' : '_')
      push({ kind: 'number', text: digits, gap: false })
      continue
    }

    const run = matchAt(letterRun, text, at)
    if (run) {
      at += run[0].length
      const word = run[0]
      const lower = word.toLowerCase()
      const ends = text.slice(at).trim() === ''
      if (word.length > 1 && afterValue() && isUnitWord(word) && (ends || !functionNames.has(lower))) {
        push({ kind: 'letters', text: word, font: 'text', gap })
      } else if (
        font !== 'math' ||
        word.length > 3 ||
        knownWords.has(lower) ||
        (word.length > 1 && afterWord()) ||
        /[^A-Za-z]/.test(word)
      ) {
        push({ kind: 'letters', text: word, font, gap })
      } else {
        for (const letter of word) push({ kind: 'letters', text: letter, font, gap })
      }
      continue
    }

    const two = text.slice(at, at + 2)
    if (text.startsWith('...', at)) {
      mark('…')
      at += 3
    } else if (Object.hasOwn(twoCharacterMarks, two)) {
      mark(twoCharacterMarks[two])
      at += 2
    } else if (plainMarks.has(character)) {
      // A mark of a text stays a mark; a full stop or quotation mark in it says nothing.
      mark(character)
      at += 1
    } else if (character === '$') {
      if (money) mark('\\$')
      else gap = true
      at += 1
    } else if (Object.hasOwn(markCharacters, character)) {
      mark(markCharacters[character])
      at += character.length
    } else if (/["“”`´.?]/u.test(character)) {
      gap = true
      at += character.length
    } else {
      return false
    }
  }
  return true
}

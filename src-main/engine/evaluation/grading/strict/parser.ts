/** Reads the tokens of an answer into a tree. Where two readings are possible, takes the likelier and notes the doubt. */
import { functionNames, tokenise, type LexerOptions, type Token } from './lexer'
import type { Closer, Node, Opener, Relation } from './node'
import { compareRationals, multiply, parseDecimal, power, rational, TooLarge, type Rational } from './rational'
import { unitName } from './units'

export interface Parsed {
  readonly node: Node
  /** Why the reading is not the only one; empty for a plain answer. */
  readonly doubts: readonly string[]
}

/** The meaning of an answer; null where it is not mathematics that this reader knows. Never throws. */
export function parseAnswer(source: string, options: LexerOptions): Parsed | null {
  const tokens = tokenise(source, options)
  if (!tokens || tokens.length === 0) return null
  const parser = new Parser(tokens)
  try {
    return { node: parser.all(), doubts: parser.doubts }
  } catch (error) {
    if (error instanceof Unreadable || error instanceof TooLarge) return null
    throw error
  }
}

class Unreadable extends Error {}

const maxDepth = 60
const relationSigns = new Set<string>(['=', '≠', '<', '>', '≤', '≥', '≈', '∈', '→'] satisfies Relation[])
const closers: Record<string, Closer> = { ')': ')', ']': ']', '\\}': '}', '⟩': '⟩' }
const openers: Record<string, Opener> = { '(': '(', '[': '[', '\\{': '{', '⟨': '⟨' }
const baseWords = 'two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'.split(' ')
const currencies: Record<string, string> = { '\\$': 'dollar', '€': 'euro', '£': 'gbp' }
/** Words that make a phrase behind a number something else than a unit. */
const noUnitWords = new Set(
  'is are was the not no because since if as so but when where which that or and for by at it its has answer only'.split(' '),
)
const constants: Record<string, Node> = {
  i: { kind: 'constant', name: 'i' },
  e: { kind: 'constant', name: 'e' },
  pi: { kind: 'constant', name: 'pi' },
  imath: { kind: 'constant', name: 'i' },
  infty: { kind: 'constant', name: 'infinity' },
  inf: { kind: 'constant', name: 'infinity' },
  infinity: { kind: 'constant', name: 'infinity' },
}
const fractionMacros = new Set(['frac', 'dfrac', 'tfrac', 'cfrac', 'sfrac', 'nicefrac'])
const latexFunctions = new Set([...functionNames, 'operatorname'].filter((name) => !['sqrt', 'abs', 'binom'].includes(name)))
const greek = new Set(
  (
    'alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi ' +
    'varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar'
  ).split(' '),
)

const isWord = (token: Token | undefined): token is Token & { kind: 'letters' } =>
  token?.kind === 'letters' && (token.font === 'text' || token.text.length > 1) && !isMathName(token.text)
const isMathName = (text: string) =>
  functionNames.has(text.toLowerCase()) || Object.hasOwn(constants, text) || greek.has(text)

class Parser {
  readonly doubts: string[] = []
  private at = 0
  private depth = 0
  /** Open bars of an absolute value: inside, a bar closes. */
  private bars = 0

  constructor(private readonly tokens: Token[]) {}

  all(): Node {
    const node = this.list()
    while (this.isMark(',') || this.isMark(';')) this.at++
    if (this.at < this.tokens.length) throw new Unreadable()
    return node
  }

  private get next(): Token | undefined {
    return this.tokens[this.at]
  }

  private isMark(text: string, ahead = 0): boolean {
    const token = this.tokens[this.at + ahead]
    return token?.kind === 'mark' && token.text === text
  }

  private accept(text: string): boolean {
    if (!this.isMark(text)) return false
    this.at++
    return true
  }

  private expect(text: string) {
    if (!this.accept(text)) throw new Unreadable()
  }

  private doubt(reason: string) {
    if (!this.doubts.includes(reason)) this.doubts.push(reason)
  }

  private nested<T>(read: () => T): T {
    if (++this.depth > maxDepth) throw new Unreadable()
    const result = read()
    this.depth--
    return result
  }

  /** Items set apart by commas, semicolons, "and" or "or"; a single one stands for itself. */
  private list(): Node {
    return this.nested(() => {
      const items = [this.relation()]
      let joined: ',' | 'and' | 'or' = ','
      for (;;) {
        const start = this.at
        while (this.isMark(',') || this.isMark(';')) this.at++
        const word = this.next?.kind === 'letters' ? this.next.text.toLowerCase() : ''
        if (word === 'and' || word === 'or') {
          joined = word
          this.at++
        }
        if (this.at === start) break
        if (!this.next || (this.next.kind === 'mark' && Object.hasOwn(closers, this.next.text))) {
          this.at = start
          break
        }
        items.push(this.relation())
      }
      return items.length === 1 ? items[0] : { kind: 'list', joined, items }
    })
  }

  private sign(): Relation | null {
    const token = this.next
    if (token?.kind !== 'mark' || !relationSigns.has(token.text)) return null
    this.at++
    return token.text as Relation
  }

  private relation(): Node {
    const sides: Node[] = []
    const signs: Relation[] = []
    const leading = this.sign()
    if (leading === '≈') signs.push(leading)
    else if (leading !== null && leading !== '=') throw new Unreadable()
    sides.push(this.union())
    for (let sign = this.sign(); sign !== null; sign = this.sign()) {
      signs.push(sign)
      sides.push(this.union())
    }
    return signs.length === 0 ? sides[0] : { kind: 'relation', sides, signs }
  }

  private union(): Node {
    const parts = [this.ratio()]
    while (this.accept('∪')) parts.push(this.ratio())
    return parts.length === 1 ? parts[0] : { kind: 'union', parts }
  }

  private ratio(): Node {
    const parts = [this.sum()]
    while (this.accept(':')) parts.push(this.sum())
    return parts.length === 1 ? parts[0] : this.withUnit({ kind: 'ratio', parts })
  }

  private sum(): Node {
    return this.nested(() => {
      const terms = [this.term()]
      for (;;) {
        if (this.accept('+')) terms.push(this.term())
        else if (this.accept('-')) terms.push({ kind: 'negative', of: this.term() })
        else if (this.accept('±')) terms.push({ kind: 'plusMinus', of: this.term(), sign: 'pm' })
        else if (this.accept('∓')) terms.push({ kind: 'plusMinus', of: this.term(), sign: 'mp' })
        else break
      }
      return this.withUnit(terms.length === 1 ? terms[0] : { kind: 'sum', terms })
    })
  }

  /** A product with the signs in front of it. */
  private term(): Node {
    return this.nested(() => {
      if (this.accept('+')) return this.term()
      if (this.accept('-')) {
        if (this.isMark('-')) this.doubt('two signs in a row')
        return { kind: 'negative', of: this.term() }
      }
      if (this.accept('±')) return { kind: 'plusMinus', of: this.term(), sign: 'pm' }
      if (this.accept('∓')) return { kind: 'plusMinus', of: this.term(), sign: 'mp' }
      return this.product()
    })
  }

  private product(): Node {
    let factors = [this.factor()]
    for (;;) {
      if (this.accept('*')) {
        factors.push(this.signedFactor())
      } else if (this.accept('/')) {
        const over: Node = factors.length === 1 ? factors[0] : { kind: 'product', factors }
        factors = [{ kind: 'quotient', over, under: this.signedFactor() }]
      } else if (this.startsFactor()) {
        const last = factors[factors.length - 1]
        // Two numbers in a row are not a product that anyone writes.
        if (this.next?.kind === 'number' && ['number', 'mixed', 'based'].includes(last.kind)) throw new Unreadable()
        factors.push(this.factor())
      } else break
    }
    return factors.length === 1 ? factors[0] : { kind: 'product', factors }
  }

  private signedFactor(): Node {
    if (this.accept('-')) return { kind: 'negative', of: this.nested(() => this.signedFactor()) }
    if (this.accept('+')) return this.nested(() => this.signedFactor())
    return this.factor()
  }

  /** Whether the next token can continue a product without a sign between. */
  private startsFactor(): boolean {
    const token = this.next
    switch (token?.kind) {
      case 'number':
      case 'digits':
        return true
      case 'letters':
        if (isWord(token)) return false
        return token.font === 'math' || token.text.length > 1 || token.text === 'i' || token.text === 'e'
      case 'macro':
        return !['over', 'mod', 'pmod', 'bmod', 'hline', 'setminus', 'quad'].includes(token.name)
      case 'mark':
        if (token.text === '|') return this.bars === 0
        return token.text === '{' || Object.hasOwn(openers, token.text)
      case 'begin':
        return true
      default:
        return false
    }
  }

  /** A primary with its powers, subscripts and marks behind it. */
  private factor(): Node {
    return this.nested(() => {
      const start = this.at
      let node = this.primary()
      for (;;) {
        if (this.accept('!')) node = { kind: 'call', name: 'factorial', args: [node] }
        else if (this.accept('%')) node = { kind: 'quantity', of: node, unit: 'percent' }
        else if (this.accept('°')) node = { kind: 'quantity', of: node, unit: 'degree' }
        else if (this.isMark("'") && node.kind === 'symbol') {
          this.at++
          node = { kind: 'symbol', name: `${node.name}'` }
        } else if (this.isMark('…') && node.kind === 'number') {
          this.at++
          this.doubt('dots after a number')
          node = { ...node, value: continued(node.text) ?? node.value }
        } else if (this.accept('_')) node = this.subscripted(node)
        else if (this.accept('^')) {
          if (this.accept('°') || this.acceptAll('{', '°', '}')) node = { kind: 'quantity', of: node, unit: 'degree' }
          else node = { kind: 'power', base: node, exponent: this.exponent() }
        } else break
      }
      return node.kind === 'number' ? this.maybeMixed(node, start) : node
    })
  }

  private acceptAll(...marks: string[]): boolean {
    if (!marks.every((mark, ahead) => this.isMark(mark, ahead))) return false
    this.at += marks.length
    return true
  }

  /** "3\frac{1}{2}" and "3 1/2" are three and a half. */
  private maybeMixed(node: Node & { kind: 'number' }, start: number): Node {
    if (node.text.includes('.') || this.at !== start + 1) return node
    const before = this.at
    const token = this.next
    let fraction: Node | null = null
    if (token?.kind === 'macro' && fractionMacros.has(token.name)) {
      fraction = this.primary()
    } else if (token?.kind === 'number' && token.gap && this.isMark('/', 1) && this.tokens[this.at + 2]?.kind === 'number') {
      const over = this.primary()
      this.at++
      fraction = { kind: 'quotient', over, under: this.primary() }
    }
    if (
      fraction?.kind === 'quotient' &&
      fraction.over.kind === 'number' &&
      fraction.under.kind === 'number' &&
      !`${fraction.over.text}${fraction.under.text}`.includes('.') &&
      compareRationals(fraction.over.value, fraction.under.value) < 0 &&
      !this.isMark('^')
    ) {
      return { kind: 'mixed', whole: node.value, part: rational(fraction.over.value.n, fraction.under.value.n) }
    }
    this.at = before
    return node
  }

  private exponent(): Node {
    if (this.accept('-')) return { kind: 'negative', of: this.nested(() => this.exponent()) }
    if (this.accept('+')) return this.nested(() => this.exponent())
    return this.primary()
  }

  private subscripted(node: Node): Node {
    const label = this.subscript()
    const inner = node.kind === 'paren' ? node.of : node
    if (inner.kind === 'number') {
      return based(inner.text, label)
    }
    if (inner.kind === 'symbol' && inner.name.startsWith('digits:')) return based(inner.name.slice(7), label)
    if (node.kind === 'symbol') return { kind: 'symbol', name: `${node.name}_${label}` }
    if (node.kind === 'word') return { kind: 'word', text: `${node.text} ${label}` }
    throw new Unreadable()
  }

  /** The text of a subscript, without spaces. */
  private subscript(): string {
    if (!this.accept('{')) return tokenText(this.take())
    let text = ''
    let open = 1
    for (;;) {
      const token = this.take()
      if (token.kind === 'mark' && token.text === '{') open++
      if (token.kind === 'mark' && token.text === '}' && --open === 0) return text
      text += tokenText(token)
    }
  }

  private take(): Token {
    const token = this.next
    if (!token) throw new Unreadable()
    this.at++
    return token
  }

  private primary(): Node {
    return this.nested(() => {
      const token = this.take()
      switch (token.kind) {
        case 'number':
          return this.number(token)
        case 'digits':
          if (!this.isMark('_')) throw new Unreadable()
          return { kind: 'symbol', name: `digits:${token.text}` }
        case 'letters':
          return this.letters(token)
        case 'macro':
          return this.macro(token.name)
        case 'mark':
          return this.marked(token.text)
        case 'begin':
          return this.environment(token.name)
        case 'end':
          throw new Unreadable()
        default: {
          const never: never = token
          return never
        }
      }
    })
  }

  private number(token: Token & { kind: 'number' }): Node {
    let value = parseDecimal(token.text)
    if (token.exponent) value = multiply(value, power(rational(10n), BigInt(token.exponent)))
    const bar = this.next
    if (token.text.includes('.') && bar?.kind === 'macro' && bar.name === 'overline') {
      this.at++
      this.expect('{')
      const repeated = this.take()
      this.expect('}')
      if (repeated.kind !== 'number' || repeated.text.includes('.')) throw new Unreadable()
      value = repeating(token.text, repeated.text)
    }
    return { kind: 'number', value, text: token.text }
  }

  private letters(token: Token & { kind: 'letters' }): Node {
    const lower = token.text.toLowerCase()
    if (isWord(token) && (token.text.length > 1 || isWord(this.next))) {
      if (lower === 'and' || lower === 'or') throw new Unreadable()
      const words = [token.text]
      for (let next = this.next; next?.kind === 'letters' && !/^(and|or)$/i.test(next.text); next = this.next) {
        words.push(next.text)
        this.at++
      }
      return { kind: 'word', text: words.join(' ') }
    }
    if (lower === 'sqrt') return { kind: 'root', degree: 2, of: this.looseArgument() }
    if (lower === 'abs') return { kind: 'call', name: 'abs', args: [this.looseArgument()] }
    if (functionNames.has(lower)) return this.call(lower)
    if (Object.hasOwn(constants, token.text)) return constants[token.text]
    return { kind: 'symbol', name: token.text }
  }

  private macro(name: string): Node {
    if (fractionMacros.has(name)) {
      const over = this.argument()
      return { kind: 'quotient', over, under: this.argument() }
    }
    if (Object.hasOwn(constants, name)) return constants[name]
    if (greek.has(name)) return { kind: 'symbol', name }
    if (latexFunctions.has(name)) return this.call(name)
    switch (name) {
      case 'sqrt':
        return this.squareRoot()
      case 'unicodesqrt':
        return { kind: 'root', degree: 2, of: this.looseArgument() }
      case 'binom':
      case 'dbinom':
      case 'tbinom': {
        const first = this.argument()
        return { kind: 'call', name: 'binom', args: [first, this.argument()] }
      }
      case 'emptyset':
      case 'varnothing':
        return { kind: 'emptySet' }
      case 'reals':
        return { kind: 'reals' }
      case 'angle':
      case 'triangle':
      case 'measuredangle': {
        let label = ''
        while (this.next?.kind === 'letters') label += tokenText(this.take())
        return { kind: 'word', text: `${name} ${label}` }
      }
      case 'lfloor':
        return this.fenced('rfloor', 'floor')
      case 'lceil':
        return this.fenced('rceil', 'ceil')
      case 'overline':
      case 'overrightarrow':
        return this.argument()
      default:
        throw new Unreadable()
    }
  }

  private fenced(close: string, name: string): Node {
    const of = this.sum()
    const token = this.take()
    if (token.kind !== 'macro' || token.name !== close) throw new Unreadable()
    return { kind: 'call', name, args: [of] }
  }

  private squareRoot(): Node {
    let degree = 2
    if (this.accept('[')) {
      const token = this.take()
      if (token.kind !== 'number' || !/^[1-9]\d?$/.test(token.text)) throw new Unreadable()
      degree = Number(token.text)
      this.expect(']')
    }
    const token = this.next
    if (token?.kind === 'number' && token.text.length > 1) {
      this.doubt('a root sign without braces')
      this.at++
      return { kind: 'root', degree, of: this.number(token) }
    }
    return { kind: 'root', degree, of: this.argument() }
  }

  /** A macro's argument: a group in braces, else one single token; of a number its first digit. */
  private argument(): Node {
    const token = this.next
    if (token?.kind === 'number' && token.text.length > 1 && !token.exponent) {
      this.tokens[this.at] = { ...token, text: token.text.slice(1), gap: false }
      return { kind: 'number', value: parseDecimal(token.text[0]), text: token.text[0] }
    }
    return this.primary()
  }

  /** The argument of a root typed without LaTeX: a group, else one number or letter. */
  private looseArgument(): Node {
    const node = this.primary()
    return node.kind === 'paren' ? node.of : node
  }

  private call(name: string): Node {
    let outerPower: Node | null = null
    let base: Node | null = null
    for (;;) {
      if (!base && this.accept('_')) base = this.primary()
      else if (!outerPower && this.accept('^')) outerPower = this.exponent()
      else break
    }
    let called = name
    if (outerPower?.kind === 'negative' && outerPower.of.kind === 'number' && /^(sin|cos|tan)$/.test(name)) {
      called = `arc${name}`
      outerPower = null
    }
    let args: readonly Node[]
    if (this.isMark('(') || this.isMark('[')) {
      const group = this.primary()
      args = group.kind === 'group' ? group.items : group.kind === 'paren' ? [group.of] : [group]
    } else {
      const factors = [this.factor()]
      while (this.startsFactor() && !this.startsCall()) factors.push(this.factor())
      args = [factors.length === 1 ? factors[0] : { kind: 'product', factors }]
    }
    const node: Node = { kind: 'call', name: called, args: base ? [...args, base] : args }
    return outerPower ? { kind: 'power', base: node, exponent: outerPower } : node
  }

  private startsCall(): boolean {
    const token = this.next
    return (
      (token?.kind === 'macro' && latexFunctions.has(token.name)) ||
      (token?.kind === 'letters' && functionNames.has(token.text.toLowerCase()))
    )
  }

  private marked(text: string): Node {
    if (text === '{') return this.braces()
    if (text === '|') {
      this.bars++
      const of = this.sum()
      this.bars--
      this.expect('|')
      return { kind: 'call', name: 'abs', args: [of] }
    }
    if (text === '…') return { kind: 'symbol', name: '…' }
    if (Object.hasOwn(currencies, text)) return { kind: 'quantity', of: this.term(), unit: currencies[text] }
    if (Object.hasOwn(openers, text)) return this.group(openers[text])
    throw new Unreadable()
  }

  /** A group in braces means what is inside; `{a \over b}` is a fraction. */
  private braces(): Node {
    const bars = this.bars
    this.bars = 0
    let node = this.list()
    if (this.next?.kind === 'macro' && this.next.name === 'over') {
      this.at++
      node = { kind: 'quotient', over: node, under: this.list() }
    }
    this.bars = bars
    this.expect('}')
    return node.kind === 'sum' || node.kind === 'negative' ? { kind: 'paren', of: node } : node
  }

  private group(open: Opener): Node {
    const bars = this.bars
    this.bars = 0
    if (open === '{' && this.accept('\\}')) return { kind: 'emptySet' }
    const inside = this.list()
    if (open === '{' && this.accept('|')) {
      const condition = this.list()
      this.expect('\\}')
      this.bars = bars
      return condition
    }
    this.bars = bars
    const token = this.take()
    if (token.kind !== 'mark' || !Object.hasOwn(closers, token.text)) throw new Unreadable()
    const close = closers[token.text]
    const isBracket = (fence: string) => fence === '(' || fence === '[' || fence === ')' || fence === ']'
    if (isBracket(open) !== isBracket(close) || (open === '{') !== (close === '}')) throw new Unreadable()
    const items = inside.kind === 'list' && inside.joined === ',' ? inside.items : [inside]
    if (items.length === 1 && open === '(' && close === ')') return { kind: 'paren', of: inside }
    if (items.length === 1 && inside.kind === 'matrix') return inside
    return { kind: 'group', open, close, items }
  }

  private environment(name: string): Node {
    if (name === 'array' && this.accept('{')) while (!this.accept('}')) this.take()
    const rows: Node[][] = [[]]
    for (;;) {
      const token = this.next
      if (!token) throw new Unreadable()
      if (token.kind === 'end') {
        this.at++
        break
      }
      if (token.kind === 'macro' && token.name === 'hline') this.at++
      else if (this.accept('\\\\')) rows.push([])
      else if (!this.accept('&')) rows[rows.length - 1].push(this.relation())
    }
    const filled = rows.filter((row) => row.length > 0)
    if (filled.length === 0 || filled.some((row) => row.length !== filled[0].length)) throw new Unreadable()
    return { kind: 'matrix', bars: /^[vV]matrix$/.test(name), rows: filled }
  }

  /** A unit, a base or a currency word behind a value. */
  private withUnit(node: Node): Node {
    const start = this.at
    const words: string[] = []
    let afterSlash = false
    for (;;) {
      const token = this.next
      if (token?.kind === 'letters' && !/^(and|or)$/i.test(token.text)) {
        const isPlain = isWord(token) || afterSlash || (words.length > 0 && token.gap) || token.font !== 'math'
        if (!isPlain) break
        words.push(token.text)
        this.at++
        afterSlash = false
      } else if (words.length > 0 && token?.kind === 'mark' && token.text === '^') {
        const exponent = this.unitPower()
        if (!exponent) break
        words.push(`${words.pop()}^${exponent}`)
      } else if (words.length > 0 && this.isMark('/')) {
        this.at++
        words.push('per')
        afterSlash = true
      } else if (words.length > 0 && this.isMark('-')) {
        // "base-3"
        this.at++
      } else break
    }
    if (words.length === 0) {
      this.at = start
      return node
    }
    if (words[0].toLowerCase() === 'base' && words.length <= 2) {
      const inner = node.kind === 'paren' ? node.of : node
      const sign = inner.kind === 'negative'
      const number = sign ? inner.of : inner
      const token = words.length === 1 ? this.take() : null
      const label = token ? tokenText(token) : words[1]
      if (number.kind !== 'number') throw new Unreadable()
      const value = based(number.text, label)
      return sign ? { kind: 'negative', of: value } : value
    }
    if (words.length > 5 || words.some((word) => noUnitWords.has(word.toLowerCase()))) throw new Unreadable()
    return { kind: 'quantity', of: node, unit: unitName(words.join(' ')) }
  }

  /** The digit of `^2` or `^{2}` behind a unit. */
  private unitPower(): string | null {
    const braced = this.isMark('{', 1)
    const token = this.tokens[this.at + (braced ? 2 : 1)]
    if (token?.kind !== 'number' || (braced && !this.isMark('}', 3))) return null
    this.at += braced ? 4 : 2
    return token.text
  }
}

function tokenText(token: Token): string {
  if (token.kind === 'macro') return token.name
  if (token.kind === 'begin' || token.kind === 'end') return ''
  return token.text
}

/** `label` is the base in digits or as a word, perhaps in parentheses. */
function based(digits: string, label: string): Node {
  const plain = label.replace(/^\((.*)\)$/, '$1')
  const base = /^\d{1,2}$/.test(plain) ? Number(plain) : baseWords.indexOf(plain.toLowerCase()) + 2
  const valid = base >= 2 && base <= 16 && [...digits].every((digit) => parseInt(digit, 36) < base)
  if (!valid) throw new Unreadable()
  return { kind: 'based', digits, base }
}

/** The value of a decimal that goes on as its last digits do: 0.33… or 0.1212…; null where they do not repeat. */
function continued(text: string): Rational | null {
  const match = /^(\d*\.\d*?)(\d{1,20})\2+$/.exec(text)
  return match ? repeating(match[1], match[2]) : null
}

/** 0.1 and 6 repeated: (0.1 then all of it once) over nines and zeros. */
function repeating(text: string, repeated: string): Rational {
  const [whole, fraction] = text.split('.')
  const fixed = BigInt(`${whole || '0'}${fraction}` || '0')
  const once = BigInt(`${whole || '0'}${fraction}${repeated}`)
  return rational(once - fixed, 10n ** BigInt(fraction.length) * (10n ** BigInt(repeated.length) - 1n))
}


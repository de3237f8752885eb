/** Reads the smallest parts of an answer: numbers, letters, macros with their arguments, brackets, matrices. */
import { Cursor, tokenText, Unreadable } from './cursor'
import { functionNames, type Token } from './lexer'
import { bare, some, type Node, type Opener } from './node'
import { based, continued, repeating } from './numerals'
import { compareRationals, multiply, parseDecimal, power, rational } from './rational'
import { closers, constants, currencies, fractionMacros, greek, isWord, latexFunctions, openers } from './vocabulary'

export abstract class AtomParser extends Cursor {
  /** Open bars of an absolute value: inside, a bar closes. */
  private bars = 0
  /** Open brackets. */
  private brackets = 0

  /** Items set apart by commas, semicolons, "and" or "or"; a single one stands for itself. */
  protected abstract list(): Node
  protected abstract relation(): Node
  protected abstract sum(): Node
  protected abstract term(): Node

  /** A primary with its powers, subscripts and marks behind it. */
  protected factor(): Node {
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

  /** "3\frac{1}{2}" and "3 1/2" are three and a half. */
  protected maybeMixed(node: Node & { kind: 'number' }, start: number): Node {
    if (node.text.includes('.') || this.at !== start + 1) return node
    const before = this.at
    const token = this.next
    let fraction: Node | null = null
    if (token?.kind === 'macro' && fractionMacros.has(token.name)) {
      fraction = this.primary()
    } else if (
      token?.kind === 'number' &&
      token.gap &&
      this.isMark('/', 1) &&
      this.tokens[this.at + 2]?.kind === 'number'
    ) {
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

  protected exponent(): Node {
    if (this.accept('-')) return { kind: 'negative', of: this.nested(() => this.exponent()) }
    if (this.accept('+')) return this.nested(() => this.exponent())
    return this.primary()
  }

  protected subscripted(node: Node): Node {
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
  protected subscript(): string {
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

  protected primary(): Node {
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

  protected number(token: Token & { kind: 'number' }): Node {
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

  protected letters(token: Token & { kind: 'letters' }): Node {
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

  protected macro(name: string): Node {
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

  protected fenced(close: string, name: string): Node {
    const of = this.sum()
    const token = this.take()
    if (token.kind !== 'macro' || token.name !== close) throw new Unreadable()
    return { kind: 'call', name, args: [of] }
  }

  protected squareRoot(): Node {
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
  protected argument(): Node {
    const token = this.next
    if (token?.kind === 'number' && token.text.length > 1 && !token.exponent) {
      this.tokens[this.at] = { ...token, text: token.text.slice(1), gap: false }
      return { kind: 'number', value: parseDecimal(token.text[0]), text: token.text[0] }
    }
    return this.primary()
  }

  /** The argument of a root typed without LaTeX: a group, else one number or letter. */
  protected looseArgument(): Node {
    const node = this.primary()
    return node.kind === 'paren' ? node.of : node
  }

  protected call(name: string): Node {
    let outerPower: Node | null = null
    let base: Node | null = null
    for (;;) {
      if (!base && this.accept('_')) base = this.primary()
      else if (!outerPower && this.accept('^')) outerPower = this.exponent()
      else break
    }
    let called = name
    const plainPower = outerPower && bare(outerPower)
    if (plainPower?.kind === 'negative' && plainPower.of.kind === 'number' && /^(sin|cos|tan)$/.test(name)) {
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

  protected startsCall(): boolean {
    const token = this.next
    return (
      (token?.kind === 'macro' && latexFunctions.has(token.name)) ||
      (token?.kind === 'letters' && functionNames.has(token.text.toLowerCase()))
    )
  }

  protected marked(text: string): Node {
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
  protected braces(): Node {
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

  protected group(open: Opener): Node {
    const bars = this.bars
    this.bars = 0
    if (open === '{' && this.accept('\\}')) return { kind: 'emptySet' }
    this.brackets++
    const inside = this.list()
    this.brackets--
    // An equation inside brackets inside brackets is no answer, and comparing such would take exponential time.
    if (this.brackets > 0 && some(inside, (inner) => inner.kind === 'relation')) throw new Unreadable()
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

  protected environment(name: string): Node {
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

  /** Whether the next token can continue a product without a sign between. */
  protected startsFactor(): boolean {
    const token = this.next
    switch (token?.kind) {
      case 'number':
      case 'digits':
        return true
      case 'letters':
        if (isWord(token)) return false
        return token.font === 'math' || token.text.length > 1 || token.text === 'i' || token.text === 'e'
      case 'macro':
        return !['over', 'mod', 'pmod', 'bmod', 'hline', 'setminus', 'rfloor', 'rceil'].includes(token.name)
      case 'mark':
        if (token.text === '|') return this.bars === 0
        return token.text === '{' || Object.hasOwn(openers, token.text)
      case 'begin':
        return true
      default:
        return false
    }
  }

  /** The digit of `^2` or `^{2}` behind a unit. */
  protected unitPower(): string | null {
    const braced = this.isMark('{', 1)
    const token = this.tokens[this.at + (braced ? 2 : 1)]
    if (token?.kind !== 'number' || (braced && !this.isMark('}', 3))) return null
    this.at += braced ? 4 : 2
    return token.text
  }
}

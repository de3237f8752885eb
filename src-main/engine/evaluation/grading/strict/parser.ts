/** Reads the tokens of an answer into a tree. Where two readings are possible, takes the likelier and notes the doubt. */
import { AtomParser } from './atoms'
import { tokenText, Unreadable } from './cursor'
import { tokenise, type LexerOptions } from './lexer'
import type { Node, Relation } from './node'
import { based } from './numerals'
import { TooLarge } from './rational'
import { unitName } from './units'
import { closers, isWord } from './vocabulary'

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

const relationSigns = new Set<string>(['=', '≠', '<', '>', '≤', '≥', '≈', '∈', '→'] satisfies Relation[])
/** Words that make a phrase behind a number something else than a unit. */
const noUnitWords = new Set(
  'is are was the not no because since if as so but when where which that or and for by at it its has answer only'.split(
    ' ',
  ),
)

class Parser extends AtomParser {
  all(): Node {
    const node = this.list()
    while (this.isMark(',') || this.isMark(';')) this.at++
    if (this.at < this.tokens.length) throw new Unreadable()
    return node
  }

  /** Items set apart by commas, semicolons, "and" or "or"; a single one stands for itself. */
  protected override list(): Node {
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

  protected override relation(): Node {
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

  protected override sum(): Node {
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
  protected override term(): Node {
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
        if (last.kind === 'word') throw new Unreadable()
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
}

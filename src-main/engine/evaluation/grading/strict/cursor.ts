/** A place in a list of tokens, with the moves that a parser makes there. */
import type { Token } from './lexer'

/** Thrown where the tokens are no answer that the parser knows. */
export class Unreadable extends Error {}

/** Deeper nesting is no answer, and would only use up the stack. */
const maxDepth = 60

export class Cursor {
  /** Why a reading is not the only one. */
  readonly doubts: string[] = []
  protected at = 0
  private depth = 0

  constructor(protected readonly tokens: Token[]) {}

  protected get next(): Token | undefined {
    return this.tokens[this.at]
  }

  protected isMark(text: string, ahead = 0): boolean {
    const token = this.tokens[this.at + ahead]
    return token?.kind === 'mark' && token.text === text
  }

  protected accept(text: string): boolean {
    if (!this.isMark(text)) return false
    this.at++
    return true
  }

  protected expect(text: string) {
    if (!this.accept(text)) throw new Unreadable()
  }

  protected doubt(reason: string) {
    if (!this.doubts.includes(reason)) this.doubts.push(reason)
  }

  protected nested<T>(read: () => T): T {
    if (++this.depth > maxDepth) throw new Unreadable()
    const result = read()
    this.depth--
    return result
  }

  protected acceptAll(...marks: string[]): boolean {
    if (!marks.every((mark, ahead) => this.isMark(mark, ahead))) return false
    this.at += marks.length
    return true
  }

  protected take(): Token {
    const token = this.next
    if (!token) throw new Unreadable()
    this.at++
    return token
  }
}

/** What a token shows. */
export function tokenText(token: Token): string {
  if (token.kind === 'macro') return token.name
  if (token.kind === 'begin' || token.kind === 'end') return ''
  return token.text
}

/** The names that the parser knows: constants, functions, Greek letters, brackets, currencies. */
import { functionNames, type Token } from './lexer'
import type { Closer, Node, Opener } from './node'

export const closers: Record<string, Closer> = { ')': ')', ']': ']', '\\}': '}', '⟩': '⟩' }
export const openers: Record<string, Opener> = { '(': '(', '[': '[', '\\{': '{', '⟨': '⟨' }
export const currencies: Record<string, string> = { '\\$': 'dollar', '€': 'euro', '£': 'gbp' }

export const constants: Record<string, Node> = {
  i: { kind: 'constant', name: 'i' },
  e: { kind: 'constant', name: 'e' },
  pi: { kind: 'constant', name: 'pi' },
  imath: { kind: 'constant', name: 'i' },
  infty: { kind: 'constant', name: 'infinity' },
  inf: { kind: 'constant', name: 'infinity' },
  infinity: { kind: 'constant', name: 'infinity' },
}

export const fractionMacros = new Set(['frac', 'dfrac', 'tfrac', 'cfrac', 'sfrac', 'nicefrac'])
/** Functions that are macros of their own; roots, absolute values and binomials have a syntax of theirs. */
export const latexFunctions = new Set([...functionNames].filter((name) => !['sqrt', 'abs', 'binom'].includes(name)))

export const greek = new Set(
  (
    'alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi ' +
    'varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar'
  ).split(' '),
)

/** Whether the letters are a word rather than unknowns, a function or a constant. */
export function isWord(token: Token | undefined): token is Token & { kind: 'letters' } {
  return token?.kind === 'letters' && (token.font === 'text' || token.text.length > 1) && !isMathName(token.text)
}

const isMathName = (text: string) =>
  functionNames.has(text.toLowerCase()) || Object.hasOwn(constants, text) || greek.has(text)

/** What an answer in LaTeX or plain text means: the tree that the parser builds and the comparison walks. */
import type { Rational } from './rational'

export type Relation = '=' | '≠' | '<' | '>' | '≤' | '≥' | '≈' | '∈' | '→'
export type Opener = '(' | '[' | '{' | '⟨'
export type Closer = ')' | ']' | '}' | '⟩'
export type ConstantName = 'pi' | 'e' | 'i' | 'infinity'

export type Node =
  /** `text`: as written, without group separators and exponent. */
  | { readonly kind: 'number'; readonly value: Rational; readonly text: string }
  | { readonly kind: 'symbol'; readonly name: string }
  | { readonly kind: 'constant'; readonly name: ConstantName }
  /** Words, one space between them. */
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'emptySet' }
  | { readonly kind: 'reals' }
  | { readonly kind: 'paren'; readonly of: Node }
  | { readonly kind: 'negative'; readonly of: Node }
  | { readonly kind: 'sum'; readonly terms: readonly Node[] }
  | { readonly kind: 'product'; readonly factors: readonly Node[] }
  | { readonly kind: 'quotient'; readonly over: Node; readonly under: Node }
  | { readonly kind: 'power'; readonly base: Node; readonly exponent: Node }
  | { readonly kind: 'root'; readonly degree: number; readonly of: Node }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Node[] }
  /** `sign` says whether it goes with ± or with ∓. */
  | { readonly kind: 'plusMinus'; readonly of: Node; readonly sign: 'pm' | 'mp' }
  /** A whole number and a proper fraction standing beside it. */
  | { readonly kind: 'mixed'; readonly whole: Rational; readonly part: Rational }
  | { readonly kind: 'quantity'; readonly of: Node; readonly unit: string }
  | { readonly kind: 'based'; readonly digits: string; readonly base: number }
  | { readonly kind: 'group'; readonly open: Opener; readonly close: Closer; readonly items: readonly Node[] }
  /** Items without brackets; `joined` by commas or words. */
  | { readonly kind: 'list'; readonly joined: ',' | 'and' | 'or'; readonly items: readonly Node[] }
  | { readonly kind: 'matrix'; readonly bars: boolean; readonly rows: readonly (readonly Node[])[] }
  | { readonly kind: 'relation'; readonly sides: readonly Node[]; readonly signs: readonly Relation[] }
  | { readonly kind: 'union'; readonly parts: readonly Node[] }
  | { readonly kind: 'ratio'; readonly parts: readonly Node[] }

/** The node without parentheses around it. */
export function bare(node: Node): Node {
  return node.kind === 'paren' ? bare(node.of) : node
}

/** The nodes directly below. */
export function children(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'number':
    case 'symbol':
    case 'constant':
    case 'word':
    case 'emptySet':
    case 'reals':
    case 'mixed':
    case 'based':
      return []
    case 'paren':
    case 'negative':
    case 'root':
    case 'plusMinus':
    case 'quantity':
      return [node.of]
    case 'sum':
      return node.terms
    case 'product':
      return node.factors
    case 'quotient':
      return [node.over, node.under]
    case 'power':
      return [node.base, node.exponent]
    case 'call':
      return node.args
    case 'group':
    case 'list':
      return node.items
    case 'matrix':
      return node.rows.flat()
    case 'relation':
      return node.sides
    case 'union':
    case 'ratio':
      return node.parts
    default: {
      const never: never = node
      return never
    }
  }
}

/** Whether `test` holds for the node or anything below it. */
export function some(node: Node, test: (node: Node) => boolean): boolean {
  return test(node) || children(node).some((child) => some(child, test))
}

/** Names of the letters that stand for unknowns. */
export function symbolsOf(node: Node, into = new Set<string>()): Set<string> {
  if (node.kind === 'symbol') into.add(node.name)
  else for (const child of children(node)) symbolsOf(child, into)
  return into
}

/** The same tree with every node replaced by what `change` gives for it, from the leaves upwards. */
export function rewrite(node: Node, change: (node: Node) => Node): Node {
  const all = (nodes: readonly Node[]) => nodes.map((child) => rewrite(child, change))
  const one = (child: Node) => rewrite(child, change)
  switch (node.kind) {
    case 'number':
    case 'symbol':
    case 'constant':
    case 'word':
    case 'emptySet':
    case 'reals':
    case 'mixed':
    case 'based':
      return change(node)
    case 'paren':
    case 'negative':
    case 'root':
    case 'plusMinus':
    case 'quantity':
      return change({ ...node, of: one(node.of) })
    case 'sum':
      return change({ ...node, terms: all(node.terms) })
    case 'product':
      return change({ ...node, factors: all(node.factors) })
    case 'quotient':
      return change({ ...node, over: one(node.over), under: one(node.under) })
    case 'power':
      return change({ ...node, base: one(node.base), exponent: one(node.exponent) })
    case 'call':
      return change({ ...node, args: all(node.args) })
    case 'group':
    case 'list':
      return change({ ...node, items: all(node.items) })
    case 'matrix':
      return change({ ...node, rows: node.rows.map(all) })
    case 'relation':
      return change({ ...node, sides: all(node.sides) })
    case 'union':
    case 'ratio':
      return change({ ...node, parts: all(node.parts) })
    default: {
      const never: never = node
      return never
    }
  }
}

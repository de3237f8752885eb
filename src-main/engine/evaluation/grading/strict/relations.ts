/** Compares equations and inequalities that are no mere name and value. */
import { rewrite, symbolsOf, type Node, type Relation } from './node'
import { rational } from './rational'
import { compareValues } from './same-value'
import { debatable, right, wrong, type Verdict } from './verdict'
import type { Work } from './work'

const flipped: Partial<Record<Relation, Relation>> = { '>': '<', '≥': '≤' }

interface Oriented {
  readonly sign: Relation
  readonly left: Node
  readonly right: Node
}

/** Two sides with the sign turned so that it is neither > nor ≥; null for more sides. */
function oriented({ sides, signs }: Node & { kind: 'relation' }): Oriented | null {
  if (signs.length !== 1) return null
  const [left, right] = sides
  const turned = flipped[signs[0]]
  return turned ? { sign: turned, left: right, right: left } : { sign: signs[0], left, right }
}

const zero: Node = { kind: 'number', value: rational(0n), text: '0' }
const isZero = (node: Node, work: Work) => compareValues(node, zero, work) === 'same'
const difference = (left: Node, right: Node): Node => ({ kind: 'sum', terms: [left, { kind: 'negative', of: right }] })

export function compareRelations(
  gold: Node & { kind: 'relation' },
  pred: Node & { kind: 'relation' },
  work: Work,
): Verdict {
  const same = (a: Node, b: Node) => compareValues(a, b, work) === 'same'
  const [a, b] = [oriented(gold), oriented(pred)]
  if (!a || !b) {
    const isSame =
      gold.signs.join() === pred.signs.join() && gold.sides.every((side, index) => same(side, pred.sides[index]))
    return isSame ? right('the same chain') : wrong('another relation')
  }
  if (a.sign !== b.sign) return wrong('another relation')
  const isSymmetric = a.sign === '=' || a.sign === '≠'
  if (same(a.left, b.left) && same(a.right, b.right)) return right('the same relation')
  if (isSymmetric && same(a.left, b.right) && same(a.right, b.left)) return right('the same equation, turned round')
  return areProportional(a, b, !isSymmetric, work)
    ? debatable('the same line or set, written otherwise')
    : wrong('another equation or inequality')
}

/** An equation where an expression is expected, or the other way round: debatable if it is one of the sides. */
export function compareEquationWithValue(relation: Node & { kind: 'relation' }, value: Node, work: Work): Verdict {
  const equation = oriented(relation)
  if (equation?.sign === '=') {
    const sides = [equation.left, equation.right, difference(equation.left, equation.right)]
    if (sides.some((side) => !isZero(side, work) && compareValues(side, value, work) === 'same')) {
      return debatable('an equation for an expression')
    }
  }
  return wrong('an equation or inequality for a value')
}

/** Whether one difference of the sides is a constant multiple of the other (a positive one if asked). */
function areProportional(a: Oriented, b: Oriented, positive: boolean, work: Work): boolean {
  const f = difference(a.left, a.right)
  const g = difference(b.left, b.right)
  if (symbolsOf(f).size === 0 || isZero(f, work) || isZero(g, work)) return false
  const elsewhere = (node: Node) =>
    rewrite(node, (inner) => (inner.kind === 'symbol' ? { kind: 'symbol', name: `${inner.name} elsewhere` } : inner))
  const product = (...factors: Node[]): Node => ({ kind: 'product', factors })
  // f(x) g(y) = f(y) g(x) for all x and y says that f / g is constant.
  if (compareValues(product(f, elsewhere(g)), product(elsewhere(f), g), work) !== 'same') return false
  const size = (node: Node): Node => ({ kind: 'call', name: 'abs', args: [node] })
  return !positive || compareValues(product(f, size(g)), product(size(f), g), work) === 'same'
}

/** How an expression is written, where that matters although the value is right. */
import { bare, children, some, symbolsOf, type Node } from './node'

/** Fractions and what four operations and whole powers make of them. */
const isNumeric = (node: Node): boolean =>
  node.kind === 'number' ||
  node.kind === 'mixed' ||
  (['negative', 'paren', 'sum', 'product', 'quotient'].includes(node.kind) && children(node).every(isNumeric)) ||
  (node.kind === 'power' && isNumeric(node.base) && isWhole(node.exponent))

const isWhole = (node: Node): boolean => {
  const inner = bare(node)
  if (inner.kind === 'negative') return isWhole(inner.of)
  return inner.kind === 'number' && !inner.text.includes('.')
}

const isPowerOfTen = (node: Node): boolean => {
  const inner = bare(node)
  return (
    inner.kind === 'power' && bare(inner.base).kind === 'number' && isTen(bare(inner.base)) && isWhole(inner.exponent)
  )
}
const isTen = (node: Node) => node.kind === 'number' && node.value.n === 10n && node.value.d === 1n

/** Arithmetic that could still be carried out: 780 + 1, 2^10, 3 · 4, e^0, 5!, |-3|, ln 2. Fractions and roots are none. */
export function hasOpenArithmetic(node: Node): boolean {
  return some(node, (inner) => {
    switch (inner.kind) {
      case 'sum':
        return inner.terms.filter((term) => isNumeric(term)).length > 1
      case 'product': {
        const numbers = inner.factors.filter((factor) => isNumeric(factor))
        const isScientific = numbers.length === 2 && isPowerOfTen(numbers[1])
        return numbers.length > 1 && !isScientific
      }
      case 'power': {
        if (isPowerOfTen(inner) || !isWhole(inner.exponent) || symbolsOf(inner.base).size > 0) return false
        const base = bare(inner.base)
        const isPlain = base.kind === 'constant' && base.name !== 'i'
        const exponent = bare(inner.exponent)
        return !isPlain || (exponent.kind === 'number' && exponent.value.n === 0n)
      }
      case 'call':
        return symbolsOf(inner).size === 0
      default:
        return false
    }
  })
}

/** A number such as 007. */
export function hasLeadingZero(node: Node): boolean {
  return some(node, (inner) => inner.kind === 'number' && /^0\d/.test(inner.text))
}

export function isNegativeZero(node: Node): boolean {
  const inner = bare(node)
  return inner.kind === 'negative' && inner.of.kind === 'number' && inner.of.value.n === 0n
}

type Shape = 'factored' | 'expanded' | 'other'

function factorsOf(node: Node): Node[] {
  const inner = bare(node)
  if (inner.kind === 'negative') return factorsOf(inner.of)
  if (inner.kind === 'product') return inner.factors.flatMap(factorsOf)
  if (inner.kind === 'power' && isWhole(inner.exponent) && bare(inner.base).kind === 'sum')
    return [inner.base, inner.base]
  return [inner]
}

function shape(node: Node): Shape {
  const factors = factorsOf(node).filter((factor) => symbolsOf(factor).size > 0)
  if (factors.length > 1) return factors.some((factor) => bare(factor).kind === 'sum') ? 'factored' : 'other'
  return factors.length === 1 && bare(factors[0]).kind === 'sum' ? 'expanded' : 'other'
}

/** Whether one is a product of sums where the other is multiplied out. */
export function differsInFactoring(first: Node, second: Node): boolean {
  const parts = (node: Node) => {
    const inner = bare(node)
    return inner.kind === 'quotient' ? [inner.over, inner.under] : [inner]
  }
  const [a, b] = [parts(first), parts(second)]
  if (a.length !== b.length) return false
  return a.some((part, index) => {
    const shapes = [shape(part), shape(b[index])]
    return shapes.includes('factored') && shapes.includes('expanded')
  })
}

/** Compares single values: numbers, expressions, quantities with units, numbers of a base, ratios, infinities. */
import { basedValue } from './evaluate'
import { differsInFactoring, hasLeadingZero, hasOpenArithmetic, isNegativeZero } from './form'
import { bare, rewrite, some, symbolsOf, type Node } from './node'
import { multiply, parseDecimal, rational } from './rational'
import { infinitySign } from './reals'
import { compareValues } from './same-value'
import { matchUnits, unitName } from './units'
import { debatable, doubted, every, right, wrong, type Verdict } from './verdict'
import type { Work } from './work'

/** A value and the unit behind it; signs and further unit words may stand around the quantity. */
function split(node: Node): { value: Node; unit: string | null } {
  const inner = bare(node)
  if (inner.kind === 'quantity') {
    const { value, unit } = split(inner.of)
    return { value, unit: unit === null ? inner.unit : `${unit} ${inner.unit}` }
  }
  if (inner.kind === 'negative') {
    const { value, unit } = split(inner.of)
    return unit === null ? { value: node, unit } : { value: { kind: 'negative', of: value }, unit }
  }
  return { value: node, unit: null }
}

const over = (node: Node, divisor: bigint): Node => ({
  kind: 'quotient',
  over: node,
  under: { kind: 'number', value: rational(divisor), text: String(divisor) },
})
const pi: Node = { kind: 'constant', name: 'pi' }
const inRadians = (degrees: Node): Node => over({ kind: 'product', factors: [degrees, pi] }, 180n)

/** A unit of the gold answer may be missing, a matching one may be added; another one is wrong. */
export function compareQuantities(gold: Node, pred: Node, work: Work): Verdict {
  const [a, b] = [split(gold), split(pred)]
  const agree = (x: Node, y: Node) => compareScalars(x, y, work).correct !== false
  if (a.unit !== null && b.unit !== null) return compareWithUnits(a.value, a.unit, b.value, b.unit, work)
  const verdict = compareScalars(a.value, b.value, work)
  if (a.unit !== null && verdict.correct === false) {
    if (a.unit === 'percent' && agree(over(a.value, 100n), b.value)) return debatable('the fraction for the percentage')
    if (a.unit === 'degree' && agree(inRadians(a.value), b.value)) return debatable('radians for degrees')
    const rest = withoutLetterUnit(b.value, a.unit)
    return rest ? compareScalars(a.value, rest, work) : verdict
  }
  if (b.unit === 'percent') {
    return agree(a.value, over(b.value, 100n)) ? debatable('the percentage for the fraction') : wrong('a percentage')
  }
  const isAngle = b.unit === 'degree' && verdict.correct === false
  return isAngle && agree(a.value, inRadians(b.value)) ? debatable('degrees for radians') : verdict
}

function compareWithUnits(gold: Node, goldUnit: string, pred: Node, predUnit: string, work: Work): Verdict {
  const match = matchUnits(goldUnit, predUnit)
  switch (match.kind) {
    case 'same':
      return compareScalars(gold, pred, work)
    case 'convertible': {
      const factor: Node = { kind: 'number', value: match.factor, text: '1' }
      const converted = compareScalars(gold, { kind: 'product', factors: [pred, factor] }, work)
      return converted.correct === false ? wrong('another unit') : debatable('converted to another unit')
    }
    case 'related':
      return doubted(compareScalars(gold, pred, work), 'the number with a related unit')
    case 'other':
      return wrong('another unit')
    default: {
      const never: never = match
      return never
    }
  }
}

/** "12 m" typed without \text reads as a product; the factors before the letter that is the expected unit. */
function withoutLetterUnit(node: Node, unit: string): Node | null {
  if (node.kind !== 'product') return null
  const last = node.factors[node.factors.length - 1]
  if (last.kind !== 'symbol' || unitName(last.name) !== unit) return null
  const factors = node.factors.slice(0, -1)
  return factors.length === 1 ? factors[0] : { kind: 'product', factors }
}

const isScalar = (node: Node) =>
  !['union', 'reals', 'emptySet', 'relation', 'list', 'group', 'matrix'].includes(node.kind)

function compareScalars(gold: Node, pred: Node, work: Work): Verdict {
  const [goldInner, predInner] = [bare(gold), bare(pred)]
  if (!isScalar(goldInner) || !isScalar(predInner)) return wrong('another kind of answer')
  if (goldInner.kind === 'word' && predInner.kind === 'word') {
    return goldInner.text.toLowerCase() === predInner.text.toLowerCase()
      ? right('the same words')
      : wrong('other words')
  }
  const hasWords = (node: Node) => some(node, (inner) => inner.kind === 'word')
  if (hasWords(gold) || hasWords(pred)) return wrong('words and mathematics')
  if (goldInner.kind === 'ratio' || predInner.kind === 'ratio') return compareRatios(goldInner, predInner, work)
  if (infinitySign(gold) !== 0 || infinitySign(pred) !== 0) {
    return infinitySign(gold) === infinitySign(pred) ? right('the same infinity') : wrong('infinite and finite')
  }
  const isInfinite = (node: Node) => some(node, (inner) => inner.kind === 'constant' && inner.name === 'infinity')
  if (isInfinite(gold) !== isInfinite(pred)) return wrong('infinite and finite')
  return compareBased(gold, pred, work) ?? compareExpressions(gold, pred, work)
}

function compareRatios(gold: Node, pred: Node, work: Work): Verdict {
  const same = (a: Node, b: Node) => compareValues(a, b, work) === 'same'
  const product = (...factors: Node[]): Node => ({ kind: 'product', factors })
  if (gold.kind === 'ratio' && pred.kind === 'ratio') {
    if (gold.parts.length !== pred.parts.length) return wrong('another ratio')
    const parts = gold.parts.map((part, index) => [part, pred.parts[index]] as const)
    const verdict = every(
      parts.map(([a, b]) => compareScalars(a, b, work)),
      'the same ratio',
    )
    const [[first, second]] = parts
    const isProportional = parts.every(([a, b]) => same(product(first, b), product(second, a)))
    return verdict.correct === false && isProportional ? debatable('the same ratio in other terms') : verdict
  }
  const asQuotient = (node: Node): Node =>
    node.kind === 'ratio' && node.parts.length === 2
      ? { kind: 'quotient', over: node.parts[0], under: node.parts[1] }
      : node
  return same(asQuotient(gold), asQuotient(pred)) ? debatable('a ratio for a quotient') : wrong('another ratio')
}

function basedDigits(node: Node): { digits: string; base: number; negative: boolean } | null {
  const inner = bare(node)
  if (inner.kind === 'negative') {
    const below = basedDigits(inner.of)
    return below && { ...below, negative: !below.negative }
  }
  return inner.kind === 'based' ? { digits: inner.digits, base: inner.base, negative: false } : null
}

/** A base may not change; leaving it out is debatable. Null where neither number names a base. */
function compareBased(gold: Node, pred: Node, work: Work): Verdict | null {
  const [a, b] = [basedDigits(gold), basedDigits(pred)]
  if (!a && !b) return null
  const same = compareValues(gold, pred, work) === 'same'
  if (!a) return same && b?.base === 10 ? right('the same number') : wrong('a number in another base')
  if (b) {
    if (!same) return wrong('another number')
    return a.base === b.base ? right('the same number in the same base') : debatable('the same number in another base')
  }
  if (same) return debatable('the value in base ten')
  if (!/^\d+$/.test(a.digits)) return wrong('another number')
  const value = basedValue(a.digits, 10)
  const digits: Node = { kind: 'number', value: rational(a.negative ? -value : value), text: a.digits }
  return compareValues(digits, pred, work) === 'same' ? debatable('the base left out') : wrong('another number')
}

const imaginary: Node = { kind: 'constant', name: 'i' }

function compareExpressions(gold: Node, pred: Node, work: Work): Verdict {
  switch (compareValues(gold, pred, work)) {
    case 'same':
      return judgeForm(gold, pred)
    case 'same for positive unknowns':
      return debatable('the same for positive unknowns only')
    case 'both undefined':
      return debatable('neither has a value')
    case 'undecided':
      return sameTree(gold, pred) ? right('the same expression') : debatable('beyond exact comparison')
    case 'different': {
      const hasI = some(gold, (node) => node.kind === 'constant' && node.name === 'i')
      if (!hasI || !symbolsOf(pred).has('j') || symbolsOf(gold).has('j')) return wrong('another value')
      const meant = rewrite(pred, (node) => (node.kind === 'symbol' && node.name === 'j' ? imaginary : node))
      return doubted(compareExpressions(gold, meant, work), 'j for i')
    }
  }
}

/** The values are equal: whether the prediction is also written as an answer should be. */
function judgeForm(gold: Node, pred: Node): Verdict {
  if (hasLeadingZero(gold) || hasLeadingZero(pred)) {
    return sameTree(gold, pred) ? right('the same number') : debatable('a leading zero')
  }
  if (isNegativeZero(pred) && !isNegativeZero(gold)) return debatable('minus zero')
  if (hasOpenArithmetic(pred) && !hasOpenArithmetic(gold)) return debatable('arithmetic left to be done')
  if (differsInFactoring(gold, pred)) return debatable('multiplied out, or not')
  return right('the same value')
}

function sameTree(first: Node, second: Node): boolean {
  const text = (node: Node) =>
    JSON.stringify(rewrite(node, bare), (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
  return text(first) === text(second)
}

/** The number that "1.234,5", "12,5" or "1 234" is where points, commas and spaces are used the other way; null for none. */
export function foreignNumber(source: string): Node | null {
  const match = /^([-−]?)\s*(\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+|\d{1,3}(?: \d{3})+)$/.exec(source.trim())
  if (!match) return null
  const text = match[2].replace(/[. ]/g, '').replace(',', '.')
  const value = multiply(parseDecimal(text), rational(match[1] ? -1n : 1n))
  return { kind: 'number', value, text }
}

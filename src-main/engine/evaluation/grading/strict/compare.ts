/** Compares the meaning of two answers, structure by structure, down to exact values. */
import { differsInFactoring, hasLeadingZero, hasOpenArithmetic, isNegativeZero } from './form'
import { bare, rewrite, some, symbolsOf, type Node, type Relation } from './node'
import { isRealSet, infinitySign, realSet, sameRealSets } from './reals'
import { multiply, parseDecimal, rational } from './rational'
import { compareValues, realValue } from './same-value'
import { basedValue } from './evaluate'
import { matchUnits, unitName } from './units'
import { debatable, doubted, every, right, wrong, type Verdict } from './verdict'

/** More items than this are no answer that anyone checks. */
const maxItems = 60

/** Compares a prediction with the gold answer. */
export function compareNodes(goldNode: Node, predNode: Node): Verdict {
  const [gold, pred] = [bare(goldNode), bare(predNode)]

  if (pred.kind === 'relation' && pred.signs.includes('≈')) return compareApproximate(gold, pred)
  if (pred.kind === 'relation' && pred.signs.includes('→')) return wrong('not an answer')

  // A name in front ("x =", "S =", "x ∈") may be there or not.
  const [goldName, predName] = [named(gold), named(pred)]
  if (goldName && predName) return compareNamed(goldName, predName)
  if (predName && gold.kind !== 'relation') {
    const verdict = compareNodes(gold, predName.value)
    const isExpression = symbolsOf(predName.value).size > 0 && predName.sign === '='
    return isExpression ? doubted(verdict, 'an expression given as an equation') : verdict
  }
  if (goldName && pred.kind !== 'relation') {
    const verdict = compareNodes(goldName.value, pred)
    const isExpression = symbolsOf(goldName.value).size > 0 && goldName.sign === '='
    return isExpression ? doubted(verdict, 'one side of the equation only') : verdict
  }

  if (isRealSet(gold) || isRealSet(pred)) {
    const [a, b] = [realSet(gold), realSet(pred)]
    if (a && b) return sameRealSets(a, b) ? right('the same set of numbers') : wrong('another set of numbers')
  }
  if (gold.kind === 'relation' || pred.kind === 'relation') return compareRelations(gold, pred)

  const [goldPlain, predPlain] = [expanded(gold), expanded(pred)]
  if (isCollection(goldPlain) || isCollection(predPlain)) return compareCollections(goldPlain, predPlain)
  return compareQuantities(goldPlain, predPlain)
}

// ---------------------------------------------------------------- names

interface Named {
  readonly name: string
  readonly sign: '=' | '∈'
  readonly value: Node
  /** The name is a function of something, or the equation has further sides. */
  readonly isLoose: boolean
}

/** Splits "x = 5", "5 = x", "f(x) = x + 1", "x = 6/2 = 3", "x ∈ S". */
function named(node: Node): Named | null {
  if (node.kind !== 'relation') return null
  const { sides, signs } = node
  if (signs.length === 1 && signs[0] === '∈' && nameOf(sides[0])) {
    return { name: nameOf(sides[0]) as string, sign: '∈', value: sides[1], isLoose: false }
  }
  if (signs.some((sign) => sign !== '=')) return null
  const first = nameOf(sides[0])
  if (first) {
    const rest = sides.slice(1)
    const value = rest[rest.length - 1]
    if (rest.some((side) => compareNodes(side, value).correct === false)) return null
    return { name: first, sign: '=', value, isLoose: rest.length > 1 || first.includes('(') }
  }
  const last = sides.length === 2 ? nameOf(sides[1]) : null
  return last ? { name: last, sign: '=', value: sides[0], isLoose: false } : null
}

/** The text of a node that stands for something rather than being a value; null for a value. */
function nameOf(side: Node): string | null {
  const node = side.kind === 'paren' ? side.of : side
  switch (node.kind) {
    case 'symbol':
      return node.name
    case 'word':
      return node.text.toLowerCase()
    case 'quantity':
      return nameOf(node.of) === null ? null : `${nameOf(node.of)} ${node.unit}`
    case 'call':
      return node.name === 'abs' ? nameOf(node.args[0]) : null
    case 'group': {
      const names = node.items.map(nameOf)
      return names.every((name) => name !== null) ? `[${names.join(',')}]` : null
    }
    case 'product': {
      const [head, ...rest] = node.factors
      const inner = head.kind === 'power' ? head.base : head
      const last = rest[rest.length - 1]
      if (inner.kind === 'symbol' && rest.length === 1 && (last.kind === 'paren' || last.kind === 'group')) return `${inner.name}()`
      const names = node.factors.map(nameOf)
      const isLabel = names.every((name) => name !== null) && names.some((name) => /^[A-Z]|\w\w/.test(name as string))
      return isLabel ? names.join('') : null
    }
    default:
      return null
  }
}

function compareNamed(gold: Named, pred: Named): Verdict {
  const verdict = compareNodes(gold.value, pred.value)
  if (gold.name === pred.name) return verdict
  return doubted(verdict, 'the value under another name')
}

// ---------------------------------------------------------------- equations, inequalities, approximations

function compareApproximate(gold: Node, pred: Node & { kind: 'relation' }): Verdict {
  const sides = pred.sides.filter((side) => nameOf(side) === null || pred.sides.length === 1)
  const target = named(gold)?.value ?? gold
  if (sides.some((side) => compareNodes(target, side).correct !== false)) return debatable('given as approximate')
  return sides.some((side) => isRounded(target, side)) ? debatable('rounded, and said to be') : wrong('another value')
}

/** Whether the decimal is the exact value rounded to its own places. */
function isRounded(exactNode: Node, decimalNode: Node): boolean {
  const exact = realValue(exactNode)
  const decimal = realValue(decimalNode)
  let places = -1
  some(decimalNode, (inner) => {
    if (inner.kind === 'number') places = Math.max(places, inner.text.split('.')[1]?.length ?? 0)
    return false
  })
  if (!exact || !decimal || places < 0 || places > 50) return false
  return exact.toFixed(places) === decimal.toFixed(places)
}

const flipped: Partial<Record<Relation, Relation>> = { '>': '<', '≥': '≤' }

/** Two sides with the sign turned so that it is =, ≠, < or ≤. */
function oriented(node: Node): { sign: Relation; left: Node; right: Node } | null {
  if (node.kind !== 'relation' || node.signs.length !== 1) return null
  const [left, right] = node.sides
  const turned = flipped[node.signs[0]]
  return turned ? { sign: turned, left: right, right: left } : { sign: node.signs[0], left, right }
}

const difference = (left: Node, right: Node): Node => ({ kind: 'sum', terms: [left, { kind: 'negative', of: right }] })
const isZero = (node: Node) => compareValues(node, { kind: 'number', value: rational(0n), text: '0' }) === 'same'

function compareRelations(gold: Node, pred: Node): Verdict {
  const [a, b] = [oriented(gold), oriented(pred)]
  if (gold.kind === 'relation' && pred.kind === 'relation') {
    if (!a || !b) return compareChains(gold, pred)
    if (a.sign !== b.sign) return wrong('another relation')
    const straight = compareValues(a.left, b.left) === 'same' && compareValues(a.right, b.right) === 'same'
    const canTurn = a.sign === '=' || a.sign === '≠'
    const turned =
      canTurn && compareValues(a.left, b.right) === 'same' && compareValues(a.right, b.left) === 'same'
    if (straight || turned) return right(canTurn ? 'the same equation' : 'the same inequality')
    return areProportional(a, b, !canTurn) ? debatable('the same line or set, written otherwise') : wrong('another equation')
  }
  const [equation, value] = gold.kind === 'relation' ? [a, pred] : [b, gold]
  if (equation?.sign === '=') {
    const sides = [equation.left, equation.right, difference(equation.left, equation.right)]
    const isValue = !isCollection(value) && sides.some((side) => !isCollection(side) && !isZero(side) && compareValues(side, value) === 'same')
    if (isValue) return debatable('an equation for an expression')
  }
  return wrong('an equation or inequality for a value')
}

function compareChains(gold: Node & { kind: 'relation' }, pred: Node & { kind: 'relation' }): Verdict {
  if (gold.signs.join() !== pred.signs.join()) return wrong('another relation')
  return every(
    gold.sides.map((side, index) => compareNodes(side, pred.sides[index])),
    'the same chain',
  )
}

type Oriented = NonNullable<ReturnType<typeof oriented>>

/** Whether the zero sets agree: one difference of the sides is a constant multiple of the other (a positive one if asked). */
function areProportional(a: Oriented, b: Oriented, positive: boolean): boolean {
  if ([a.left, a.right, b.left, b.right].some(isCollection)) return false
  const f = difference(a.left, a.right)
  const g = difference(b.left, b.right)
  if (isZero(f) || isZero(g) || symbolsOf(f).size === 0) return false
  const elsewhere = (node: Node) =>
    rewrite(node, (inner) => (inner.kind === 'symbol' ? { kind: 'symbol', name: `${inner.name} elsewhere` } : inner))
  const product = (...factors: Node[]): Node => ({ kind: 'product', factors })
  if (compareValues(product(f, elsewhere(g)), product(elsewhere(f), g)) !== 'same') return false
  const size = (node: Node): Node => ({ kind: 'call', name: 'abs', args: [node] })
  return !positive || compareValues(product(f, size(g)), product(size(f), g)) === 'same'
}

// ---------------------------------------------------------------- collections

/** Plus-minus written out as two values. */
function expanded(node: Node): Node {
  if (!some(node, (inner) => inner.kind === 'plusMinus')) return node
  const withSign = (upper: boolean) =>
    rewrite(node, (inner) => {
      if (inner.kind !== 'plusMinus') return inner
      return (inner.sign === 'pm') === upper ? inner.of : { kind: 'negative', of: inner.of }
    })
  const [first, second] = [withSign(true), withSign(false)]
  if (first.kind === 'list' && second.kind === 'list') {
    // Each item of a list stands for itself; those without a sign are not doubled.
    const items = (node as Node & { kind: 'list' }).items
    const both = items.flatMap((item, index) =>
      some(item, (inner) => inner.kind === 'plusMinus') ? [first.items[index], second.items[index]] : [item],
    )
    return { kind: 'list', joined: 'or', items: both }
  }
  return { kind: 'list', joined: 'or', items: [first, second] }
}

const isCollection = (node: Node): boolean => ['list', 'group', 'matrix', 'emptySet'].includes(bare(node).kind)

/** Unordered items (a list or a set), without the name that each or the first may carry; null for anything else. */
function unordered(node: Node): readonly Node[] | null {
  if (node.kind === 'emptySet') return []
  if (node.kind === 'group' && node.open === '{') return node.items.flatMap((item) => unordered(expanded(item)) ?? [item])
  if (node.kind !== 'list') return null
  const names = node.items.map((item) => named(bare(item)))
  const distinct = new Set(names.filter((name) => name !== null).map((name) => (name as Named).name))
  if (distinct.size > 1) return node.items
  return node.items.map((item, index) => names[index]?.value ?? item)
}

/** Ordered items (a tuple or a vector); null for anything else. */
function ordered(node: Node): readonly Node[] | null {
  if (node.kind === 'group' && node.open !== '{') return node.items
  if (node.kind === 'matrix' && !node.bars && (node.rows.length === 1 || node.rows[0].length === 1)) return node.rows.flat()
  return null
}

function compareCollections(gold: Node, pred: Node): Verdict {
  if (gold.kind === 'matrix' && pred.kind === 'matrix') return compareMatrices(gold, pred)

  const [goldLoose, predLoose] = [unordered(gold), unordered(pred)]
  if (goldLoose && predLoose) return matchItems(goldLoose, predLoose)

  const [goldRow, predRow] = [ordered(gold), ordered(pred)]
  if (goldRow && predRow) {
    const verdict = matchInOrder(goldRow, predRow)
    if (gold.kind !== 'group' || pred.kind !== 'group') return doubted(verdict, 'a tuple for a vector')
    if (gold.open === pred.open && gold.close === pred.close) return verdict
    const isInterval = (node: Node & { kind: 'group' }) => node.items.length === 2 && node.open !== '⟨'
    if (isInterval(gold) && isInterval(pred)) return wrong('other ends of the interval')
    return doubted(verdict, 'other brackets')
  }
  if (goldRow && predLoose) return doubted(matchItems(goldRow, predLoose.map(valueOfItem)), 'a list for a tuple')
  if (goldLoose && predRow) return doubted(matchItems(goldLoose.map(valueOfItem), predRow), 'a tuple for a list')
  if (predRow?.length === 2 && some(gold, (node) => node.kind === 'constant' && node.name === 'i')) {
    const i: Node = { kind: 'constant', name: 'i' }
    const sum: Node = { kind: 'sum', terms: [predRow[0], { kind: 'product', factors: [predRow[1], i] }] }
    return doubted(compareQuantities(gold, sum), 'a pair for a complex number')
  }
  return wrong('another kind of answer')
}

const valueOfItem = (item: Node) => named(bare(item))?.value ?? item

function matchInOrder(gold: readonly Node[], pred: readonly Node[]): Verdict {
  if (gold.length !== pred.length || gold.length > maxItems) return wrong('another number of entries')
  return every(
    gold.map((item, index) => compareNodes(item, pred[index])),
    'the same entries',
  )
}

function matchItems(gold: readonly Node[], pred: readonly Node[]): Verdict {
  if (gold.length !== pred.length || gold.length > maxItems) return wrong('another number of items')
  const left = [...pred]
  const verdicts: Verdict[] = []
  for (const item of gold) {
    const results = left.map((candidate) => compareNodes(item, candidate))
    let index = results.findIndex((result) => result.correct === true)
    if (index < 0) index = results.findIndex((result) => result.correct === null)
    if (index < 0) return wrong('an item is missing')
    verdicts.push(results[index])
    left.splice(index, 1)
  }
  return every(verdicts, 'the same items')
}

function compareMatrices(gold: Node & { kind: 'matrix' }, pred: Node & { kind: 'matrix' }): Verdict {
  if (gold.rows.length === pred.rows.length && gold.rows[0].length === pred.rows[0].length) {
    const verdict = matchInOrder(gold.rows.flat(), pred.rows.flat())
    return gold.bars === pred.bars ? verdict : doubted(verdict, 'a determinant for a matrix')
  }
  const [a, b] = [ordered(gold), ordered(pred)]
  if (a && b && a.length === b.length) return doubted(matchInOrder(a, b), 'a row for a column')
  return wrong('a matrix of another size')
}

// ---------------------------------------------------------------- quantities and values

/** A value and the unit behind it; the sign may stand before the quantity. */
function split(node: Node): { value: Node; unit: string | null } {
  const inner = bare(node)
  if (inner.kind === 'quantity') return { value: inner.of, unit: inner.unit }
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
const inRadians = (degrees: Node): Node => over({ kind: 'product', factors: [degrees, { kind: 'constant', name: 'pi' }] }, 180n)

function compareQuantities(gold: Node, pred: Node): Verdict {
  const [a, b] = [split(gold), split(pred)]
  const verdict = compareScalars(a.value, b.value)
  if (a.unit === null && b.unit === null) return verdict
  if (a.unit !== null && b.unit !== null) {
    const match = matchUnits(a.unit, b.unit)
    switch (match.kind) {
      case 'same':
        return verdict
      case 'convertible': {
        const factor: Node = { kind: 'number', value: match.factor, text: '1' }
        const converted = compareScalars(a.value, { kind: 'product', factors: [b.value, factor] })
        return converted.correct === false ? wrong('another unit') : debatable('converted to another unit')
      }
      case 'related':
        return verdict.correct === false ? verdict : debatable('the number with another currency')
      case 'other':
        return wrong('another unit')
      default: {
        const never: never = match
        return never
      }
    }
  }
  const sameOtherwise = (x: Node, y: Node) => compareScalars(x, y).correct !== false
  if (a.unit !== null) {
    if (verdict.correct !== false) return verdict
    if (a.unit === 'percent' && sameOtherwise(over(a.value, 100n), b.value)) return debatable('the fraction for the percentage')
    if (a.unit === 'degree' && sameOtherwise(inRadians(a.value), b.value)) return debatable('radians for degrees')
    const rest = withoutLetterUnit(b.value, a.unit)
    return rest ? compareScalars(a.value, rest) : verdict
  }
  if (b.unit === 'percent') {
    return sameOtherwise(a.value, over(b.value, 100n)) ? debatable('the percentage for the fraction') : wrong('a percentage')
  }
  if (b.unit === 'degree' && sameOtherwise(a.value, inRadians(b.value))) return debatable('degrees for radians')
  return verdict
}

/** "12 m" typed without \text reads as a product; the factor before the letter that is the expected unit. */
function withoutLetterUnit(node: Node, unit: string): Node | null {
  if (node.kind !== 'product') return null
  const last = node.factors[node.factors.length - 1]
  if (last.kind !== 'symbol' || unitName(last.name) !== unit) return null
  const factors = node.factors.slice(0, -1)
  return factors.length === 1 ? factors[0] : { kind: 'product', factors }
}

function basedDigits(node: Node): { digits: string; base: number; negative: boolean } | null {
  const inner = bare(node)
  if (inner.kind === 'negative') {
    const below = basedDigits(inner.of)
    return below && { ...below, negative: !below.negative }
  }
  return inner.kind === 'based' ? { digits: inner.digits, base: inner.base, negative: false } : null
}

function compareBased(gold: Node, pred: Node): Verdict | null {
  const [a, b] = [basedDigits(gold), basedDigits(pred)]
  if (!a && !b) return null
  const same = compareValues(gold, pred) === 'same'
  if (a && b) {
    if (!same) return wrong('another number')
    return a.base === b.base ? right('the same number in the same base') : debatable('the same number in another base')
  }
  if (b) return same && b.base === 10 ? right('the same number') : wrong('a number in another base')
  const { digits, negative } = a as NonNullable<typeof a>
  if (same) return debatable('the value in base ten')
  const asDigits = /^\d+$/.test(digits) ? basedValue(digits, 10) : null
  const dropped: Node | null =
    asDigits === null ? null : { kind: 'number', value: rational(negative ? -asDigits : asDigits), text: digits }
  return dropped && compareValues(dropped, pred) === 'same' ? debatable('the base left out') : wrong('another number')
}

function compareScalars(gold: Node, pred: Node): Verdict {
  const [goldInner, predInner] = [bare(gold), bare(pred)]
  const hasWords = (node: Node) => some(node, (inner) => inner.kind === 'word')
  if (hasWords(gold) || hasWords(pred)) return wrong('words and mathematics')
  if (goldInner.kind === 'ratio' || predInner.kind === 'ratio') return compareRatios(goldInner, predInner)
  if (infinitySign(gold) !== 0 || infinitySign(pred) !== 0) {
    return infinitySign(gold) === infinitySign(pred) ? right('the same infinity') : wrong('infinite and finite')
  }
  return compareBased(gold, pred) ?? compareExpressions(gold, pred)
}

function compareRatios(gold: Node, pred: Node): Verdict {
  if (gold.kind === 'ratio' && pred.kind === 'ratio' && gold.parts.length === pred.parts.length) {
    const verdict = matchInOrder(gold.parts, pred.parts)
    if (verdict.correct !== false) return verdict
    const products = gold.parts.slice(1).map((part, index) => ({
      first: { kind: 'product', factors: [gold.parts[0], pred.parts[index + 1]] } as Node,
      second: { kind: 'product', factors: [pred.parts[0], part] } as Node,
    }))
    const proportional = products.every(({ first, second }) => compareValues(first, second) === 'same')
    return proportional ? debatable('the same ratio, not in the same terms') : verdict
  }
  const asQuotient = (node: Node): Node =>
    node.kind === 'ratio' && node.parts.length === 2 ? { kind: 'quotient', over: node.parts[0], under: node.parts[1] } : node
  return compareValues(asQuotient(gold), asQuotient(pred)) === 'same'
    ? debatable('a ratio for a quotient')
    : wrong('another ratio')
}

function compareExpressions(gold: Node, pred: Node): Verdict {
  switch (compareValues(gold, pred)) {
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
      if (hasI && symbolsOf(pred).has('j') && !symbolsOf(gold).has('j')) {
        const i: Node = { kind: 'constant', name: 'i' }
        const meant = rewrite(pred, (node) => (node.kind === 'symbol' && node.name === 'j' ? i : node))
        return doubted(compareExpressions(gold, meant), 'j for i')
      }
      return wrong('another value')
    }
  }
}

function judgeForm(gold: Node, pred: Node): Verdict {
  if (hasLeadingZero(gold) || hasLeadingZero(pred)) return sameTree(gold, pred) ? right('the same number') : debatable('a leading zero')
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

/** Compares the meaning of two answers, structure by structure, down to single values. */
import { named, nameOf, type Named } from './names'
import { bare, rewrite, some, symbolsOf, type Node } from './node'
import { isRealSet, realSet, sameRealSets } from './reals'
import { compareEquationWithValue, compareRelations } from './relations'
import { realValue } from './same-value'
import { compareQuantities } from './scalars'
import { debatable, doubted, every, right, wrong, type Verdict } from './verdict'
import type { Work } from './work'

/** More items than this are no answer that anyone checks. */
const maxItems = 60

/** Compares a prediction with the gold answer. Throws OutOfWork past the bound. */
export function compareNodes(goldNode: Node, predNode: Node, work: Work): Verdict {
  work.spend(20)
  const [gold, pred] = [bare(goldNode), bare(predNode)]

  if (pred.kind === 'relation' && pred.signs.includes('≈')) return compareApproximate(gold, pred, work)
  if (pred.kind === 'relation' && pred.signs.includes('→')) return wrong('not an answer')

  // A name in front ("x =", "S =", "x ∈") may be there or not.
  const [goldName, predName] = [named(gold, work), named(pred, work)]
  if (goldName && predName) {
    const verdict = compareNodes(goldName.value, predName.value, work)
    return goldName.name === predName.name ? verdict : doubted(verdict, 'the value under another name')
  }
  if (predName && gold.kind !== 'relation') {
    const verdict = compareNodes(gold, predName.value, work)
    return isDefinition(predName) ? verdict : doubted(verdict, 'an equation for an expression')
  }
  if (goldName && pred.kind !== 'relation') {
    const verdict = compareNodes(goldName.value, pred, work)
    const isExpression = goldName.sign === '=' && symbolsOf(goldName.value).size > 0
    return isExpression ? doubted(verdict, 'one side of the equation') : verdict
  }

  if (isRealSet(gold) || isRealSet(pred)) {
    const [a, b] = [realSet(gold, work), realSet(pred, work)]
    if (a && b) return sameRealSets(a, b, work) ? right('the same set of numbers') : wrong('another set of numbers')
  }
  if (gold.kind === 'relation' || pred.kind === 'relation') {
    if (gold.kind === 'relation' && pred.kind === 'relation') return compareRelations(gold, pred, work)
    return gold.kind === 'relation'
      ? compareEquationWithValue(gold, pred, work)
      : compareEquationWithValue(pred as Node & { kind: 'relation' }, gold, work)
  }

  const [goldPlain, predPlain] = [expanded(gold), expanded(pred)]
  if (isCollection(goldPlain) || isCollection(predPlain)) return compareCollections(goldPlain, predPlain, work)
  return compareQuantities(goldPlain, predPlain, work)
}

/** Whether the name only stands in front of the value: it is no function and does not occur in the value. */
function isDefinition({ name, sign, value }: Named): boolean {
  return sign === '∈' || symbolsOf(value).size === 0 || (!name.endsWith('()') && !symbolsOf(value).has(name))
}

/** An answer that says it is approximate is at best debatable. */
function compareApproximate(gold: Node, pred: Node & { kind: 'relation' }, work: Work): Verdict {
  const sides = pred.sides.filter((side) => pred.sides.length === 1 || nameOf(side) === null)
  const target = named(gold, work)?.value ?? gold
  if (sides.some((side) => compareNodes(target, side, work).correct !== false)) return debatable('given as approximate')
  const isRounded = sides.some((side) => roundsTo(target, side, work))
  return isRounded ? debatable('rounded, and said to be') : wrong('another value')
}

/** Whether the decimal is the exact value rounded to its own places. */
function roundsTo(exactNode: Node, decimalNode: Node, work: Work): boolean {
  const exact = realValue(exactNode, work)
  const decimal = realValue(decimalNode, work)
  let places = -1
  some(decimalNode, (inner) => {
    if (inner.kind === 'number') places = Math.max(places, inner.text.split('.')[1]?.length ?? 0)
    return false
  })
  if (!exact || !decimal || places < 0 || places > 50) return false
  return exact.toDecimalPlaces(places).eq(decimal.toDecimalPlaces(places))
}

/** Plus-minus written out as two values. */
function expanded(node: Node): Node {
  const isDouble = (inner: Node) => some(inner, (below) => below.kind === 'plusMinus')
  if (!isDouble(node)) return node
  const withSign = (whole: Node, upper: boolean) =>
    rewrite(whole, (inner) => {
      if (inner.kind !== 'plusMinus') return inner
      return (inner.sign === 'pm') === upper ? inner.of : { kind: 'negative', of: inner.of }
    })
  // Each item of a list stands for itself; those without a sign are not doubled.
  const items = node.kind === 'list' ? node.items : [node]
  const both = items.flatMap((item) => (isDouble(item) ? [withSign(item, true), withSign(item, false)] : [item]))
  return { kind: 'list', joined: 'or', items: both }
}

const isCollection = (node: Node): boolean => ['list', 'group', 'matrix', 'emptySet'].includes(bare(node).kind)

/** Unordered items (a list or a set), without the name that each or the first may carry; null for anything else. */
function unordered(node: Node, work: Work): readonly Node[] | null {
  if (node.kind === 'emptySet') return []
  if (node.kind === 'group' && node.open === '{')
    return node.items.flatMap((item) => unordered(expanded(item), work) ?? [item])
  if (node.kind !== 'list') return null
  const names = node.items.map((item) => named(bare(item), work))
  const distinct = new Set(names.flatMap((name) => (name ? [name.name] : [])))
  return distinct.size > 1 ? node.items : node.items.map((item, index) => names[index]?.value ?? item)
}

/** Ordered items (a tuple or a vector); null for anything else. */
function ordered(node: Node): readonly Node[] | null {
  if (node.kind === 'group' && node.open !== '{') return node.items
  if (node.kind === 'matrix' && !node.bars && (node.rows.length === 1 || node.rows[0].length === 1))
    return node.rows.flat()
  return null
}

function compareCollections(gold: Node, pred: Node, work: Work): Verdict {
  if (gold.kind === 'matrix' && pred.kind === 'matrix') return compareMatrices(gold, pred, work)

  const [goldLoose, predLoose] = [unordered(gold, work), unordered(pred, work)]
  if (goldLoose && predLoose) return matchItems(goldLoose, predLoose, work)

  const [goldRow, predRow] = [ordered(gold), ordered(pred)]
  if (goldRow && predRow) {
    const verdict = matchInOrder(goldRow, predRow, work)
    if (gold.kind !== 'group' || pred.kind !== 'group') return doubted(verdict, 'a tuple for a vector')
    if (gold.open === pred.open && gold.close === pred.close) return verdict
    const isInterval = (node: Node & { kind: 'group' }) => node.items.length === 2 && node.open !== '⟨'
    if (isInterval(gold) && isInterval(pred)) return wrong('other ends of the interval')
    return doubted(verdict, 'other brackets')
  }
  const valueOf = (item: Node) => named(bare(item), work)?.value ?? item
  if (goldRow && predLoose) return doubted(matchItems(goldRow, predLoose.map(valueOf), work), 'a list for a tuple')
  if (goldLoose && predRow) return doubted(matchItems(goldLoose.map(valueOf), predRow, work), 'a tuple for a list')
  if (predRow?.length === 2 && some(gold, (node) => node.kind === 'constant' && node.name === 'i')) {
    const i: Node = { kind: 'constant', name: 'i' }
    const sum: Node = { kind: 'sum', terms: [predRow[0], { kind: 'product', factors: [predRow[1], i] }] }
    return doubted(compareQuantities(gold, sum, work), 'a pair for a complex number')
  }
  if (!isCollection(gold) && predLoose && predLoose.length > 0 && predLoose.length <= maxItems) {
    const verdict = every(
      predLoose.map((item) => compareNodes(gold, item, work)),
      'the same answer more than once',
    )
    return verdict.correct === false
      ? wrong('several answers for one')
      : doubted(verdict, 'the same answer more than once')
  }
  return wrong('another kind of answer')
}

function matchInOrder(gold: readonly Node[], pred: readonly Node[], work: Work): Verdict {
  if (gold.length !== pred.length || gold.length > maxItems) return wrong('another number of entries')
  return every(
    gold.map((item, index) => compareNodes(item, pred[index], work)),
    'the same entries',
  )
}

function matchItems(gold: readonly Node[], pred: readonly Node[], work: Work): Verdict {
  if (gold.length !== pred.length || gold.length > maxItems) return wrong('another number of items')
  const left = [...pred]
  const verdicts: Verdict[] = []
  for (const item of gold) {
    let found = -1
    let verdict: Verdict | null = null
    for (const [index, candidate] of left.entries()) {
      const result = compareNodes(item, candidate, work)
      if (result.correct === false || (verdict && result.correct === null)) continue
      found = index
      verdict = result
      if (result.correct) break
    }
    if (!verdict) return wrong('an item is missing')
    verdicts.push(verdict)
    left.splice(found, 1)
  }
  return every(verdicts, 'the same items')
}

function compareMatrices(gold: Node & { kind: 'matrix' }, pred: Node & { kind: 'matrix' }, work: Work): Verdict {
  if (gold.rows.length === pred.rows.length && gold.rows[0].length === pred.rows[0].length) {
    const verdict = matchInOrder(gold.rows.flat(), pred.rows.flat(), work)
    return gold.bars === pred.bars ? verdict : doubted(verdict, 'a determinant for a matrix')
  }
  const [a, b] = [ordered(gold), ordered(pred)]
  if (a && b && a.length === b.length) return doubted(matchInOrder(a, b, work), 'a row for a column')
  return wrong('a matrix of another size')
}

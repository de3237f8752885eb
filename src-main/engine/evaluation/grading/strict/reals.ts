/** Sets of real numbers, however they are written: intervals, inequalities, unions, finite sets, all reals. */
import { compareValues, realValue } from './same-value'
import { bare, some, symbolsOf, type Node, type Relation } from './node'
import type { Work } from './work'

interface Interval {
  /** Null: unbounded. */
  readonly low: Node | null
  readonly lowClosed: boolean
  readonly high: Node | null
  readonly highClosed: boolean
}

export type RealSet = readonly Interval[]

const everything: Interval = { low: null, lowClosed: false, high: null, highClosed: false }

/** 1 or -1 for an infinite value, else 0. */
export function infinitySign(node: Node): number {
  const inner = bare(node)
  if (inner.kind === 'negative') return -infinitySign(inner.of)
  return inner.kind === 'constant' && inner.name === 'infinity' ? 1 : 0
}

const isOrder = (sign: Relation) => sign === '<' || sign === '>' || sign === '≤' || sign === '≥'
const isSymbol = (node: Node) => bare(node).kind === 'symbol'

/** Whether the node can only mean a set of reals (a pair in parentheses can also be a point). */
export function isRealSet(node: Node): boolean {
  switch (node.kind) {
    case 'reals':
    case 'union':
      return true
    case 'group':
      return (
        node.items.length === 2 &&
        (node.open === '(' || node.open === '[') &&
        (node.open === '[' || node.close === ']' || node.items.some((item) => infinitySign(item) !== 0))
      )
    case 'relation':
      return (
        node.signs.every((sign) => isOrder(sign) || sign === '≠') || (node.signs[0] === '∈' && isRealSet(node.sides[1]))
      )
    case 'list':
      return node.items.every(isRealSet)
    default:
      return false
  }
}

/** The set that a node means, for one unknown at most; null where it means none. */
export function realSet(node: Node, work: Work): RealSet | null {
  switch (node.kind) {
    case 'paren':
      return realSet(node.of, work)
    case 'reals':
      return [everything]
    case 'emptySet':
      return []
    case 'word':
      return /^(all )?(real numbers|reals)$/i.test(node.text) ? [everything] : null
    case 'union':
      return join(node.parts, work)
    case 'group':
      return node.open === '{' ? node.items.map(point) : interval(node)
    case 'list': {
      const parts = node.items.map((item) => realSet(item, work))
      if (parts.some((part) => part === null)) return null
      if (node.joined !== 'or' && parts.length === 2) {
        const common = intersection(parts[0] as RealSet, parts[1] as RealSet, work)
        if (common) return common
      }
      return join(node.items, work)
    }
    case 'relation':
      return node.signs[0] === '∈' && node.signs.length === 1 ? realSet(node.sides[1], work) : inequality(node)
    default:
      return null
  }
}

const point = (at: Node): Interval => ({ low: at, lowClosed: true, high: at, highClosed: true })

function join(nodes: readonly Node[], work: Work): RealSet | null {
  const all: Interval[] = []
  for (const node of nodes) {
    const part = realSet(node, work)
    if (!part) return null
    all.push(...part)
  }
  return all
}

function interval(node: Node & { kind: 'group' }): RealSet | null {
  if (node.items.length !== 2 || node.open === '⟨') return null
  const [low, high] = node.items
  if (infinitySign(low) > 0 || infinitySign(high) < 0) return null
  return [
    {
      low: infinitySign(low) ? null : low,
      lowClosed: node.open === '[' && !infinitySign(low),
      high: infinitySign(high) ? null : high,
      highClosed: node.close === ']' && !infinitySign(high),
    },
  ]
}

/** x < a, a > x, a < x ≤ b and the like, and x ≠ a. */
function inequality({ sides, signs }: Node & { kind: 'relation' }): RealSet | null {
  if (symbolsOf({ kind: 'list', joined: ',', items: sides }).size !== 1) return null
  const middle = sides.findIndex(isSymbol)
  if (middle < 0 || sides.filter((side) => symbolsOf(side).size > 0).length !== 1) return null
  if (sides.length === 2 && signs[0] === '≠') {
    const at = sides[1 - middle]
    return [
      { ...everything, high: at },
      { ...everything, low: at },
    ]
  }
  if (sides.length > 3 || (sides.length === 3 && middle !== 1) || !signs.every(isOrder)) return null
  let { low, lowClosed, high, highClosed } = everything
  for (const [index, sign] of signs.entries()) {
    const isUpper = (sign === '<' || sign === '≤') === (index === middle)
    const bound = sides[index === middle ? index + 1 : index]
    const closed = sign === '≤' || sign === '≥'
    if (isUpper) {
      if (high) return null
      ;[high, highClosed] = infinitySign(bound) ? [null, false] : [bound, closed]
    } else {
      if (low) return null
      ;[low, lowClosed] = infinitySign(bound) ? [null, false] : [bound, closed]
    }
  }
  return [{ low, lowClosed, high, highClosed }]
}

/** What two single rays of opposite direction have in common; null for anything else, or for nothing in common. */
function intersection(a: RealSet, b: RealSet, work: Work): RealSet | null {
  if (a.length !== 1 || b.length !== 1) return null
  const [first, second] = a[0].low ? [a[0], b[0]] : [b[0], a[0]]
  if (!first.low || first.high || second.low || !second.high) return null
  const [low, high] = [realValue(first.low, work), realValue(second.high, work)]
  if (!low || !high || low.gte(high)) return null
  return [{ low: first.low, lowClosed: first.lowClosed, high: second.high, highClosed: second.highClosed }]
}

function sorted(set: RealSet, work: Work): RealSet {
  if (set.some(({ low, high }) => [low, high].some((end) => end && some(end, (node) => node.kind === 'symbol'))))
    return set
  const start = ({ low }: Interval) => (low ? realValue(low, work) : null)
  return [...set].sort((a, b) => {
    const [x, y] = [start(a), start(b)]
    if (x && y) return x.cmp(y)
    return x ? 1 : y ? -1 : 0
  })
}

export function sameRealSets(first: RealSet, second: RealSet, work: Work): boolean {
  if (first.length !== second.length || first.length > 50) return false
  const [a, b] = [sorted(first, work), sorted(second, work)]
  const sameEnd = (x: Node | null, y: Node | null) => (x && y ? compareValues(x, y, work) === 'same' : x === y)
  return a.every(
    (part, index) =>
      part.lowClosed === b[index].lowClosed &&
      part.highClosed === b[index].highClosed &&
      sameEnd(part.low, b[index].low) &&
      sameEnd(part.high, b[index].high),
  )
}

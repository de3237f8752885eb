/** The name that an answer may carry: "x = 5", "5 = x", "f(x) = x + 1", "x = 6/2 = 3", "x ∈ S". */
import type { Node } from './node'
import { compareValues } from './same-value'
import type { Work } from './work'

export interface Named {
  readonly name: string
  readonly sign: '=' | '∈'
  readonly value: Node
}

/** Splits name and value; null where there is no name. */
export function named(node: Node, work: Work): Named | null {
  if (node.kind !== 'relation') return null
  const { sides, signs } = node
  const first = nameOf(sides[0])
  if (signs.length === 1 && signs[0] === '∈' && first) return { name: first, sign: '∈', value: sides[1] }
  if (signs.some((sign) => sign !== '=')) return null
  if (first) {
    const value = sides[sides.length - 1]
    const isChain = sides.slice(1, -1).every((side) => compareValues(side, value, work) === 'same')
    return isChain ? { name: first, sign: '=', value } : null
  }
  const last = sides.length === 2 ? nameOf(sides[1]) : null
  return last ? { name: last, sign: '=', value: sides[0] } : null
}

/** The text of a node that stands for something rather than being a value; null for a value. */
export function nameOf(side: Node): string | null {
  const node = side.kind === 'paren' ? side.of : side
  switch (node.kind) {
    case 'symbol':
      return node.name
    case 'word':
      return node.text.toLowerCase()
    case 'quantity': {
      const inner = nameOf(node.of)
      return inner === null ? null : `${inner} ${node.unit}`
    }
    case 'call':
      return node.name === 'abs' ? nameOf(node.args[0]) : null
    case 'group':
      return joined(node.items, ',')
    case 'product': {
      const [head, ...rest] = node.factors
      const inner = head.kind === 'power' ? head.base : head
      const isApplied = rest.length === 1 && (rest[0].kind === 'paren' || rest[0].kind === 'group')
      if (inner.kind === 'symbol' && isApplied) return `${inner.name}()`
      // AB or m∠A is a label; xy is a product.
      const label = joined(node.factors, ' ')
      return label !== null && /(?:^| )(?:[A-Z]|\w\w)/.test(label) ? label : null
    }
    default:
      return null
  }
}

function joined(nodes: readonly Node[], separator: string): string | null {
  const names = nodes.map(nameOf)
  return names.includes(null) ? null : names.join(separator)
}

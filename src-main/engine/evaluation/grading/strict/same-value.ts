/** Whether two expressions have the same value: exactly where both are fractions, else to many digits at several points. */
import type { Decimal } from 'decimal.js'
import { arithmetic, Evaluator, guardDigits, Undecided, Undefined, type Arithmetic, type Value } from './evaluate'
import { bare, some, symbolsOf, type Node } from './node'
import { compareRationals, rational, type Rational } from './rational'
import type { Work } from './work'

export type Sameness =
  | 'same'
  | 'different'
  /** The same wherever all unknowns are positive, not everywhere. */
  | 'same for positive unknowns'
  /** Neither has a value. */
  | 'both undefined'
  /** Beyond the evaluator. */
  | 'undecided'

/** Sample points: the first ones all positive, then mixed signs. */
const samples = ['all positive', 'all positive', 'mixed', 'mixed', 'mixed'] as const

/** A fixed pseudo-random fraction for a name at a sample point, neither 0 nor 1, of size about 1. */
function sampleValue(name: string, sample: number): Rational {
  let hash = 2166136261 ^ (sample * 40503)
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) as number), 16777619)
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507) >>> 0
  const over = BigInt(100_003 + (hash % 300_000))
  const under = BigInt(150_001 + ((hash >>> 9) % 99_991))
  const negative = samples[sample] === 'mixed' && ((hash >>> 5) & 1) === 1
  return rational(negative ? -over : over, under)
}

function digitsOfPower(base: Node, exponent: Node): number {
  if (base.kind !== 'number' || exponent.kind !== 'number') return 0
  return base.text.length * Number(exponent.text)
}

/** Digits to work with: more for long literals and large powers, so that their last digits still count. */
function precisionFor(...nodes: Node[]): number {
  let digits = 0
  for (const node of nodes) {
    some(node, (inner) => {
      if (inner.kind === 'number') digits = Math.max(digits, inner.text.length)
      if (inner.kind === 'power') digits = Math.max(digits, digitsOfPower(bare(inner.base), bare(inner.exponent)))
      return false
    })
  }
  return Math.min(400, 60 + 2 * digits)
}

function close(D: Arithmetic, evaluator: Evaluator, a: Value, b: Value): boolean {
  if (a.kind === 'exact' && b.kind === 'exact') return compareRationals(a.value, b.value) === 0
  const [p, q] = [evaluator.complex(a), evaluator.complex(b)]
  const difference = D.max(p.re.sub(q.re).abs(), p.im.sub(q.im).abs())
  const size = D.max(p.re.abs(), p.im.abs(), q.re.abs(), q.im.abs())
  const noise = new D(10).pow(guardDigits - D.precision)
  return difference.lte(size.mul(noise)) || (size.lte(noise) && difference.lte(noise))
}

/** Throws OutOfWork past the bound. */
export function compareValues(first: Node, second: Node, work: Work): Sameness {
  const D = arithmetic(precisionFor(first, second))
  const hasUnknowns = symbolsOf(first).size > 0 || symbolsOf(second).size > 0
  let decided = 0
  let undefinedPoints = 0
  let differs = false
  for (let sample = 0; sample < (hasUnknowns ? samples.length : 1); sample++) {
    const evaluator = new Evaluator(D, work, (name) => sampleValue(name, sample))
    const a = valueOf(evaluator, first)
    const b = valueOf(evaluator, second)
    if (a === 'undecided' || b === 'undecided') continue
    if (a === 'undefined' && b === 'undefined') {
      undefinedPoints++
      continue
    }
    if (a === 'undefined' || b === 'undefined') return 'different'
    decided++
    if (close(D, evaluator, a, b)) continue
    if (samples[sample] === 'all positive' || !hasUnknowns) return 'different'
    differs = true
  }
  if (decided === 0) return undefinedPoints > 0 ? 'both undefined' : 'undecided'
  return differs ? 'same for positive unknowns' : 'same'
}

function valueOf(evaluator: Evaluator, node: Node): Value | 'undefined' | 'undecided' {
  try {
    return evaluator.value(node)
  } catch (error) {
    if (error instanceof Undefined) return 'undefined'
    if (error instanceof Undecided) return 'undecided'
    throw error
  }
}

/** The real value of an expression without unknowns, to 60 digits, for putting ends in order; null for none. */
export function realValue(node: Node, work: Work): Decimal | null {
  const evaluator = new Evaluator(arithmetic(60), work, () => {
    throw new Undecided()
  })
  const value = valueOf(evaluator, node)
  if (typeof value === 'string') return null
  const { re, im } = evaluator.complex(value)
  return im.isZero() ? re : null
}

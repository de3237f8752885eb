/** Exact fractions of arbitrary size, with a bound on how large they may grow. */

/** `d` is positive; small values are in lowest terms, large ones need not be. */
export interface Rational {
  readonly n: bigint
  readonly d: bigint
}

/** No exact value may need more bits than this (some 60,000 decimal digits); larger ones are left to decimals. */
const maxBits = 200_000
/** Reducing costs time quadratic in the size; beyond this many bits fractions stay as they are. */
const reduceBelowBits = 2_048

/** Thrown where a value would pass the bound. */
export class TooLarge extends Error {}

/** Size of an integer, to the next four bits. */
export const bits = (value: bigint) => value.toString(16).length * 4

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b]
  return a < 0n ? -a : a
}

/** n / d; throws RangeError for d = 0 and TooLarge past the bound. */
export function rational(n: bigint, d = 1n): Rational {
  if (d === 0n) throw new RangeError('division by zero')
  if (d < 0n) [n, d] = [-n, -d]
  if (d === 1n) {
    if (bits(n) > maxBits) throw new TooLarge()
    return { n, d }
  }
  const size = bits(n) + bits(d)
  if (size > 2 * maxBits) throw new TooLarge()
  if (size < reduceBelowBits) {
    const common = greatestCommonDivisor(n, d)
    if (common > 1n) return { n: n / common, d: d / common }
  }
  return { n, d }
}

export const zero = rational(0n)
export const one = rational(1n)

export const add = (a: Rational, b: Rational) => rational(a.n * b.d + b.n * a.d, a.d * b.d)
export const negate = (a: Rational): Rational => ({ n: -a.n, d: a.d })
export const subtract = (a: Rational, b: Rational) => add(a, negate(b))
export const multiply = (a: Rational, b: Rational) => rational(a.n * b.n, a.d * b.d)
/** Throws RangeError for b = 0. */
export const divide = (a: Rational, b: Rational) => rational(a.n * b.d, a.d * b.n)

/** -1, 0 or 1. */
export function compareRationals(a: Rational, b: Rational): number {
  const left = a.n * b.d
  const right = b.n * a.d
  return left < right ? -1 : left > right ? 1 : 0
}

export const isInteger = (a: Rational) => a.d === 1n || a.n % a.d === 0n

/** base ** exponent; throws RangeError for a negative power of 0 and TooLarge past the bound. */
export function power(base: Rational, exponent: bigint): Rational {
  const size = exponent < 0n ? -exponent : exponent
  const isUnit = base.d === 1n && (base.n === 1n || base.n === -1n || base.n === 0n)
  if (!isUnit && BigInt(bits(base.n) + bits(base.d)) * size > BigInt(2 * maxBits)) throw new TooLarge()
  const reduced = isUnit ? (size === 0n ? 0n : 2n - (size % 2n)) : size
  const raised = rational(base.n ** reduced, base.d ** reduced)
  return exponent < 0n ? divide(one, raised) : raised
}

/** Reads "12", "12.", ".5" or "12.50"; throws TooLarge past the bound. */
export function parseDecimal(text: string): Rational {
  const [whole, fraction = ''] = text.split('.')
  const digits = whole + fraction
  if (digits.length * 3.33 > maxBits) throw new TooLarge()
  return rational(BigInt(digits || '0'), 10n ** BigInt(fraction.length))
}

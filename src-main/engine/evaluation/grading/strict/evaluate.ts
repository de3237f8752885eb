/**
 * Values of expressions: exact fractions as long as possible, complex numbers of many decimal digits from there on.
 * Unknowns get values from outside, so that two expressions can be compared at the same points.
 */
import { Decimal } from 'decimal.js'
import type { Node } from './node'
import * as exact from './rational'
import type { Rational } from './rational'
import { OutOfWork, type Work } from './work'

type Real = InstanceType<typeof Decimal>
export type Arithmetic = typeof Decimal

export type Value =
  | { readonly kind: 'exact'; readonly value: Rational }
  | { readonly kind: 'complex'; readonly re: Real; readonly im: Real }

/** The expression has no value: division by zero, logarithm of 0. */
export class Undefined extends Error {}
/** The value is beyond this evaluator: an unknown function, a number too large, too much work. */
export class Undecided extends Error {}

/** Last digits of a value that rounding may have spoilt; comparisons leave them out. */
export const guardDigits = 25

export function arithmetic(digits: number): Arithmetic {
  return Decimal.clone({ precision: digits, rounding: Decimal.ROUND_HALF_EVEN, maxE: 1e6, minE: -1e6 })
}

export class Evaluator {
  /** Steps of one logarithm, exponential or angle function. */
  private readonly hardSteps: number

  constructor(
    private readonly D: Arithmetic,
    private readonly work: Work,
    private readonly unknowns: (name: string) => Rational,
  ) {
    this.hardSteps = Math.ceil(1_000 * (D.precision / 60) ** 2)
  }

  /** Throws Undefined or Undecided, and OutOfWork past the bound. */
  value(node: Node): Value {
    try {
      return this.of(node)
    } catch (error) {
      if (error instanceof Undefined || error instanceof Undecided || error instanceof OutOfWork) throw error
      if (error instanceof exact.TooLarge) throw new Undecided()
      if (error instanceof RangeError) throw new Undefined()
      // decimal.js: arguments too large for its table of pi.
      if (error instanceof Error && error.message.startsWith('[DecimalError]')) throw new Undecided()
      throw error
    }
  }

  private of(node: Node): Value {
    this.work.spend(5)
    switch (node.kind) {
      case 'number':
        return { kind: 'exact', value: node.value }
      case 'mixed':
        return { kind: 'exact', value: exact.add(node.whole, node.part) }
      case 'symbol':
        return { kind: 'exact', value: this.unknowns(node.name) }
      case 'constant':
        return this.constant(node.name)
      case 'paren':
        return this.of(node.of)
      case 'negative':
        return this.negative(this.of(node.of))
      case 'sum':
        return node.terms.map((term) => this.of(term)).reduce((a, b) => this.add(a, b))
      case 'product':
        return node.factors.map((factor) => this.of(factor)).reduce((a, b) => this.multiply(a, b))
      case 'quotient':
        return this.divide(this.of(node.over), this.of(node.under))
      case 'power':
        return this.power(this.of(node.base), this.of(node.exponent))
      case 'root':
        return this.power(this.of(node.of), { kind: 'exact', value: exact.rational(1n, BigInt(node.degree)) })
      case 'call':
        return this.call(
          node.name,
          node.args.map((arg) => this.of(arg)),
        )
      case 'quantity':
        return this.quantity(this.of(node.of), node.unit)
      case 'based':
        return { kind: 'exact', value: exact.rational(basedValue(node.digits, node.base)) }
      default:
        throw new Undecided()
    }
  }

  private constant(name: string): Value {
    const D = this.D
    const zero = new D(0)
    switch (name) {
      case 'pi':
        return { kind: 'complex', re: D.acos(-1), im: zero }
      case 'e':
        return { kind: 'complex', re: D.exp(1), im: zero }
      case 'i':
        return { kind: 'complex', re: zero, im: new D(1) }
      default:
        throw new Undecided()
    }
  }

  /** Inside an expression a percentage is a hundredth and an angle counts in radians. */
  private quantity(of: Value, unit: string): Value {
    if (unit === 'percent') return this.divide(of, whole(100))
    if (unit === 'degree') return this.divide(this.multiply(of, this.constant('pi')), whole(180))
    throw new Undecided()
  }

  /** The value as real and imaginary part. */
  complex(value: Value): { re: Real; im: Real } {
    if (value.kind === 'complex') return value
    return { re: this.decimal(value.value), im: new this.D(0) }
  }

  private decimal({ n, d }: Rational): Real {
    return this.bigDecimal(n).div(this.bigDecimal(d))
  }

  /** Only the leading bits of a very long integer are turned into decimals. */
  private bigDecimal(value: bigint): Real {
    const size = exact.bits(value)
    this.work.spend(10 + size / 500)
    const excess = size - 8 * this.D.precision
    if (excess <= 0) return new this.D(value.toString())
    return new this.D((value >> BigInt(excess)).toString()).mul(new this.D(2).pow(excess))
  }

  private make(re: Real, im: Real): Value {
    if (!re.isFinite() || !im.isFinite()) throw new Undecided()
    return { kind: 'complex', re, im }
  }

  /** An exact value, its size paid for. */
  private exact(value: Rational): Value {
    this.work.spend((exact.bits(value.n) + exact.bits(value.d)) / 200)
    return { kind: 'exact', value }
  }

  private negative(a: Value): Value {
    return a.kind === 'exact'
      ? { kind: 'exact', value: exact.negate(a.value) }
      : { kind: 'complex', re: a.re.neg(), im: a.im.neg() }
  }

  private add(a: Value, b: Value): Value {
    if (a.kind === 'exact' && b.kind === 'exact') return this.exact(exact.add(a.value, b.value))
    const [p, q] = [this.complex(a), this.complex(b)]
    return this.make(p.re.add(q.re), p.im.add(q.im))
  }

  private multiply(a: Value, b: Value): Value {
    if (a.kind === 'exact' && b.kind === 'exact') return this.exact(exact.multiply(a.value, b.value))
    const [p, q] = [this.complex(a), this.complex(b)]
    return this.make(p.re.mul(q.re).sub(p.im.mul(q.im)), p.re.mul(q.im).add(p.im.mul(q.re)))
  }

  private divide(a: Value, b: Value): Value {
    if (this.isZero(b)) throw new Undefined()
    if (a.kind === 'exact' && b.kind === 'exact') return this.exact(exact.divide(a.value, b.value))
    const [p, q] = [this.complex(a), this.complex(b)]
    const size = q.re.mul(q.re).add(q.im.mul(q.im))
    return this.make(p.re.mul(q.re).add(p.im.mul(q.im)).div(size), p.im.mul(q.re).sub(p.re.mul(q.im)).div(size))
  }

  /** Zero, or what rounding leaves of it. */
  private isZero(value: Value): boolean {
    if (value.kind === 'exact') return value.value.n === 0n
    const bound = new this.D(10).pow(guardDigits - this.D.precision)
    return value.re.abs().lt(bound) && value.im.abs().lt(bound)
  }

  private power(base: Value, exponent: Value): Value {
    if (exponent.kind === 'exact' && exact.isInteger(exponent.value)) {
      const count = exponent.value.n / exponent.value.d
      if (base.kind === 'exact') {
        try {
          if (count === 0n && base.value.n === 0n) throw new Undefined()
          return this.exact(exact.power(base.value, count))
        } catch (error) {
          if (error instanceof exact.TooLarge) throw new Undecided()
          throw error
        }
      }
      return this.integerPower(base, count)
    }
    if (this.isZero(base)) return whole(0)
    const { re, im } = this.complex(base)
    if (im.isZero() && exponent.kind === 'exact') {
      const { n, d } = exponent.value
      // Odd roots of negative numbers are meant as the real ones.
      if (re.isNeg() && d % 2n === 1n) {
        const size = this.realPower(re.neg(), exponent.value)
        return this.make(n % 2n === 0n ? size : size.neg(), new this.D(0))
      }
      if (!re.isNeg()) return this.make(this.realPower(re, exponent.value), new this.D(0))
      if (d === 2n) {
        // An odd power of a root of a negative number: i or -i times a real one.
        const size = this.realPower(re.neg(), exponent.value)
        const quarter = ((n % 4n) + 4n) % 4n
        return this.make(new this.D(0), quarter === 1n ? size : size.neg())
      }
    }
    return this.exponential(this.multiply(this.logarithm(base), exponent))
  }

  private realPower(base: Real, { n, d }: Rational): Real {
    this.work.spend(d === 2n ? this.hardSteps / 40 : 2 * this.hardSteps)
    const root = d === 2n ? base.sqrt() : base.ln().div(d.toString()).exp()
    return n === 1n ? root : root.pow(n.toString())
  }

  private integerPower(base: Value, count: bigint): Value {
    if (count < 0n) return this.divide(whole(1), this.integerPower(base, -count))
    if (count > 100_000n) throw new Undecided()
    let result: Value = whole(1)
    let square = base
    for (let left = count; left > 0n; left >>= 1n) {
      if (left & 1n) result = this.multiply(result, square)
      if (left > 1n) square = this.multiply(square, square)
    }
    return result
  }

  private logarithm(value: Value): Value {
    if (this.isZero(value)) throw new Undefined()
    this.work.spend(this.hardSteps)
    const { re, im } = this.complex(value)
    const size = re.mul(re).add(im.mul(im)).sqrt()
    return this.make(size.ln(), this.D.atan2(im, re))
  }

  private exponential(value: Value): Value {
    this.work.spend(this.hardSteps)
    const { re, im } = this.complex(value)
    if (re.abs().gt(1e6) || im.abs().gt(1e9)) throw new Undecided()
    const size = re.exp()
    return im.isZero() ? this.make(size, im) : this.make(size.mul(im.cos()), size.mul(im.sin()))
  }

  private real(value: Value): Real {
    const { re, im } = this.complex(value)
    if (!im.isZero()) throw new Undecided()
    return re
  }

  private integer(value: Value): bigint {
    if (value.kind !== 'exact' || !exact.isInteger(value.value)) throw new Undecided()
    return value.value.n / value.value.d
  }

  private call(name: string, args: readonly Value[]): Value {
    const D = this.D
    const [first, second] = args
    const plain = (re: Real) => {
      if (re.isNaN()) throw new Undefined()
      return this.make(re, new D(0))
    }
    const angle = (apply: (x: Real) => Real) => {
      this.work.spend(this.hardSteps)
      const x = this.real(first)
      if (x.abs().gt(1e9)) throw new Undecided()
      return plain(apply(x))
    }
    const one = whole(1)
    switch (name) {
      case 'abs':
        if (first.kind === 'exact') return first.value.n < 0n ? this.negative(first) : first
        return plain(first.re.mul(first.re).add(first.im.mul(first.im)).sqrt())
      case 'factorial':
        return this.factorial(this.integer(first))
      case 'binom':
        return this.binomial(this.integer(first), this.integer(second))
      case 'ln':
        return this.logarithm(first)
      case 'log':
      case 'lg':
        return this.divide(this.logarithm(first), this.logarithm(second ?? whole(10)))
      case 'exp':
        return this.exponential(first)
      case 'sin':
        return angle((x) => x.sin())
      case 'cos':
        return angle((x) => x.cos())
      case 'tan':
        return this.divide(this.call('sin', args), this.call('cos', args))
      case 'cot':
        return this.divide(this.call('cos', args), this.call('sin', args))
      case 'sec':
        return this.divide(one, this.call('cos', args))
      case 'csc':
        return this.divide(one, this.call('sin', args))
      case 'arcsin':
        return angle((x) => x.asin())
      case 'arccos':
        return angle((x) => x.acos())
      case 'arctan':
        return angle((x) => x.atan())
      case 'sinh':
        return angle((x) => x.sinh())
      case 'cosh':
        return angle((x) => x.cosh())
      case 'tanh':
        return angle((x) => x.tanh())
      case 'floor':
      case 'ceil':
        return this.rounded(name, first)
      case 'gcd':
      case 'lcm': {
        const numbers = args.map((arg) => this.integer(arg))
        return { kind: 'exact', value: exact.rational(numbers.reduce(name === 'gcd' ? gcd : lcm)) }
      }
      case 'max':
      case 'min': {
        const better = (a: Value, b: Value) => this.real(a).gt(this.real(b)) === (name === 'max')
        return args.reduce((a, b) => (better(a, b) ? a : b))
      }
      default:
        throw new Undecided()
    }
  }

  private rounded(name: 'floor' | 'ceil', value: Value): Value {
    if (value.kind === 'exact') {
      const { n, d } = value.value
      const down = n < 0n && n % d !== 0n ? n / d - 1n : n / d
      return { kind: 'exact', value: exact.rational(name === 'ceil' && n % d !== 0n ? down + 1n : down) }
    }
    const real = this.real(value)
    return this.make(name === 'floor' ? real.floor() : real.ceil(), new this.D(0))
  }

  private factorial(count: bigint): Value {
    if (count < 0n || count > 3_000n) throw new Undecided()
    this.work.spend(Number(count))
    let product = 1n
    for (let factor = 2n; factor <= count; factor++) product *= factor
    return { kind: 'exact', value: exact.rational(product) }
  }

  private binomial(n: bigint, k: bigint): Value {
    if (k < 0n || n < k || k > 3_000n || n > 1_000_000n) throw new Undecided()
    this.work.spend(20 * Number(k))
    let product = 1n
    for (let step = 1n; step <= k; step++) product = (product * (n - k + step)) / step
    return { kind: 'exact', value: exact.rational(product) }
  }
}

function whole(value: number): Value {
  return { kind: 'exact', value: exact.rational(BigInt(value)) }
}

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b]
  return a < 0n ? -a : a
}

function lcm(a: bigint, b: bigint): bigint {
  const common = gcd(a, b)
  return common === 0n ? 0n : (a / common) * b
}

/** The number that digits of a base (2 to 16) stand for. */
export function basedValue(digits: string, base: number): bigint {
  let value = 0n
  for (const digit of digits) value = value * BigInt(base) + BigInt(parseInt(digit, 36))
  return value
}

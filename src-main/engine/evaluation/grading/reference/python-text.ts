/**
 * Python's view of numbers in text, where it differs from JavaScript's: decimal digits, float printing, quotients of
 * integers. Reference grading compares strings that the reference made, so these have to agree character by character.
 */
import { isPythonSpace, PYTHON_SPACE } from '../../../text/python-text'

const allSpace = new RegExp(`[${PYTHON_SPACE}]+`, 'g')

export function removeSpace(text: string): string {
  return text.replace(allSpace, '')
}

/** First index at or after `from` that holds no white space. */
export function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && isPythonSpace(text[at])) at++
  return at
}

/** The end of the line that holds `from`: only a line feed ends a line. */
export function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at < 0 ? text.length : at
}

const decimalDigit = /\p{Nd}/u

/** The value of one character of category Nd; these come in runs of ten, so the start of the run is its zero. */
function digitValue(character: string): number {
  const code = character.codePointAt(0) as number
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  // Mathematical digits are five runs of ten without a gap, beginning at U+1D7CE.
  if (code >= 0x1d7ce && code <= 0x1d7ff) return (code - 0x1d7ce) % 10
  let zero = code
  while (code - zero < 9 && decimalDigit.test(String.fromCodePoint(zero - 1))) zero--
  return code - zero
}

/** Python refuses to read a decimal number of more digits than this (`int` of text, since 3.10.7). */
const maxIntegerDigits = 4300

/** Raised where the reference's Python would raise; the reference's run ends there, ours grades the row as wrong. */
export class PythonError extends Error {
  override readonly name = 'PythonError'
}

/** Python's `int(text)` for an optional sign and digits of any script. Throws PythonError past 4,300 digits. */
export function parseInteger(text: string): bigint {
  const sign = /^[+-]/.test(text) ? text[0] : ''
  const digits = [...text.slice(sign.length)]
  if (digits.length > maxIntegerDigits) throw new PythonError(`ValueError: an integer of ${digits.length} digits`)
  const value = BigInt(digits.map(digitValue).join(''))
  return sign === '-' ? -value : value
}

const bitLength = (value: bigint) => value.toString(2).length

/**
 * Python's `a / b` for integers: the nearest double, ties to even, also where a or b alone has none.
 * Throws PythonError where the quotient is too large; b must not be 0.
 */
export function divideIntegers(a: bigint, b: bigint): number {
  const negative = a < 0n !== b < 0n
  const over = a < 0n ? -a : a
  const under = b < 0n ? -b : b
  if (over === 0n) return negative ? -0 : 0
  // The quotient in units of 2^shift; -1074 is the exponent of the smallest double.
  const shift = Math.max(bitLength(over) - bitLength(under) - 66, -1074)
  const scaledOver = shift < 0 ? over << BigInt(-shift) : over
  const scaledUnder = shift > 0 ? under << BigInt(shift) : under
  let quotient = scaledOver / scaledUnder
  const rest = scaledOver % scaledUnder
  if (bitLength(quotient) > 54) {
    // The bits below the 54th only say on which side of a tie the quotient lies.
    if (rest > 0n) quotient |= 1n
  } else if (rest * 2n > scaledUnder || (rest * 2n === scaledUnder && (quotient & 1n) === 1n)) {
    quotient += 1n
  }
  // 2^shift may pass the largest double where the product does not: split it.
  const half = Math.trunc(shift / 2)
  const value = Number(quotient) * 2 ** half * 2 ** (shift - half)
  if (!Number.isFinite(value)) throw new PythonError('OverflowError: integer division result too large for a float')
  return negative ? -value : value
}

/** Python's `repr` of a finite float: shortest digits, an exponent below 1e-4 and from 1e16, ".0" on whole numbers. */
export function floatText(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa, exponentText] = Math.abs(value).toExponential().split('e')
  const sign = value < 0 ? '-' : ''
  const exponent = Number(exponentText)
  const digits = mantissa.replace('.', '')
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${size}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

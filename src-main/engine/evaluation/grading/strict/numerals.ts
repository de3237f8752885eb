/** Numbers written in special ways: with a base, with digits that repeat for ever. */
import { Unreadable } from './cursor'
import type { Node } from './node'
import { rational, type Rational } from './rational'

const baseWords = 'two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'.split(
  ' ',
)

/** `label` is the base in digits or as a word, perhaps in parentheses. */
export function based(digits: string, label: string): Node {
  const plain = label.replace(/^\((.*)\)$/, '$1')
  const base = /^\d{1,2}$/.test(plain) ? Number(plain) : baseWords.indexOf(plain.toLowerCase()) + 2
  const valid = base >= 2 && base <= 16 && [...digits].every((digit) => parseInt(digit, 36) < base)
  if (!valid) throw new Unreadable()
  return { kind: 'based', digits, base }
}

/** The value of a decimal that goes on as its last digits do: 0.33… or 0.1212…; null where they do not repeat. */
export function continued(text: string): Rational | null {
  const match = /^(\d*\.\d*?)(\d{1,20})\2+$/.exec(text)
  return match ? repeating(match[1], match[2]) : null
}

/** 0.1 and 6 repeated: (0.1 then all of it once) over nines and zeros. */
export function repeating(text: string, repeated: string): Rational {
  const [whole, fraction] = text.split('.')
  const fixed = BigInt(`${whole || '0'}${fraction}` || '0')
  const once = BigInt(`${whole || '0'}${fraction}${repeated}`)
  return rational(once - fixed, 10n ** BigInt(fraction.length) * (10n ** BigInt(repeated.length) - 1n))
}

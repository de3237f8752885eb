/** Units: the names people write for them, and how those of one kind convert. */
import { rational, type Rational } from './rational'

interface Unit {
  readonly name: string
  /** Units of one dimension convert into each other. */
  readonly dimension: string
  /** Size in the dimension's first unit; null where there is no fixed rate (currencies). */
  readonly size: Rational | null
}

const table: Record<string, [names: string, over: bigint | null, under?: bigint][]> = {
  length: [
    ['m meter metre', 1n],
    ['km kilometer kilometre', 1000n],
    ['cm centimeter centimetre', 1n, 100n],
    ['mm millimeter millimetre', 1n, 1000n],
    ['inch in inches', 254n, 10000n],
    ['foot ft feet', 3048n, 10000n],
    ['yard yd', 9144n, 10000n],
    ['mile mi', 1609344n, 1000n],
  ],
  mass: [
    ['kg kilogram kilo', 1n],
    ['g gram', 1n, 1000n],
    ['mg milligram', 1n, 1000000n],
    ['tonne', 1000n],
    ['ton', null],
    ['pound lb lbs', 45359237n, 100000000n],
    ['ounce oz', 45359237n, 1600000000n],
  ],
  time: [
    ['second s sec', 1n],
    ['minute min', 60n],
    ['hour h hr', 3600n],
    ['day', 86400n],
    ['week', 604800n],
    ['month', null],
    ['year yr', null],
  ],
  volume: [
    ['liter l litre', 1n],
    ['ml milliliter millilitre', 1n, 1000n],
    ['gallon gal', 3785411784n, 1000000000n],
    ['quart', 946352946n, 1000000000n],
    ['pint', 473176473n, 1000000000n],
    ['cup', null],
  ],
  angle: [
    ['degree deg', 1n],
    ['radian rad', null],
  ],
  money: [
    ['dollar usd buck', 1n],
    ['cent', 1n, 100n],
    ['euro eur', null],
    ['gbp sterling', null],
    ['yen', null],
    ['rupee', null],
  ],
  share: [['percent pct', 1n, 100n]],
  temperature: [
    ['celsius', null],
    ['fahrenheit', null],
    ['kelvin', null],
  ],
}

const byName = new Map<string, Unit>()
for (const [dimension, units] of Object.entries(table)) {
  for (const [names, over, under] of units) {
    const [name, ...others] = names.split(' ')
    const unit: Unit = { name, dimension, size: over === null ? null : rational(over, under) }
    for (const written of [name, ...others]) byName.set(written, unit)
  }
}

function singular(word: string): string {
  if (byName.has(word)) return word
  if (word.endsWith('es') && byName.has(word.slice(0, -2))) return word.slice(0, -2)
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}

/** Whether the word is a unit that this table knows (in any number). */
export function isUnitWord(word: string): boolean {
  return byName.has(singular(word.toLowerCase()))
}

const powers = new Map([
  ['square', '^2'],
  ['sq', '^2'],
  ['squared', '^2'],
  ['cubic', '^3'],
  ['cubed', '^3'],
])

/**
 * One spelling for a unit phrase such as "square inches", "inches^2", "miles per hour", "km/h" or "apples". Words that no
 * table knows stay as they are, in the singular.
 */
export function unitName(phrase: string): string {
  const words = phrase
    .toLowerCase()
    .replaceAll('mph', 'mile per hour')
    .replaceAll('/', ' per ')
    .replaceAll('.', '')
    .replace(/\s*\^\s*/g, '^')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== 'us')
  const parts: string[] = []
  let pending = ''
  for (const word of words) {
    const [stem, exponent] = word.split('^')
    const raised = powers.get(stem)
    if (raised && parts.length > 0 && stem.endsWith('d')) parts[parts.length - 1] += raised
    else if (raised) pending = raised
    else {
      const known = byName.get(singular(stem))
      parts.push((known?.name ?? singular(stem)) + (exponent ? `^${exponent}` : '') + pending)
      pending = ''
    }
  }
  return parts.join(' ')
}

/** How one unit (as `unitName` gives it) stands to another. */
export type UnitMatch =
  | { readonly kind: 'same' }
  /** Multiply a number of the second unit by `factor` for the first. */
  | { readonly kind: 'convertible'; readonly factor: Rational }
  /** Two currencies, or one phrase within the other. */
  | { readonly kind: 'related' }
  | { readonly kind: 'other' }

/** Whether the longer phrase is the shorter one with words around it ("red apple" for "apple"), not a rate. */
function isLoosely(short: string, long: string): boolean {
  return !long.includes(' per ') && ` ${long} `.includes(` ${short} `)
}

export function matchUnits(first: string, second: string): UnitMatch {
  if (first === second) return { kind: 'same' }
  if (isLoosely(first, second) || isLoosely(second, first)) return { kind: 'related' }
  const [firstStem, firstPower = '1'] = first.split('^')
  const [secondStem, secondPower = '1'] = second.split('^')
  const a = byName.get(firstStem)
  const b = byName.get(secondStem)
  if (!a || !b || a.dimension !== b.dimension || firstPower !== secondPower) return { kind: 'other' }
  if (!a.size || !b.size) return { kind: a.dimension === 'money' ? 'related' : 'other' }
  const exponent = BigInt(/^[123]$/.test(firstPower) ? firstPower : '1')
  return { kind: 'convertible', factor: rational((b.size.n * a.size.d) ** exponent, (b.size.d * a.size.n) ** exponent) }
}

/**
 * How numbers, sizes, times and durations are written on screen. Every function is pure; "now" is passed in.
 * Spaces between number and unit are no-break spaces, so that a quantity never splits over two lines.
 */

const nbsp = '\u00a0'
const dash = '–'
/** From this size on, a tick is written in this unit. */
const largeUnits = [
  { from: 1e9, unit: 1e9, letter: 'G' },
  { from: 1e6, unit: 1e6, letter: 'M' },
  { from: 1e4, unit: 1e3, letter: 'k' },
] as const

/** A plain count with thin groups: 12 345. */
export function formatCount(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f')
}

/** About three significant digits, never in exponent form between 1e-3 and 1e9: 0.0123, 4.56, 789, 582 101, 1.2e-5. */
export function formatNumber(value: number, digits = 3): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞'
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e4 && size < 1e9) return minus(value < 0 ? `-${formatCount(size)}` : formatCount(size))
  if (size >= 1e9 || size < 1e-3) return minus(value.toExponential(digits - 1).replace('e+', 'e'))
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)))
  return minus(value.toFixed(decimals))
}

/** A value of the data or a count of it: whole numbers whole, others with about three significant digits. */
export function formatValue(value: number): string {
  if (!Number.isInteger(value) || Math.abs(value) >= 1e9) return formatNumber(value)
  return minus(`${value < 0 ? '-' : ''}${formatCount(Math.abs(value))}`)
}

/** A number on an axis: no more digits than it needs. */
export function formatTick(value: number): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  const large = largeUnits.find(({ from }) => size >= from)
  if (large) return `${formatTick(value / large.unit)}${nbsp}${large.letter}`
  const text = formatNumber(value)
  return text.includes('.') ? text.replace(/\.?0+(?=e|$)/, '') : text
}

/** A fraction as percent without the sign: 0.98333 -> "98.3". */
export function formatPercent(fraction: number, decimals = 1): string {
  return minus((fraction * 100).toFixed(decimals))
}

/** A held-out metric: a fraction as whole percent, anything else as a number. */
export function formatMeasure(value: number): string {
  return Math.abs(value) <= 1 ? `${formatPercent(value, 0)}${nbsp}%` : formatNumber(value)
}

/** Binary sizes as people say them: 9.8 GB (1 GB = 1024^3 bytes). */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = Math.max(0, bytes)
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  const decimals = unit === 0 || value >= 100 ? 0 : 1
  return `${value.toFixed(decimals)}${nbsp}${units[unit]}`
}

/** Seconds as a person would say them: "8 s", "3 min", "1 h 20 min", "2 d 4 h". */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return dash
  if (seconds < 1) return `under 1${nbsp}s`
  if (seconds < 59.5) return `${Math.round(seconds)}${nbsp}s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes}${nbsp}min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return pair(hours, 'h', minutes % 60, 'min')
  const wholeHours = Math.round(seconds / 3600)
  return pair(Math.floor(wholeHours / 24), 'd', wholeHours % 24, 'h')
}

/** Duration to the second, for hover: "1:02:03" or "2:05". */
export function formatClock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  const rest = String(whole % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}

/** How long ago `time` was (both milliseconds since 1970). */
export function formatAgo(time: number, now: number): string {
  const seconds = (now - time) / 1000
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${Math.max(1, Math.floor(seconds / 60))}${nbsp}min ago`
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}${nbsp}h ago`
  const days = Math.floor(seconds / 86400)
  if (days === 1) return 'yesterday'
  if (days < 30) return `${days} days ago`
  return new Date(time).toISOString().slice(0, 10)
}

/** The exact moment in local time: 2026-11-30 20:41:16. */
export function formatMoment(time: number): string {
  const at = new Date(time)
  const two = (n: number): string => String(n).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** A rate with its unit: "12 steps/s", or per minute where that reads better: "4.2 steps/min". */
export function formatRate(perSecond: number, unit: string): string {
  if (perSecond >= 1) return `${formatNumber(perSecond, perSecond >= 100 ? 3 : 2)}${nbsp}${unit}/s`
  if (perSecond * 60 >= 1) return `${formatNumber(perSecond * 60, 2)}${nbsp}${unit}/min`
  return `${formatNumber(perSecond * 3600, 2)}${nbsp}${unit}/h`
}

/** "1 run", "3 runs". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)}${nbsp}${count === 1 ? one : many}`
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  const head = `${large}${nbsp}${largeUnit}`
  return small === 0 ? head : `${head}${nbsp}${small}${nbsp}${smallUnit}`
}

/** A true minus sign has the width of a digit. */
function minus(text: string): string {
  return text.replace(/^-/, '−').replace('e-', 'e−')
}

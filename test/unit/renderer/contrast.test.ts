/** WCAG 2.2 contrast of the colours in tokens.css: text pairs at least 4.5, lines of charts and controls at least 3. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const css = readFileSync(new URL('../../../src-renderer/styles/tokens.css', import.meta.url), 'utf8')
const colours = new Map<string, { light: string; dark: string }>()
for (const [, name, light, dark] of css.matchAll(/--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)) {
  colours.set(name, { light, dark })
}
for (const [, name, both] of css.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g))
  colours.set(name, { light: both, dark: both })

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = parseInt(hex.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}

const grounds = ['bg', 'bg-side', 'bg-raised', 'bg-sunken', 'bg-hover', 'bg-selected']
const textPairs: [string, string][] = [
  ...['text', 'text-2', 'text-3', 'accent', 'green', 'amber', 'red'].flatMap((text) =>
    grounds.map((ground): [string, string] => [text, ground]),
  ),
  ['text', 'bg-chip'],
  ['text-2', 'bg-chip'],
  ['amber', 'amber-soft'],
  ['text', 'amber-soft'],
  ['text-2', 'amber-soft'],
  ['red', 'red-soft'],
  ['text', 'red-soft'],
  ['text-2', 'red-soft'],
  ['on-accent', 'accent-solid'],
  ['on-accent', 'accent-solid-hover'],
  ['on-accent', 'danger-solid'],
  ['on-accent', 'danger-solid-hover'],
  ['text-tooltip', 'bg-tooltip'],
  ...[1, 2, 3, 4].map((n): [string, string] => ['on-slot', `slot-${n}`]),
]
const graphicPairs: [string, string][] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((n): [string, string] => [`chart-${n}`, 'bg']),
  ['line-control', 'bg'],
  ['focus', 'bg'],
  ['green-solid', 'bg'],
  ['amber-solid', 'bg'],
  ['red-solid', 'bg'],
]

describe.each(['light', 'dark'] as const)('contrast, %s', (scheme) => {
  const ratio = ([front, back]: [string, string]): number => {
    const a = colours.get(front)
    const b = colours.get(back)
    if (!a || !b) throw new Error(`tokens.css has no --${a ? back : front}`)
    return contrast(a[scheme], b[scheme])
  }
  it.each(textPairs)('%s on %s reads well', (...pair) => expect(ratio(pair)).toBeGreaterThanOrEqual(4.5))
  it.each(graphicPairs)('%s on %s can be seen', (...pair) => expect(ratio(pair)).toBeGreaterThanOrEqual(3))
})

it('knows the extremes', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
})

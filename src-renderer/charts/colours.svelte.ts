/** The chart colours of tokens.css as the canvas needs them, in the scheme that is shown now. */
import { createSubscriber } from 'svelte/reactivity'

export interface ChartColours {
  readonly series: readonly string[]
  readonly text: string
  readonly quiet: string
  readonly grid: string
  readonly line: string
  readonly ground: string
  readonly accent: string
  readonly tooltip: string
  readonly tooltipText: string
  readonly font: string
}

/** At most so many series in one chart. */
export const seriesLimit = 8

class Colours {
  #subscribe = createSubscriber((update) => {
    const refresh = (): void => {
      this.#cache = undefined
      update()
    }
    const media = matchMedia('(prefers-color-scheme: dark)')
    const observer = new MutationObserver(refresh)
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    media.addEventListener('change', refresh)
    return () => {
      observer.disconnect()
      media.removeEventListener('change', refresh)
    }
  })
  #cache: ChartColours | undefined

  get now(): ChartColours {
    this.#subscribe()
    return (this.#cache ??= read())
  }
}

export const colours = new Colours()

/** light-dark() is resolved only in a used value, so a hidden element carries each variable as its colour. */
function read(): ChartColours {
  const probe = document.createElement('span')
  probe.hidden = true
  document.body.append(probe)
  const resolve = (name: string): string => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const result: ChartColours = {
    series: Array.from({ length: seriesLimit }, (_, i) => resolve(`chart-${i + 1}`)),
    text: resolve('text'),
    quiet: resolve('text-3'),
    grid: resolve('chart-grid'),
    line: resolve('line-strong'),
    ground: resolve('bg'),
    accent: resolve('accent'),
    tooltip: resolve('bg-tooltip'),
    tooltipText: resolve('text-tooltip'),
    font: getComputedStyle(document.body).fontFamily,
  }
  probe.remove()
  return result
}

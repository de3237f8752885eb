/** Settings held by main, and what the page asked main to remember about itself (filters, tabs, widths). */
import type { Appearance, AppInfo, SettingsView } from '../../src-main/bridge/contract'
import { ask, listen } from './bridge'
import { Resource } from './resource.svelte'

class SettingsManager {
  #settings = new Resource<SettingsView>()
  #info = new Resource<AppInfo>()
  #remembered = $state.raw<Readonly<Record<string, string>>>({})
  #pending = new Map<string, { text: string; timer: ReturnType<typeof setTimeout> }>()

  get settings(): SettingsView | undefined {
    return this.#settings.value
  }

  get info(): AppInfo | undefined {
    return this.#info.value
  }

  get error() {
    return this.#settings.error ?? this.#info.error
  }

  async start(): Promise<void> {
    listen('settings/changed', ({ settings }) => this.#take(settings))
    window.addEventListener('pagehide', () => this.flush())
    await Promise.all([this.#info.load(() => ask('app/info', {})), this.#settings.load(() => ask('settings/get', {}))])
    this.#remembered = { ...this.#settings.value?.view, ...this.#remembered }
    this.#applyAppearance()
  }

  async setAppearance(appearance: Appearance): Promise<void> {
    this.#take(await ask('settings/appearance', { appearance }))
  }

  /** null: the usual hub. */
  async setHub(endpoint: string | null): Promise<void> {
    this.#take(await ask('settings/hub', { endpoint }))
  }

  async chooseWorkspace(): Promise<void> {
    this.#take(await ask('settings/chooseWorkspace', {}))
  }

  /** What was remembered under `key`; `fallback` where nothing was, or where it cannot be read any more. */
  recall<T>(key: string, fallback: T, accepts: (value: unknown) => value is T): T {
    const text = this.#remembered[key]
    if (text === undefined) return fallback
    try {
      const value: unknown = JSON.parse(text)
      return accepts(value) ? value : fallback
    } catch {
      return fallback
    }
  }

  /** Remembers a small JSON value; main hears of it half a second after the last change, or when the page goes. */
  remember(key: string, value: unknown): void {
    const text = JSON.stringify(value)
    if (this.#remembered[key] === text) return
    this.#remembered = { ...this.#remembered, [key]: text }
    clearTimeout(this.#pending.get(key)?.timer)
    this.#pending.set(key, { text, timer: setTimeout(() => this.#send(key), 500) })
  }

  /** Tells main at once what is still to be remembered. */
  flush(): void {
    for (const key of [...this.#pending.keys()]) this.#send(key)
  }

  #send(key: string): void {
    const pending = this.#pending.get(key)
    if (!pending) return
    clearTimeout(pending.timer)
    this.#pending.delete(key)
    // Losing a remembered filter is no reason to trouble anybody.
    window.studio.request('settings/view', { key, value: pending.text }).catch(() => undefined)
  }

  #take(settings: SettingsView): void {
    this.#settings.put(settings)
    this.#applyAppearance()
  }

  #applyAppearance(): void {
    const appearance = this.#settings.value?.appearance ?? 'system'
    if (appearance === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = appearance
  }
}

export const settingsManager = new SettingsManager()

export const isText = (value: unknown): value is string => typeof value === 'string'
export const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
export const isFlag = (value: unknown): value is boolean => typeof value === 'boolean'

/** The search on the hub: what was asked stays as it was left. */
import type { FoundRepository, RepositoryKind, StudioError } from '../../src-main/bridge/contract'
import { ask } from './bridge'
import { Resource } from './resource.svelte'
import { isText, settingsManager } from './settings-manager.svelte'

const limit = 50
/** Letters that follow each other faster than this are one question. */
const pauseMs = 350

class HubSearch {
  #kind = $state<RepositoryKind>('model')
  #query = $state('')
  #found = new Resource<readonly FoundRepository[]>()
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Letters are still being typed. */
  #typing = $state(false)

  get kind(): RepositoryKind {
    return this.#kind
  }

  get query(): string {
    return this.#query
  }

  get found(): readonly FoundRepository[] | undefined {
    return this.#found.value
  }

  get error(): StudioError | undefined {
    return this.#found.error
  }

  get loading(): boolean {
    return this.#found.loading || this.#typing
  }

  /** More may have matched than was asked for. */
  get cut(): boolean {
    return (this.#found.value?.length ?? 0) >= limit
  }

  /** Takes up what was searched for last. */
  start(): void {
    this.#kind = settingsManager.recall('models/search-kind', 'model', isKind)
    this.#query = settingsManager.recall('models/search', '', isText)
  }

  setKind(kind: RepositoryKind): void {
    if (kind === this.#kind) return
    this.#kind = kind
    settingsManager.remember('models/search-kind', kind)
    this.#found.clear()
    void this.ask()
  }

  setQuery(query: string): void {
    this.#query = query.slice(0, 200)
    settingsManager.remember('models/search', this.#query)
    clearTimeout(this.#timer)
    this.#typing = true
    this.#timer = setTimeout(() => void this.ask(), pauseMs)
  }

  async ask(): Promise<void> {
    clearTimeout(this.#timer)
    this.#typing = false
    const [kind, query] = [this.#kind, this.#query.trim()]
    await this.#found.load(async () => (await ask('hub/search', { kind, query, limit })).found)
  }
}

export const hubSearch = new HubSearch()

export function isKind(value: unknown): value is RepositoryKind {
  return value === 'model' || value === 'dataset'
}

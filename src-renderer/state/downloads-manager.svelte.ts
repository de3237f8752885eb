/** The queue of downloads, for whatever screen is shown. */
import { SvelteMap } from 'svelte/reactivity'
import type { DownloadView, RepositoryKind, StudioError } from '../../src-main/bridge/contract'
import { isUnderWay } from '../lib/model-words'
import { asError, ask, listen } from './bridge'
import { noticeManager } from './notice-manager.svelte'

class DownloadsManager {
  #downloads = new SvelteMap<string, DownloadView>()
  #loaded = $state(false)
  #error = $state.raw<StudioError | undefined>()
  /** Under way first, then queued by their place, then what stopped short, then done, newest first. */
  #all = $derived([...this.#downloads.values()].sort((a, b) => rank(a) - rank(b) || order(a, b)))
  #open = $derived(this.#all.filter(({ state }) => isUnderWay(state)))

  get loaded(): boolean {
    return this.#loaded
  }

  get error(): StudioError | undefined {
    return this.#error
  }

  get all(): readonly DownloadView[] {
    return this.#all
  }

  /** Those that go on by themselves. */
  get open(): readonly DownloadView[] {
    return this.#open
  }

  /** The newest of a repository at one of these revisions (as they were asked for) or commits. */
  of(kind: RepositoryKind, name: string, at: readonly (string | undefined)[]): DownloadView | undefined {
    return this.#all.find(
      (download) =>
        download.kind === kind &&
        download.name === name &&
        (at.includes(download.revision) || (download.commit !== null && at.includes(download.commit))),
    )
  }

  start(): void {
    listen('download/changed', ({ download }) => {
      const before = this.#downloads.get(download.id)
      this.#downloads.set(download.id, download)
      if (download.state === 'done' && before !== undefined && before.state !== 'done')
        noticeManager.confirm(`${download.name} is in the library`)
    })
    listen('download/removed', ({ id }) => this.#downloads.delete(id))
    void this.load()
  }

  async load(): Promise<void> {
    try {
      const { downloads } = await ask('downloads/list', {})
      this.#downloads.clear()
      for (const download of downloads) this.#downloads.set(download.id, download)
      this.#error = undefined
    } catch (thrown) {
      this.#error = asError(thrown)
    } finally {
      this.#loaded = true
    }
  }

  async add(kind: RepositoryKind, name: string, revision: string): Promise<void> {
    this.#put(await ask('downloads/add', { kind, name, revision }))
  }

  /** What is damaged of a model comes again. */
  async repair(model: string): Promise<void> {
    this.#put(await ask('models/repair', { id: model }))
  }

  async pause({ id }: DownloadView): Promise<void> {
    this.#put(await ask('downloads/pause', { id }))
  }

  /** Also tries a failed one again. */
  async resume({ id }: DownloadView): Promise<void> {
    this.#put(await ask('downloads/resume', { id }))
  }

  /** Takes it off the list with what came in, unless it is done. Bytes freed. */
  async remove({ id }: DownloadView): Promise<number> {
    const { bytes } = await ask('downloads/remove', { id })
    this.#downloads.delete(id)
    return bytes
  }

  #put(download: DownloadView): void {
    this.#downloads.set(download.id, download)
  }
}

function rank({ state }: DownloadView): number {
  if (state === 'done') return 3
  if (state === 'queued') return 1
  return isUnderWay(state) ? 0 : 2
}

function order(a: DownloadView, b: DownloadView): number {
  if (a.state === 'queued') return (a.queuePosition ?? 0) - (b.queuePosition ?? 0)
  return isUnderWay(a.state) ? a.created - b.created : (b.ended ?? b.created) - (a.ended ?? a.created)
}

export const downloadsManager = new DownloadsManager()

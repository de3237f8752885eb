/**
 * Downloads into the library, two at a time, the others in the order in which they were asked for. The list outlives the app; what came
 * in of a file does too (hub/download), so that nothing is fetched twice.
 */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { DownloadView, StudioError } from '../bridge/contract'
import type { Send } from '../bridge/publish'
import { errorForPage } from '../bridge/serve'
import { UserError } from '../engine/errors'
import { folderOfCommit, folderOfRepository, type RepositoryKind } from '../hub/address'
import type { Hub } from '../hub/connection'
import { discardDownload, download, type DownloadEvent, OtherCommit, planDownload } from '../hub/download/download'
import { readDownloadRecord } from '../hub/download/record'
import { DownloadRate } from './download-rate'
import { type ListedDownload, readDownloads, writeDownloads } from './download-record'
import { folderBytes, inside } from './files'
import type { Places } from './places'

const atOnce = 2
/** Least milliseconds between two events of one download. */
const pause = 250

interface Entry {
  listed: ListedDownload
  state: DownloadView['state']
  files: DownloadView['files']
  note: string | null
  rate: DownloadRate
  /** Ends it; set while it is under way. */
  stop: AbortController | null
  /** Fulfilled when it is not under way any more. */
  settled: Promise<void>
  /** It is being taken from the list: nothing else is done with it. */
  leaving: boolean
  lastSent: number
}

export interface QueueOptions {
  readonly places: Places
  /** The hub as the settings and keys are now. Throws UserError. */
  readonly hub: () => Promise<Hub>
  readonly send: Send
  readonly onProblem: (error: unknown) => void
}

export interface Wanted {
  readonly kind: RepositoryKind
  readonly name: string
  readonly revision: string
}

/** What a folder of the library was downloaded from, and which of its files are to come again. */
export interface Repair extends Wanted {
  readonly commit: string
  readonly folder: string
  readonly replace: readonly string[]
}

export class DownloadQueue {
  private entries: Entry[] = []
  private writing: Promise<void> = Promise.resolve()
  private closed = false

  constructor(private readonly options: QueueOptions) {}

  /** Takes up the list that the last session left. */
  async start(): Promise<void> {
    this.entries = (await readDownloads(this.file, this.options.onProblem)).map((listed) =>
      entryOf(listed, listed.state),
    )
  }

  /** Under way first, then queued, then the others, newest first. */
  list(): DownloadView[] {
    const rank = ({ state, stop }: Entry): number => (stop ? 0 : state === 'queued' ? 1 : 2)
    return [...this.entries]
      .sort((a, b) => rank(a) - rank(b) || (rank(a) === 2 ? b.listed.created - a.listed.created : 0))
      .map((entry) => this.view(entry))
  }

  /** Queues a repository; one that is in the list already, at this revision, goes on instead. */
  async add({ kind, name, revision }: Wanted): Promise<DownloadView> {
    const folder = folderOfRepository(name)
    const known = this.entries.find(
      ({ listed, leaving }) => !leaving && listed.kind === kind && listed.name === name && listed.revision === revision,
    )
    if (known && known.state !== 'done') return this.resume(known.listed.id)
    if (known) {
      this.entries = this.entries.filter((e) => e !== known)
      this.options.send('download/removed', { id: known.listed.id })
    }
    return this.enqueue({ kind, name, revision, commit: null, folder })
  }

  /** Queues the files of a finished download that are damaged or missing; the others are left as they are. */
  async repair(wanted: Repair): Promise<DownloadView> {
    const known = this.entries.find(
      ({ listed, leaving }) => !leaving && listed.kind === wanted.kind && listed.folder === wanted.folder,
    )
    if (known && known.state !== 'done') {
      known.listed = { ...known.listed, replace: [...wanted.replace] }
      return this.resume(known.listed.id)
    }
    if (known) {
      this.entries = this.entries.filter((e) => e !== known)
      this.options.send('download/removed', { id: known.listed.id })
    }
    const { kind, name, revision, commit, folder, replace } = wanted
    return this.enqueue({ kind, name, revision, commit, folder, replace: [...replace] })
  }

  private async enqueue(
    wanted: Pick<ListedDownload, 'kind' | 'name' | 'revision' | 'commit' | 'folder' | 'replace'>,
  ): Promise<DownloadView> {
    const listed: ListedDownload = {
      ...wanted,
      ...{ id: randomBytes(6).toString('hex'), state: 'paused', bytes: 0, total: null },
      ...{ error: null, created: Date.now(), ended: null },
    }
    const entry = entryOf(listed, 'queued')
    this.entries.push(entry)
    await this.keep()
    this.tell(entry)
    this.next()
    return this.view(entry)
  }

  async pause(id: string): Promise<DownloadView> {
    const entry = this.get(id)
    if (entry.stop) {
      entry.stop.abort()
      await entry.settled
    } else if (entry.state === 'queued') this.change(entry, 'paused')
    return this.view(entry)
  }

  async resume(id: string): Promise<DownloadView> {
    const entry = this.get(id)
    // what was asked last counts, also while a pause takes effect
    if (entry.stop?.signal.aborted) await entry.settled
    if (!entry.leaving && (entry.state === 'paused' || entry.state === 'failed')) {
      entry.listed = { ...entry.listed, error: null, ended: null }
      // resumed downloads stand at the end of the queue
      this.entries = [...this.entries.filter((other) => other !== entry), entry]
      this.change(entry, 'queued')
      this.next()
    }
    return this.view(entry)
  }

  /** Bytes freed: what an unfinished download left goes, one that is done only leaves the list. */
  async remove(id: string): Promise<number> {
    const entry = this.get(id)
    entry.leaving = true
    let bytes = 0
    try {
      entry.stop?.abort()
      await entry.settled
      const folder = this.folder(entry.listed)
      const record = entry.state === 'done' ? null : await readDownloadRecord(folder)
      if (record && !record.complete && this.isOf(entry, record.commit)) {
        bytes = await folderBytes(folder)
        await discardDownload(folder)
        bytes -= await folderBytes(folder)
      }
    } catch (error) {
      entry.leaving = false
      throw error
    }
    this.entries = this.entries.filter((other) => other !== entry)
    await this.keep()
    this.options.send('download/removed', { id })
    if (bytes > 0) this.changedLibrary(entry)
    return bytes
  }

  /** For the end of the app: pauses everything; what came in stays. */
  async shutdown(): Promise<void> {
    this.closed = true
    for (const { stop } of this.entries) stop?.abort()
    await Promise.all(this.entries.map(({ settled }) => settled))
    await this.writing
  }

  private get file(): string {
    return path.join(this.options.places.root, 'downloads.json')
  }

  private folder({ kind, folder }: ListedDownload): string {
    const { models, datasets } = this.options.places
    return inside(kind === 'model' ? models : datasets, folder)
  }

  /** Whether what lies in its folder is its own: another commit of the repository may have begun there. */
  private isOf(entry: Entry, commit: string): boolean {
    const { kind, folder, commit: own } = entry.listed
    if (own !== null) return own === commit
    return !this.entries.some((e) => e !== entry && e.listed.kind === kind && e.listed.folder === folder)
  }

  private get(id: string): Entry {
    const entry = this.entries.find(({ listed }) => listed.id === id)
    if (entry && !entry.leaving) return entry
    throw new UserError({
      what: 'There is no such download.',
      why: 'The list has it no more.',
      next: 'Choose one from the list, or start it again.',
    })
  }

  private next(): void {
    if (this.closed) return
    const free = atOnce - this.entries.filter(({ stop }) => stop).length
    for (const entry of this.entries
      .filter(({ state, leaving }) => state === 'queued' && !leaving)
      .slice(0, Math.max(0, free))) {
      const stop = new AbortController()
      entry.stop = stop
      this.change(entry, 'preparing')
      entry.settled = this.run(entry, stop.signal)
        .catch(this.options.onProblem)
        .finally(() => {
          entry.stop = null
          this.tell(entry)
          this.next()
        })
    }
  }

  private async run(entry: Entry, signal: AbortSignal): Promise<void> {
    try {
      const { kind, name, commit, revision, replace } = entry.listed
      const hub = await this.options.hub()
      const request = { kind, name, revision: commit ?? revision, replace }
      const plan = await planDownload(hub, { ...request, folder: this.folder(entry.listed) }, signal).catch(
        (error: unknown) => {
          if (!(error instanceof OtherCommit)) throw error
          // commits of a repository lie side by side
          entry.listed = { ...entry.listed, folder: folderOfCommit(name, error.commit) }
          return planDownload(hub, { ...request, folder: this.folder(entry.listed) }, signal)
        },
      )
      entry.listed = {
        ...entry.listed,
        commit: plan.repository.commit,
        bytes: plan.bytes - plan.remainingBytes,
        total: plan.bytes,
      }
      entry.files = { done: 0, total: plan.files.length }
      entry.rate = new DownloadRate()
      this.change(entry, 'running')
      this.changedLibrary(entry)
      const { kind: end } = await download(hub, plan, { signal, onEvent: (event) => this.heard(entry, event) })
      if (end === 'paused') this.change(entry, 'paused')
      else {
        entry.listed = { ...entry.listed, ended: Date.now(), bytes: plan.bytes }
        this.change(entry, 'done')
        this.changedLibrary(entry)
      }
    } catch (error) {
      if (signal.aborted) this.change(entry, 'paused')
      else {
        if (!(error instanceof UserError)) this.options.onProblem(error)
        entry.listed = { ...entry.listed, error: errorForPage(error), ended: Date.now() }
        this.change(entry, 'failed')
      }
    }
  }

  private heard(entry: Entry, event: DownloadEvent): void {
    switch (event.kind) {
      case 'progress':
        if (event.bytes > entry.listed.bytes) entry.note = null
        entry.listed = { ...entry.listed, bytes: event.bytes, total: event.total }
        entry.rate.add(Date.now(), event.bytes)
        entry.state = entry.note !== null ? 'waiting' : event.bytes === event.total ? 'checking' : 'running'
        this.tell(entry, false)
        break
      case 'waiting':
        entry.note = `${event.why} Tried again in ${Math.ceil(event.waitMs / 1000)} s.`
        entry.state = 'waiting'
        this.tell(entry)
        break
      case 'damaged':
        entry.note = `The bytes of ${event.file} were wrong; it is fetched again.`
        this.tell(entry)
        break
      case 'verified':
        if (entry.files) entry.files = { ...entry.files, done: entry.files.done + 1 }
        this.tell(entry)
        break
    }
  }

  private change(entry: Entry, state: Entry['state']): void {
    entry.state = state
    entry.note = null
    const lasting = state === 'failed' || state === 'done' ? state : 'paused'
    entry.listed = { ...entry.listed, state: lasting }
    void this.keep()
    this.tell(entry)
  }

  /** In force at once; the file follows. */
  private keep(): Promise<void> {
    const listed = this.entries.map((entry) => entry.listed)
    this.writing = this.writing.then(() => writeDownloads(this.file, listed)).catch(this.options.onProblem)
    return this.writing
  }

  private tell(entry: Entry, always = true): void {
    const now = Date.now()
    if (!always && now - entry.lastSent < pause) return
    if (!this.entries.includes(entry)) return
    entry.lastSent = now
    this.options.send('download/changed', { download: this.view(entry) })
  }

  private changedLibrary({ listed }: Entry): void {
    this.options.send(listed.kind === 'model' ? 'models/changed' : 'datasets/changed', {})
  }

  private view(entry: Entry): DownloadView {
    const { listed, state, files, note, rate, stop } = entry
    const now = Date.now()
    const moving = stop !== null && (state === 'running' || state === 'checking')
    const queued = this.entries.filter((other) => other.state === 'queued')
    return {
      ...{ id: listed.id, kind: listed.kind, name: listed.name, revision: listed.revision, commit: listed.commit },
      state,
      folder: this.folder(listed),
      bytes: listed.bytes,
      total: listed.total,
      rate: moving ? rate.rate(now) : null,
      secondsLeft: moving && listed.total !== null ? rate.secondsLeft(now, listed.total) : null,
      files,
      queuePosition: state === 'queued' ? queued.indexOf(entry) : null,
      note,
      error: listed.error as StudioError | null,
      created: listed.created,
      ended: listed.ended,
      entry: state === 'done' ? `library/${listed.folder}` : null,
    }
  }
}

function entryOf(listed: ListedDownload, state: DownloadView['state']): Entry {
  return {
    ...{ listed, state, files: null, note: null, rate: new DownloadRate(), stop: null, settled: Promise.resolve() },
    ...{ leaving: false, lastSent: 0 },
  }
}

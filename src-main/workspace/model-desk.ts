/** What the page does with models on disk: one look at a time, progress as events, the list told when it changes. */
import path from 'node:path'
import type { CachedModel, ModelView, VerifyOutcome } from '../bridge/contract'
import type { Send } from '../bridge/publish'
import { UserError } from '../engine/errors'
import { exists } from './files'
import { cachedModels, importModel, snapshotFolder, usualCache } from './model-import'
import { ModelLibrary } from './model-library'
import type { Places } from './places'
import type { ProjectStore } from './project-store'

/** Least milliseconds between two events of one errand. */
const pause = 250

export interface ModelDeskOptions {
  readonly places: Places
  readonly projects: ProjectStore
  readonly send: Send
  readonly onProblem: (error: unknown) => void
}

export class ModelDesk {
  readonly library: ModelLibrary
  private readonly verifying = new Map<string, AbortController>()
  private readonly importing = new Map<string, AbortController>()
  private cache = usualCache()

  constructor(private readonly options: ModelDeskOptions) {
    this.library = new ModelLibrary(options.places, options.projects, options.onProblem)
  }

  /** `anew`: see the library. Throws UserError also where it is cancelled. */
  async verify(id: string, anew = false): Promise<VerifyOutcome> {
    if (this.verifying.has(id))
      throw new UserError({
        what: 'The model is being verified already.',
        why: 'One look at a time.',
        next: 'Wait for it.',
      })
    const stop = new AbortController()
    this.verifying.set(id, stop)
    const tell = everyNowAndThen((bytes: number, total: number) =>
      this.options.send('models/verifying', { id, bytes, total }),
    )
    try {
      const outcome = await this.library.verify(id, { anew, signal: stop.signal, onProgress: tell })
      this.options.send('models/changed', {})
      return outcome
    } catch (error) {
      if (!stop.signal.aborted) throw error
      throw new UserError({
        what: 'Verifying was stopped.',
        why: 'You stopped it.',
        next: 'Start it again at any time.',
      })
    } finally {
      this.verifying.delete(id)
    }
  }

  cancelVerify(id: string): void {
    this.verifying.get(id)?.abort()
  }

  async remove(id: string): Promise<number> {
    this.cancelVerify(id)
    const bytes = await this.library.remove(id)
    this.options.send('models/changed', {})
    return bytes
  }

  /** `from`: what is said of where it came from; default: the folder. Throws UserError also where it is cancelled. */
  async bringIn(folder: string, name: string, from?: string): Promise<ModelView> {
    if (this.importing.has(name))
      throw new UserError({
        what: `"${name}" was not brought in.`,
        why: 'A model of this name is being brought in already.',
        next: 'Wait for it.',
      })
    const stop = new AbortController()
    this.importing.set(name, stop)
    const onProgress = everyNowAndThen((bytes: number, total: number) =>
      this.options.send('models/importing', { name, bytes, total }),
    )
    try {
      const made = await importModel(this.options.places, folder, { name, from, onProgress, signal: stop.signal })
      this.options.send('models/changed', {})
      return await this.library.get(`library/${made}`)
    } catch (error) {
      if (!stop.signal.aborted) throw error
      throw new UserError({
        what: `"${name}" was not brought in.`,
        why: 'You stopped it; nothing of it stays.',
        next: 'Start it again at any time.',
      })
    } finally {
      this.importing.delete(name)
    }
  }

  cancelImport(name: string): void {
    this.importing.get(name)?.abort()
  }

  /** null: nothing was chosen; undefined: the usual cache. */
  async lookIntoCache(folder: string | null | undefined): Promise<{ folder: string | null; models: CachedModel[] }> {
    if (folder === null) return { folder: null, models: [] }
    this.cache = folder ?? usualCache()
    // the folder around it may have been chosen
    if (!path.basename(this.cache).includes('hub') && (await exists(path.join(this.cache, 'hub'))))
      this.cache = path.join(this.cache, 'hub')
    if (!(await exists(this.cache))) return { folder: null, models: [] }
    const known = await this.library.list()
    const entry = (one: Omit<CachedModel, 'entry'>): string | null =>
      known.find(({ source }) =>
        source.kind === 'imported'
          ? source.from === snapshotFolder(this.cache, one.name, one.commit)
          : source.kind === 'hub' && source.name === one.name && source.commit === one.commit,
      )?.id ?? null
    return {
      folder: this.cache,
      models: (await cachedModels(this.cache)).map((one) => ({ ...one, entry: entry(one) })),
    }
  }

  bringInCached(name: string, commit: string): Promise<ModelView> {
    return this.bringIn(snapshotFolder(this.cache, name, commit), name)
  }
}

/** The last value always goes out, since it is the one at which all is done. */
function everyNowAndThen(tell: (bytes: number, total: number) => void): (bytes: number, total: number) => void {
  let last = 0
  return (bytes, total) => {
    const now = Date.now()
    if (bytes < total && now - last < pause) return
    last = now
    tell(bytes, total)
  }
}

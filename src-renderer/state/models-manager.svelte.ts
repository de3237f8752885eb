/** The models on this computer, and what is being done to them: checked against their checksums, brought in. */
import { SvelteMap } from 'svelte/reactivity'
import type { CachedModel, EventPayload, ModelView, StudioError, VerifyOutcome } from '../../src-main/bridge/contract'
import { asError, ask, listen } from './bridge'
import { Resource } from './resource.svelte'

/** A comparison with checksums: going on, or what came of the last one. */
export type Verification =
  | { readonly kind: 'running'; readonly bytes: number; /** 0 = not known yet. */ readonly total: number }
  | { readonly kind: 'done'; readonly outcome: VerifyOutcome }
  | { readonly kind: 'failed'; readonly error: StudioError }

class ModelsManager {
  #list = new Resource<readonly ModelView[]>()
  #verifications = new SvelteMap<string, Verification>()
  /** The comparison of each model that counts: what main says of one that was called off, or of an earlier one, is no news. */
  #current = new Map<string, symbol>()
  #importing = $state.raw<EventPayload<'models/importing'> | null>(null)

  get list(): readonly ModelView[] | undefined {
    return this.#list.value
  }

  get error(): StudioError | undefined {
    return this.#list.error
  }

  /** How far an import is that has to copy. */
  get importing(): EventPayload<'models/importing'> | null {
    return this.#importing
  }

  get(id: string | null | undefined): ModelView | undefined {
    return this.#list.value?.find((model) => model.id === id)
  }

  verification(id: string): Verification | undefined {
    return this.#verifications.get(id)
  }

  start(): void {
    listen('models/changed', () => void this.load())
    listen('models/importing', (progress) => (this.#importing = progress))
    listen('models/verifying', ({ id, bytes, total }) => {
      // The last of them may come after the outcome.
      if (this.#verifications.get(id)?.kind === 'running')
        this.#verifications.set(id, { kind: 'running', bytes, total })
    })
    void this.load()
  }

  async load(): Promise<void> {
    await this.#list.load(async () => (await ask('models/list', {})).models)
  }

  /** `anew`: what no hub gives checksums for is noted as it is now. */
  async verify(id: string, anew = false): Promise<void> {
    const turn = Symbol(id)
    this.#current.set(id, turn)
    this.#verifications.set(id, { kind: 'running', bytes: 0, total: 0 })
    const ended = (verification: Verification): void => {
      if (this.#current.get(id) === turn) this.#verifications.set(id, verification)
    }
    try {
      ended({ kind: 'done', outcome: await ask('models/verify', { id, anew }) })
    } catch (thrown) {
      ended({ kind: 'failed', error: asError(thrown) })
    }
  }

  async cancelVerify(id: string): Promise<void> {
    this.#current.delete(id)
    this.#verifications.delete(id)
    await ask('models/cancelVerify', { id })
  }

  forgetVerification(id: string): void {
    this.#verifications.delete(id)
  }

  /** Bytes freed. */
  async remove(id: string): Promise<number> {
    const { bytes } = await ask('models/delete', { id })
    this.#verifications.delete(id)
    await this.load()
    return bytes
  }

  /** Undefined when the person chose no folder. */
  async importFolder(): Promise<ModelView | undefined> {
    return this.#import(async () => (await ask('models/importFolder', {})).model ?? undefined)
  }

  async importCached({ name, commit }: CachedModel): Promise<ModelView> {
    return this.#import(() => ask('models/importCached', { name, commit }))
  }

  async #import<T>(bring: () => Promise<T>): Promise<T> {
    try {
      const brought = await bring()
      await this.load()
      return brought
    } finally {
      this.#importing = null
    }
  }
}

export const modelsManager = new ModelsManager()

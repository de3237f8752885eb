/** One repository of the hub while somebody looks at it: its files in one revision, and the revisions to choose from. */
import type { RepositoryKind, RepositoryView, RevisionView, StudioError } from '../../src-main/bridge/contract'
import { ask } from './bridge'
import { Resource } from './resource.svelte'

export class RepositoryWatch {
  #view = new Resource<RepositoryView>()
  #revisions = new Resource<readonly RevisionView[]>()
  #revision = $state('main')

  constructor(
    readonly kind: RepositoryKind,
    readonly name: string,
  ) {
    void this.load()
    const { kind: ofKind, name: ofName } = this
    void this.#revisions.load(async () => (await ask('hub/revisions', { kind: ofKind, name: ofName })).revisions)
  }

  get view(): RepositoryView | undefined {
    return this.#view.value
  }

  get loading(): boolean {
    return this.#view.loading
  }

  get error(): StudioError | undefined {
    return this.#view.error
  }

  /** Branches and tags; the one that is shown alone where they cannot be told. */
  get revisions(): readonly RevisionView[] {
    return this.#revisions.value ?? []
  }

  get revision(): string {
    return this.#revision
  }

  async choose(revision: string): Promise<void> {
    this.#revision = revision
    await this.load()
  }

  async load(): Promise<void> {
    const { kind, name } = this
    const revision = this.#revision
    await this.#view.load(() => ask('hub/repository', { kind, name, revision }))
  }
}

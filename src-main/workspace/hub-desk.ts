/** What the page does with the hub and its key: it is asked at the address of the settings, with the token of the key store. */
import type { FoundRepository, KeyView, RepositoryView, RevisionView } from '../bridge/contract'
import { UserError } from '../engine/errors'
import {
  carriesTokens,
  checkedRepository,
  checkedToken,
  folderOfRepository,
  hubAddress,
  pageOf,
  publicHub,
  type RepositoryKind,
} from '../hub/address'
import { type Hub, openHub } from '../hub/connection'
import { neededFiles } from '../hub/needed-files'
import { listRevisions, readRepository, searchHub, type FoundRepository as Found } from '../hub/repository'
import type { SecretName, Secrets } from '../secrets/secrets'
import { freeBytes } from '../engine/formats/disk-errors'
import { inside } from './files'
import { modelOnHub } from './hub-model'
import type { Places } from './places'

export interface HubDeskOptions {
  readonly places: Places
  readonly secrets: Secrets
  /** The address of the settings; undefined: the usual one. */
  readonly endpoint: () => string | undefined
  /** Entries of the library, to tell what is there already. */
  readonly entryOf: (kind: RepositoryKind, endpoint: string, name: string) => Promise<string | null>
}

export class HubDesk {
  private opened: { hub: Hub; endpoint: string | undefined; token: string | null } | null = null

  constructor(private readonly options: HubDeskOptions) {}

  /** Throws UserError where address or token cannot be used. */
  async hub(): Promise<Hub> {
    const endpoint = this.options.endpoint()
    const { value } = await this.options.secrets.get(this.secret('hub-token'))
    const { opened } = this
    if (opened && opened.endpoint === endpoint && opened.token === value) return opened.hub
    // downloads that are under way keep the connection that they began with
    const hub = openHub({ endpoint, token: value ?? undefined })
    this.opened = { hub, endpoint, token: value }
    return hub
  }

  async search(kind: RepositoryKind, query: string, limit: number): Promise<FoundRepository[]> {
    const hub = await this.hub()
    const found = await searchHub(hub, { kind, query, limit })
    return Promise.all(found.map((one) => this.foundView(hub, one)))
  }

  async repository(kind: RepositoryKind, name: string, revision: string): Promise<RepositoryView> {
    const hub = await this.hub()
    const repository = await readRepository(hub, { kind, name, revision })
    const needed = new Set(neededFiles(kind, repository.files).map(({ path }) => path))
    const { models, datasets } = this.options.places
    const folder = inside(kind === 'model' ? models : datasets, folderOfRepository(name))
    const sum = (files: readonly { size: number }[]): number => files.reduce((n, { size }) => n + size, 0)
    return {
      ...(await this.foundView(hub, repository)),
      endpoint: hub.endpoint,
      page: pageOf(hub.endpoint, kind, name),
      revision: repository.revision,
      commit: repository.commit,
      files: repository.files.map(({ path, size }) => ({ path, bytes: size, needed: needed.has(path) })),
      neededBytes: sum(repository.files.filter(({ path }) => needed.has(path))),
      allBytes: sum(repository.files),
      folder,
      freeBytes: await freeBytes(folder),
      model: kind === 'model' ? await modelOnHub(hub, repository) : null,
    }
  }

  async revisions(kind: RepositoryKind, name: string): Promise<RevisionView[]> {
    return listRevisions(await this.hub(), { kind, name })
  }

  async page(kind: RepositoryKind, name: string): Promise<string> {
    return pageOf((await this.hub()).endpoint, kind, checkedRepository(name))
  }

  async keys(): Promise<KeyView[]> {
    return [await this.key('hub-token')]
  }

  /** Throws UserError for what can be no key, which is never quoted, and where the hub's address could not carry it. */
  async setKey(name: KeyView['name'], value: string): Promise<KeyView> {
    const endpoint = hubAddress(this.options.endpoint())
    if (!carriesTokens(endpoint))
      throw new UserError({
        what: 'The key was not kept.',
        why: `The hub is asked at ${endpoint}, without encryption: whoever is in between could read the key.`,
        next: 'Set an address that begins with https://.',
      })
    await this.options.secrets.set(this.secret(name), checkedToken(value) ?? '')
    return this.key(name)
  }

  async removeKey(name: KeyView['name']): Promise<KeyView> {
    await this.options.secrets.remove(this.secret(name))
    return this.key(name)
  }

  /** Each hub has a token of its own: that of one is never sent to another. */
  private secret(name: KeyView['name']): SecretName {
    const { host } = new URL(hubAddress(this.options.endpoint()))
    return host === new URL(publicHub).host ? name : `${name} ${host}`
  }

  private async key(name: KeyView['name']): Promise<KeyView> {
    const { value, place } = await this.options.secrets.get(this.secret(name))
    const problem = place.kind === 'session' ? place.problem : null
    return {
      name,
      set: value !== null,
      place: value === null && problem === null ? null : place.kind,
      problem: problem && { what: problem.what, why: problem.why, next: problem.next },
    }
  }

  private async foundView(hub: Hub, one: Found): Promise<FoundRepository> {
    const { kind, name, gated, licence, downloads, likes, updated } = one
    return {
      ...{ kind, name, gated, private: one.private, licence, downloads, likes },
      updated: updated === null ? null : Date.parse(updated),
      entry: await this.options.entryOf(kind, hub.endpoint, name),
    }
  }
}

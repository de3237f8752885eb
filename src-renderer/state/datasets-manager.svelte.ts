/** The data sets that can be chosen. */
import type { DatasetEntry } from '../../src-main/bridge/contract'
import { ask, listen } from './bridge'
import { Resource } from './resource.svelte'

class DatasetsManager {
  #list = new Resource<readonly DatasetEntry[]>()

  get list(): readonly DatasetEntry[] | undefined {
    return this.#list.value
  }

  get error() {
    return this.#list.error
  }

  start(): void {
    listen('datasets/changed', () => void this.refresh())
    void this.refresh()
  }

  get(id: string): DatasetEntry | undefined {
    return this.list?.find((entry) => entry.id === id)
  }

  refresh(): Promise<void> {
    return this.#list.load(async () => (await ask('datasets/list', {})).datasets)
  }

  /** The new set; undefined when the person chose none. */
  async addFile(): Promise<DatasetEntry | undefined> {
    return (await ask('datasets/addFile', {})).dataset ?? undefined
  }

  /** Bytes freed. */
  async remove(id: string): Promise<number> {
    return (await ask('datasets/delete', { id })).bytes
  }
}

export const datasetsManager = new DatasetsManager()

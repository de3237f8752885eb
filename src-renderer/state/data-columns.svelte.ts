/** The columns of a data file, for choosing among them: it is opened, looked at and closed again. */
import type { OpenedDataset } from '../../src-main/bridge/contract'
import type { DataChoice } from '../lib/draft'
import { ask } from './bridge'
import { Resource } from './resource.svelte'

let tickets = 0

export class DataColumns {
  #found = new Resource<Pick<OpenedDataset, 'columns' | 'rows'>>()
  #looked = ''

  get columns(): readonly string[] | undefined {
    return this.#found.value?.columns.map(({ name }) => name)
  }

  get rows(): number | undefined {
    return this.#found.value?.rows
  }

  get error() {
    return this.#found.error
  }

  get loading(): boolean {
    return this.#found.loading
  }

  /** Nothing where the same file was looked at last. */
  look({ dataset, file, field }: DataChoice): void {
    const wanted = JSON.stringify([dataset, file, field])
    if (wanted === this.#looked) return
    this.#looked = wanted
    this.#found.clear()
    void this.#found.load(async () => {
      const opened = await ask('datasets/open', { id: dataset, file, field, ticket: `columns-${++tickets}` })
      await ask('datasets/close', { handle: opened.handle })
      return opened
    })
  }
}

/** What the library holds of a repository, model or data set alike. */
import type { DatasetEntry, ModelView, RepositoryKind } from '../../src-main/bridge/contract'
import { datasetsManager } from './datasets-manager.svelte'
import { modelsManager } from './models-manager.svelte'
import type { Place } from './view-manager.svelte'

export function libraryEntry(kind: RepositoryKind, id: string | null): ModelView | DatasetEntry | undefined {
  if (id === null) return undefined
  return kind === 'model' ? modelsManager.get(id) : datasetsManager.get(id)
}

/** Where an entry of the library is shown. */
export function placeOfEntry(kind: RepositoryKind, id: string): Place {
  return kind === 'model' ? { screen: 'models', tab: 'library', model: id } : { screen: 'datasets', dataset: id }
}

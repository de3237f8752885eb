/** Finished evaluations of the open project: the comparison table and the list behind it. */
import type { ComparisonTable, ResultSummary, StudioError } from '../../src-main/bridge/contract'
import { ask, listen } from './bridge'
import { projectManager } from './project-manager.svelte'
import { Resource } from './resource.svelte'

class ResultsManager {
  #table = new Resource<ComparisonTable>()
  #list = new Resource<readonly ResultSummary[]>()
  #project = ''

  get table(): ComparisonTable | undefined {
    return this.#table.value
  }

  get list(): readonly ResultSummary[] | undefined {
    return this.#list.value
  }

  get error(): StudioError | undefined {
    return this.#table.error ?? this.#list.error
  }

  get(id: string): ResultSummary | undefined {
    return this.#list.value?.find((result) => result.id === id)
  }

  start(): void {
    listen('results/changed', ({ project }) => {
      if (project === projectManager.name) void this.load(project)
    })
    projectManager.onOpen((project) => void this.load(project))
  }

  async load(project: string): Promise<void> {
    if (project !== this.#project) {
      this.#table.clear()
      this.#list.clear()
    }
    this.#project = project
    await Promise.all([
      this.#table.load(() => ask('results/table', { project })),
      this.#list.load(async () => (await ask('results/list', { project })).results),
    ])
  }
}

export const resultsManager = new ResultsManager()

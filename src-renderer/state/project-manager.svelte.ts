/** The open project: its system, its pipeline, and the other projects that could be opened. */
import type {
  DamagedProject,
  PipelineView,
  ProjectSummary,
  ProjectView,
  StudioError,
} from '../../src-main/bridge/contract'
import { ask, listen } from './bridge'
import { Resource } from './resource.svelte'
import { isText, settingsManager } from './settings-manager.svelte'

interface Projects {
  readonly projects: readonly ProjectSummary[]
  readonly damaged: readonly DamagedProject[]
}

class ProjectManager {
  #list = new Resource<Projects>()
  #project = new Resource<ProjectView>()
  #listeners = new Set<(project: string) => void>()

  get projects(): readonly ProjectSummary[] {
    return this.#list.value?.projects ?? []
  }

  get damaged(): readonly DamagedProject[] {
    return this.#list.value?.damaged ?? []
  }

  get project(): ProjectView | undefined {
    return this.#project.value
  }

  get name(): string | undefined {
    return this.#project.value?.name
  }

  get pipeline(): PipelineView | undefined {
    return this.#project.value?.pipeline
  }

  get error(): StudioError | undefined {
    return this.#project.error ?? this.#list.error
  }

  /** Opens the project of the last session, else the demo. */
  async start(): Promise<void> {
    listen('projects/changed', () => void this.#reload())
    listen('pipeline/changed', ({ pipeline }) => {
      const project = this.#project.value
      if (project && project.name === pipeline.project) this.#project.put({ ...project, pipeline })
    })
    // Sizes on disk come only with the whole project.
    listen('results/changed', ({ project }) => {
      if (project === this.name) void this.#project.load(() => ask('projects/open', { project }))
    })
    await this.#reload()
  }

  async open(name: string): Promise<void> {
    await this.#project.load(() => ask('projects/open', { project: name }))
    this.#opened()
  }

  /** Calls `listener` now and whenever another project is opened. */
  onOpen(listener: (project: string) => void): void {
    this.#listeners.add(listener)
    if (this.name) listener(this.name)
  }

  /** Throws where main refuses. */
  async run(): Promise<void> {
    await this.#pipeline((project) => ask('pipeline/start', { project, steps: { kind: 'all' } }))
  }

  async runStep(step: string): Promise<void> {
    await this.#pipeline((project) => ask('pipeline/start', { project, steps: { kind: 'one', step } }))
  }

  async stop(): Promise<void> {
    await this.#pipeline((project) => ask('pipeline/stop', { project }))
  }

  async retry(): Promise<void> {
    await this.#reload()
  }

  async #reload(): Promise<void> {
    await this.#list.load(() => ask('projects/list', {}))
    const wanted = this.name ?? settingsManager.recall('project', '', isText)
    const known = this.projects.some((project) => project.name === wanted)
    await this.#project.load(() => (known ? ask('projects/open', { project: wanted }) : ask('projects/demo', {})))
    if (this.#project.value && !this.projects.some((project) => project.name === this.name)) {
      await this.#list.load(() => ask('projects/list', {}))
    }
    this.#opened()
  }

  #opened(): void {
    const name = this.name
    if (!name) return
    settingsManager.remember('project', name)
    for (const listener of this.#listeners) listener(name)
  }

  async #pipeline(question: (project: string) => Promise<PipelineView>): Promise<void> {
    const before = this.#project.value
    if (!before) return
    const pipeline = await question(before.name)
    const project = this.#project.value
    if (project?.name === pipeline.project) this.#project.put({ ...project, pipeline })
  }
}

export const projectManager = new ProjectManager()

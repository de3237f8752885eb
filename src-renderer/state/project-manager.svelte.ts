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
  #opened = new Resource<ProjectView>()
  /** The newest state of the pipeline; events may be ahead of an answer that is still under way. */
  #pipeline = $state.raw<PipelineView | undefined>()
  #project = $derived.by((): ProjectView | undefined => {
    const opened = this.#opened.value
    if (!opened) return undefined
    return this.#pipeline?.project === opened.name ? { ...opened, pipeline: this.#pipeline } : opened
  })
  #listeners = new Set<(project: string) => void>()

  get projects(): readonly ProjectSummary[] {
    return this.#list.value?.projects ?? []
  }

  get damaged(): readonly DamagedProject[] {
    return this.#list.value?.damaged ?? []
  }

  get project(): ProjectView | undefined {
    return this.#project
  }

  get name(): string | undefined {
    return this.#opened.value?.name
  }

  get pipeline(): PipelineView | undefined {
    return this.#project?.pipeline
  }

  get error(): StudioError | undefined {
    return this.#opened.error ?? this.#list.error
  }

  /** Opens the project of the last session, else the demo. */
  async start(): Promise<void> {
    listen('projects/changed', () => void this.#reload())
    listen('pipeline/changed', ({ pipeline }) => {
      if (pipeline.project !== this.name) return
      const finished = pipeline.done !== this.pipeline?.done
      this.#pipeline = pipeline
      // Sizes on disk come only with the whole project.
      if (finished) void this.#opened.load(() => ask('projects/open', { project: pipeline.project }))
    })
    await this.#reload()
  }

  async open(name: string): Promise<void> {
    this.#pipeline = undefined
    await this.#opened.load(() => ask('projects/open', { project: name }))
    this.#tell()
  }

  /** Calls `listener` now and whenever another project is opened. */
  onOpen(listener: (project: string) => void): void {
    this.#listeners.add(listener)
    if (this.name) listener(this.name)
  }

  /** Throws where main refuses. */
  async run(): Promise<void> {
    await this.#act((project) => ask('pipeline/start', { project, steps: { kind: 'all' } }))
  }

  /** Queues one step by name, again if it is done. */
  async runStep(step: string): Promise<void> {
    await this.#act((project) => ask('pipeline/start', { project, steps: { kind: 'one', step } }))
  }

  /** Asks the pipeline to stop; a second time ends the running step at once. */
  async stop(): Promise<void> {
    await this.#act((project) => ask('pipeline/stop', { project }))
  }

  /** Deletes it with its runs; bytes freed. Main tells that it is gone, and another one is opened. Throws where main refuses. */
  async remove(project: string): Promise<number> {
    return (await ask('projects/delete', { project })).bytes
  }

  async retry(): Promise<void> {
    await this.#reload()
  }

  async #reload(): Promise<void> {
    await this.#list.load(() => ask('projects/list', {}))
    const wanted = this.name ?? settingsManager.recall('project', '', isText)
    const known = this.projects.some((project) => project.name === wanted)
    this.#pipeline = undefined
    await this.#opened.load(() => (known ? ask('projects/open', { project: wanted }) : ask('projects/demo', {})))
    if (this.#opened.value && !this.projects.some((project) => project.name === this.name)) {
      await this.#list.load(() => ask('projects/list', {}))
    }
    this.#tell()
  }

  #tell(): void {
    const name = this.name
    if (!name) return
    settingsManager.remember('project', name)
    for (const listener of this.#listeners) listener(name)
  }

  async #act(question: (project: string) => Promise<PipelineView>): Promise<void> {
    const name = this.name
    if (name === undefined) return
    const pipeline = await question(name)
    if (pipeline.project === this.name) this.#pipeline = pipeline
  }
}

export const projectManager = new ProjectManager()

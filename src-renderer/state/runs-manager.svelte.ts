/** Every run of the open project, kept current by events. */
import { SvelteMap } from 'svelte/reactivity'
import type { RunSummary, StudioError } from '../../src-main/bridge/contract'
import { isActive } from '../lib/run-state'
import { asError, ask, listen } from './bridge'
import { projectManager } from './project-manager.svelte'

class RunsManager {
  #runs = new SvelteMap<string, RunSummary>()
  #loaded = $state(false)
  #error = $state.raw<StudioError | undefined>()

  /** Waiting ones by their place, then the rest, newest first. */
  #queue = $derived(
    [...this.#runs.values()]
      .filter((run) => isActive(run.state))
      .sort((a, b) => (a.queuePosition ?? -1) - (b.queuePosition ?? -1) || a.created - b.created),
  )
  #history = $derived(
    [...this.#runs.values()]
      .filter((run) => !isActive(run.state))
      .sort((a, b) => (b.ended ?? b.created) - (a.ended ?? a.created)),
  )

  get loaded(): boolean {
    return this.#loaded
  }

  get error(): StudioError | undefined {
    return this.#error
  }

  get queue(): readonly RunSummary[] {
    return this.#queue
  }

  get history(): readonly RunSummary[] {
    return this.#history
  }

  get all(): readonly RunSummary[] {
    return [...this.#queue, ...this.#history]
  }

  /** The run that uses the machine now. */
  get current(): RunSummary | undefined {
    return this.#queue.find((run) => run.state === 'running' || run.state === 'stopping')
  }

  get(id: string): RunSummary | undefined {
    return this.#runs.get(id)
  }

  start(): void {
    listen('run/changed', ({ run }) => {
      if (run.project === projectManager.name) this.#runs.set(run.id, run)
    })
    listen('run/removed', ({ project, run }) => {
      if (project === projectManager.name) this.#runs.delete(run)
    })
    projectManager.onOpen((project) => void this.#load(project))
  }

  async cancel(run: RunSummary): Promise<void> {
    this.#put(await ask('runs/cancel', { project: run.project, run: run.id }))
  }

  async resume(run: RunSummary): Promise<void> {
    this.#put(await ask('runs/resume', { project: run.project, run: run.id }))
  }

  /** A new run of the same pipeline step; its id. Undefined for a run that belongs to no step. */
  async again(run: RunSummary): Promise<string | undefined> {
    if (run.step === null) return undefined
    const fresh = await ask('runs/start', { project: run.project, step: run.step })
    this.#put(fresh)
    return fresh.id
  }

  /** Bytes freed. */
  async remove(run: RunSummary): Promise<number> {
    const { bytes } = await ask('runs/delete', { project: run.project, run: run.id })
    this.#runs.delete(run.id)
    return bytes
  }

  #put(run: RunSummary): void {
    this.#runs.set(run.id, run)
  }

  async #load(project: string): Promise<void> {
    try {
      const { runs } = await ask('runs/list', { project })
      if (projectManager.name !== project) return
      const ids = new Set(runs.map((run) => run.id))
      for (const [id, run] of this.#runs) if (run.project !== project || !ids.has(id)) this.#runs.delete(id)
      for (const run of runs) this.#runs.set(run.id, run)
      this.#error = undefined
    } catch (thrown) {
      this.#error = asError(thrown)
    } finally {
      this.#loaded = true
    }
  }
}

export const runsManager = new RunsManager()

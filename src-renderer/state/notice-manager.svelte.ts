/** Errors that no button waited for stay until dismissed; good news is a toast that goes away. */
import { toast } from 'svelte-sonner'
import type { StudioError } from '../../src-main/bridge/contract'
import { ask, listen } from './bridge'
import { settingsManager } from './settings-manager.svelte'

export interface Problem {
  readonly id: number
  readonly error: StudioError
}

class NoticeManager {
  #problems = $state.raw<readonly Problem[]>([])
  #nextId = 1

  get problems(): readonly Problem[] {
    return this.#problems
  }

  start(): void {
    listen('notice', ({ level, error }) => {
      if (level === 'error') this.report(error)
      else this.confirm(error.what)
    })
    for (const error of settingsManager.info?.problems ?? []) this.report(error)
  }

  /** The same problem twice is one problem. */
  report(error: StudioError): void {
    if (this.#problems.some((known) => known.error.what === error.what && known.error.why === error.why)) return
    this.#problems = [...this.#problems, { id: this.#nextId++, error }].slice(-5)
  }

  /** Main keeps its own problems, for a reload, until they are dismissed here. */
  dismiss(id: number): void {
    const problem = this.#problems.find((known) => known.id === id)
    if (problem) ask('app/dismissProblem', { problem: { ...problem.error } }).catch(() => undefined)
    this.#problems = this.#problems.filter((problem) => problem.id !== id)
  }

  confirm(message: string): void {
    toast(message)
  }
}

export const noticeManager = new NoticeManager()

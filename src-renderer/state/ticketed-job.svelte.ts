/** Ticketed work with its error and what came of it, for whoever looks at it while it runs or after. */
import type { StudioError } from '../../src-main/bridge/contract'
import { Action } from './action.svelte'
import { TicketedWork } from './tickets.svelte'

interface Outcome<T> {
  /** What was asked; an outcome says nothing about another question. */
  readonly asked: string
  readonly value: T
}

export class TicketedJob<T> {
  readonly work = new TicketedWork()
  #action = new Action()
  #outcome = $state.raw<Outcome<T> | undefined>()
  #last: Promise<boolean> = Promise.resolve(true)

  /** `dropped`: the outcome of before is not needed any more. */
  constructor(private readonly dropped: (value: T) => void = () => undefined) {}

  get busy(): boolean {
    return this.#action.busy
  }

  /** None where the person ended it. */
  get error(): StudioError | undefined {
    return this.work.cancelled ? undefined : this.#action.error
  }

  get outcome(): Outcome<T> | undefined {
    return this.#outcome
  }

  /** A second call while the first runs does nothing. True when it succeeded. */
  run(asked: string, work: (ticket: string) => Promise<T>): Promise<boolean> {
    if (this.busy) return Promise.resolve(false)
    this.#last = this.#action.run(async () => {
      const value = await this.work.run(work)
      const before = this.#outcome
      this.#outcome = { asked, value }
      if (before) this.dropped(before.value)
    })
    return this.#last
  }

  /** When what runs has ended, however it ended. */
  async settled(): Promise<void> {
    await this.#last
  }

  cancel(): void {
    this.work.cancel()
  }

  dismiss(): void {
    this.#action.dismiss()
  }
}

/** Work in main that takes time: how far it is, and its end before the end. */
import type { EventPayload } from '../../src-main/bridge/contract'
import { ask, listen } from './bridge'

let made = 0

export class TicketedWork {
  #progress = $state.raw<EventPayload<'datasets/progress'> | undefined>()
  #running = $state(false)
  #cancelled = false
  #ticket = ''

  get running(): boolean {
    return this.#running
  }

  /** undefined until main has told something. */
  get progress(): EventPayload<'datasets/progress'> | undefined {
    return this.#progress
  }

  /** The last work was ended by the person. */
  get cancelled(): boolean {
    return this.#cancelled
  }

  async run<T>(work: (ticket: string) => Promise<T>): Promise<T> {
    made += 1
    const ticket = `p${Date.now().toString(36)}-${made}`
    this.#ticket = ticket
    this.#running = true
    this.#cancelled = false
    this.#progress = undefined
    const stop = listen('datasets/progress', (progress) => {
      if (progress.ticket === ticket) this.#progress = progress
    })
    try {
      return await work(ticket)
    } finally {
      stop()
      if (this.#ticket === ticket) this.#running = false
    }
  }

  cancel(): void {
    if (!this.#running) return
    this.#cancelled = true
    // Work that has just ended needs no end.
    ask('datasets/cancel', { ticket: this.#ticket }).catch(() => undefined)
  }
}

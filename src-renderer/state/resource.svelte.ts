/** A value that is asked from main: what is known, whether it is being asked, and why the last try failed. */
import type { StudioError } from '../../src-main/bridge/contract'
import { asError } from './bridge'

export class Resource<T> {
  /** The last good value; stays while a newer one is asked. */
  #value = $state.raw<T | undefined>()
  #error = $state.raw<StudioError | undefined>()
  #loading = $state(false)
  #turn = 0

  get value(): T | undefined {
    return this.#value
  }

  get error(): StudioError | undefined {
    return this.#error
  }

  get loading(): boolean {
    return this.#loading
  }

  /** Asks; where several questions overlap, only the last answer counts. */
  async load(question: () => Promise<T>): Promise<void> {
    const turn = ++this.#turn
    this.#loading = true
    try {
      const value = await question()
      if (turn !== this.#turn) return
      this.#value = value
      this.#error = undefined
    } catch (thrown) {
      if (turn === this.#turn) this.#error = asError(thrown)
    } finally {
      if (turn === this.#turn) this.#loading = false
    }
  }

  /** Takes a value that came with an event; an answer still under way is older and is dropped. */
  put(value: T): void {
    this.#turn += 1
    this.#loading = false
    this.#error = undefined
    this.#value = value
  }

  /** Forgets everything, for instance when another project is opened. */
  clear(): void {
    this.#turn += 1
    this.#loading = false
    this.#error = undefined
    this.#value = undefined
  }

  dismiss(): void {
    this.#error = undefined
  }
}

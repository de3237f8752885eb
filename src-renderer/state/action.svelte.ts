/** Something a person asked for: busy while it runs, and its error stays beside the button until dismissed. */
import type { StudioError } from '../../src-main/bridge/contract'
import { asError } from './bridge'

export class Action {
  #busy = $state(false)
  #error = $state.raw<StudioError | undefined>()

  get busy(): boolean {
    return this.#busy
  }

  get error(): StudioError | undefined {
    return this.#error
  }

  /** A second call while the first runs does nothing. True when it succeeded. */
  async run(work: () => Promise<unknown>): Promise<boolean> {
    if (this.#busy) return false
    this.#busy = true
    this.#error = undefined
    try {
      await work()
      return true
    } catch (thrown) {
      this.#error = asError(thrown)
      return false
    } finally {
      this.#busy = false
    }
  }

  dismiss(): void {
    this.#error = undefined
  }
}

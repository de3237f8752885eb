/** What the machine is doing now. */
import type { SystemInfo } from '../../src-main/bridge/contract'
import { ask, listen } from './bridge'
import { Resource } from './resource.svelte'

class SystemManager {
  #system = new Resource<SystemInfo>()

  get system(): SystemInfo | undefined {
    return this.#system.value
  }

  async start(): Promise<void> {
    listen('system/usage', ({ system }) => this.#system.put(system))
    await this.#system.load(() => ask('system/info', {}))
  }
}

export const systemManager = new SystemManager()

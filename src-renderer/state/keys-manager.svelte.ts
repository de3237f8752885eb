/** Whether keys are set and where they are kept; a value passes through once, to main, and stays nowhere here. */
import type { KeyView, StudioError } from '../../src-main/bridge/contract'
import { ask } from './bridge'
import { Resource } from './resource.svelte'

class KeysManager {
  #keys = new Resource<readonly KeyView[]>()

  get hubToken(): KeyView | undefined {
    return this.#keys.value?.find(({ name }) => name === 'hub-token')
  }

  get error(): StudioError | undefined {
    return this.#keys.error
  }

  /** Asked when somebody looks: the system's key store may want to be unlocked for it. */
  async load(): Promise<void> {
    await this.#keys.load(async () => (await ask('keys/list', {})).keys)
  }

  async setHubToken(value: string): Promise<void> {
    this.#put(await ask('keys/set', { name: 'hub-token', value }))
  }

  async removeHubToken(): Promise<void> {
    this.#put(await ask('keys/remove', { name: 'hub-token' }))
  }

  #put(key: KeyView): void {
    this.#keys.put([...(this.#keys.value ?? []).filter(({ name }) => name !== key.name), key])
  }
}

export const keysManager = new KeysManager()

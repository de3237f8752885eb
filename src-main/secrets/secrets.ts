/**
 * Keys of a person, in the system's key store (macOS keychain, Windows credentials, Secret Service on Linux). Where there is none they
 * are held in memory until the app ends; they are never written to a file, a log or a child process's environment.
 */
import { UserError } from '../engine/errors'

/** What may be kept: the token of the public hub, and of a hub at another host and port. */
export type SecretName = 'hub-token' | `hub-token ${string}`

/** Where a value is. `problem` says why it is for this session only. */
export type SecretPlace = { readonly kind: 'key-store' } | { readonly kind: 'session'; readonly problem: UserError }

/** The part of keytar that is used. */
export interface KeyStore {
  getPassword(service: string, account: string): Promise<string | null>
  setPassword(service: string, account: string, password: string): Promise<void>
  deletePassword(service: string, account: string): Promise<boolean>
}

export interface Secrets {
  /** `value` is null where none was set. */
  get(name: SecretName): Promise<{ value: string | null; place: SecretPlace }>
  /** Where it went. */
  set(name: SecretName, value: string): Promise<SecretPlace>
  /** Takes it out of both places. A UserError where the key store may still hold it. */
  remove(name: SecretName): Promise<void>
}

const systemService = 'RecursiveMAS Studio'

/** `load` and `service` are given in tests. */
export function openSecrets({
  load = systemKeyStore,
  service = systemService,
}: { load?: () => Promise<KeyStore>; service?: string } = {}): Secrets {
  const session = new Map<SecretName, string>()
  let loaded: Promise<KeyStore> | null = null
  const store = (): Promise<KeyStore> => (loaded ??= load())
  return {
    async get(name) {
      const own = session.get(name)
      try {
        const value = own ?? (await (await store()).getPassword(service, name))
        return { value, place: own === undefined ? { kind: 'key-store' } : { kind: 'session', problem: noKeyStore() } }
      } catch (error) {
        return { value: null, place: { kind: 'session', problem: noKeyStore(error) } }
      }
    },
    async set(name, value) {
      if (value === '')
        throw new UserError({ what: 'The key was not kept.', why: 'It is empty.', next: 'Enter it again.' })
      try {
        await (await store()).setPassword(service, name, value)
        session.delete(name)
        return { kind: 'key-store' }
      } catch (error) {
        session.set(name, value)
        return { kind: 'session', problem: noKeyStore(error) }
      }
    },
    async remove(name) {
      const onlyHere = session.delete(name)
      try {
        await (await store()).deletePassword(service, name)
      } catch (error) {
        if (onlyHere) return
        const { why, next } = noKeyStore(error)
        throw new UserError({ what: 'The key could not be removed.', why, next }, { cause: error })
      }
    },
  }
}

/** Loaded when a key is first asked for: where its system library is missing only this fails. */
async function systemKeyStore(): Promise<KeyStore> {
  const module = (await import('keytar')) as KeyStore & { default?: KeyStore }
  return module.default ?? module
}

function noKeyStore(cause?: unknown): UserError {
  return new UserError(
    {
      what: 'The key is kept for this session only.',
      why: 'The system’s key store cannot be used.',
      next:
        process.platform === 'linux'
          ? 'To keep it, start a Secret Service (GNOME Keyring, KWallet) and unlock it, then enter the key again.'
          : 'To keep it, unlock the key store, then enter the key again.',
    },
    { cause },
  )
}

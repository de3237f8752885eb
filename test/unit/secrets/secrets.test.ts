/** Keys in a key store that is none, in one that fails, and in the real one of the system (in a session of its own). */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { childEnvironment } from '../../../src-main/jobs/child-environment'
import { type KeyStore, openSecrets } from '../../../src-main/secrets/secrets'
import { build } from 'vite'

const value = 'hf_aValueThatNobodyElseHas'
const root = path.resolve(import.meta.dirname, '../../..')

function memoryStore(): KeyStore & { held: Map<string, string> } {
  const held = new Map<string, string>()
  return {
    held,
    getPassword: async (service, account) => held.get(`${service}/${account}`) ?? null,
    setPassword: async (service, account, password) => void held.set(`${service}/${account}`, password),
    deletePassword: async (service, account) => held.delete(`${service}/${account}`),
  }
}

describe('keys', () => {
  it('are set, got and removed', async () => {
    const store = memoryStore()
    const secrets = openSecrets({ load: async () => store })
    expect(await secrets.get('hub-token')).toEqual({ value: null, place: { kind: 'key-store' } })
    expect(await secrets.set('hub-token', value)).toEqual({ kind: 'key-store' })
    expect([...store.held]).toEqual([['RecursiveMAS Studio/hub-token', value]])
    expect((await openSecrets({ load: async () => store }).get('hub-token')).value).toBe(value)
    await secrets.remove('hub-token')
    expect(store.held.size).toBe(0)
  })

  it.each(['load', 'call'])('are for this session only where there is no key store (%s fails)', async (what) => {
    const broken = async (): Promise<never> => {
      throw new Error('Cannot autolaunch D-Bus without X11 $DISPLAY')
    }
    const load =
      what === 'load' ? broken : async () => ({ getPassword: broken, setPassword: broken, deletePassword: broken })
    const secrets = openSecrets({ load })
    const place = await secrets.set('hub-token', value)
    expect(place).toMatchObject({ kind: 'session', problem: { what: 'The key is kept for this session only.' } })
    expect(JSON.stringify(place)).not.toContain(value)
    expect(await secrets.get('hub-token')).toMatchObject({ value, place: { kind: 'session' } })
    await secrets.remove('hub-token')
    expect((await secrets.get('hub-token')).value).toBe(null)
    await expect(secrets.remove('hub-token')).rejects.toThrow('could not be removed')
    expect((await openSecrets({ load }).get('hub-token')).value).toBe(null)
  })

  it('reach no engine process', () => {
    const environment = childEnvironment({ PATH: '/bin', HF_TOKEN: value, HUGGING_FACE_HUB_TOKEN: value })
    expect(environment).toEqual({ PATH: '/bin' })
  })
})

describe('the system’s key store', () => {
  const tools = ['dbus-daemon', 'dbus-send', 'gnome-keyring-daemon', 'Xvfb'].map((name) => `/usr/bin/${name}`)
  const there = process.platform === 'linux' && tools.every((tool) => existsSync(tool)) && loads('keytar')

  it.skipIf(!there)('keeps a key over processes, and not in clear', { timeout: 60_000 }, async () => {
    const folder = path.join(root, '.cache', `test-secrets-${process.pid}`)
    const home = mkdtempSync(path.join(tmpdir(), 'studio-secrets-'))
    try {
      await build({
        root,
        configFile: false,
        logLevel: 'warn',
        build: {
          ssr: path.join(import.meta.dirname, 'secrets-child.ts'),
          outDir: folder,
          target: 'node20',
          rolldownOptions: { output: { entryFileNames: 'child.mjs' } },
        },
      })
      const session = path.join(root, 'scripts', 'e2e-session.mjs')
      const { stdout, stderr, status } = spawnSync(
        process.execPath,
        [session, process.execPath, path.join(folder, 'child.mjs'), 'outer', value],
        { encoding: 'utf8', env: { ...process.env, HOME: home }, cwd: home, timeout: 50_000 },
      )
      expect([status, stdout.trim()], stderr).toEqual([0, 'kept'])
      expect(filesIn(home).filter((file) => readFileSync(file).includes(value))).toEqual([])
    } finally {
      rmSync(folder, { recursive: true, force: true })
      rmSync(home, { recursive: true, force: true })
    }
  })
})

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => path.join(folder, String(name)))
    .filter((file) => statSync(file).isFile())
}

function loads(name: string): boolean {
  try {
    createRequire(import.meta.url)(name)
    return true
  } catch {
    return false
  }
}

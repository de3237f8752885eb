/** Comparisons of models with their checksums, as main tells of them in whatever order. */
import { beforeEach, expect, it, vi } from 'vitest'
import type { VerifyOutcome } from '../../../src-main/bridge/contract'
import { modelsManager } from '../../../src-renderer/state/models-manager.svelte'

const id = 'library/tiny'
const outcome: VerifyOutcome = { checked: 4, damaged: [], noted: 0 }
let asked: { name: string; answer: (reply: unknown) => void }[]
const listeners = new Map<string, (payload: unknown) => void>()
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))
const progress = (bytes: number): void => listeners.get('models/verifying')!({ id, bytes, total: 100 })

beforeEach(() => {
  asked = []
  vi.stubGlobal('window', {
    studio: {
      request: (name: string) => new Promise((answer) => asked.push({ name, answer })),
      on: (name: string, listener: (payload: unknown) => void) => {
        listeners.set(name, listener)
        return () => undefined
      },
    },
  })
  modelsManager.forgetVerification(id)
  modelsManager.start()
  asked = []
})

it('progress that comes after the outcome does not take it away', async () => {
  void modelsManager.verify(id)
  progress(40)
  expect(modelsManager.verification(id)).toEqual({ kind: 'running', bytes: 40, total: 100 })
  asked[0].answer({ ok: true, value: outcome })
  await settle()
  progress(100)
  expect(modelsManager.verification(id)).toEqual({ kind: 'done', outcome })
})

it('of one that was called off nothing more is said, also where the next one goes on', async () => {
  void modelsManager.verify(id)
  void modelsManager.cancelVerify(id)
  progress(60)
  expect(modelsManager.verification(id)).toBeUndefined()
  void modelsManager.verify(id)
  asked[0].answer({ ok: false, error: { what: 'It was called off.', why: '', next: '' } })
  await settle()
  expect(modelsManager.verification(id)?.kind).toBe('running')
  asked[2].answer({ ok: true, value: outcome })
  await settle()
  expect(modelsManager.verification(id)).toEqual({ kind: 'done', outcome })
})

/** What is remembered for each data set: over a restart, for those used last, within what main takes. */
import { beforeEach, expect, it, vi } from 'vitest'
import type { OpenedDataset } from '../../../src-main/bridge/contract'

const view = new Map<string, string>()

/** The page as it is after a start: what main has is all that is known. */
async function start() {
  vi.resetModules()
  const { settingsManager } = await import('../../../src-renderer/state/settings-manager.svelte')
  await settingsManager.start()
  const { DatasetMemory, isRecordOf } = await import('../../../src-renderer/state/dataset-memory')
  const { runAsked } = await import('../../../src-renderer/state/run-asked.svelte')
  const isText = (value: unknown): value is string => typeof value === 'string'
  return {
    restart: () => {
      settingsManager.flush()
      return start()
    },
    texts: new DatasetMemory<string>('texts', isText),
    records: new DatasetMemory('texts', (value): value is Record<string, string> => isRecordOf(value, isText)),
    runAsked,
  }
}

beforeEach(() => {
  view.clear()
  const values: Record<string, (params: { key: string; value: string }) => unknown> = {
    'settings/get': () => ({ appearance: 'system', view: Object.fromEntries(view) }),
    'settings/view': ({ key, value }) => {
      if (value.length > 65_536) throw new Error('main takes less')
      view.set(key, value)
    },
  }
  const studio = {
    request: (name: string, params: never) => Promise.resolve({ ok: true, value: values[name]?.(params) ?? {} }),
    on: () => () => undefined,
  }
  vi.stubGlobal('window', { studio, addEventListener: () => undefined })
  vi.stubGlobal('document', { documentElement: { dataset: {} } })
})

it('is there after a restart, and gone where it was taken back', async () => {
  let { texts, restart } = await start()
  texts.remember('library/a', 'one')
  texts.remember('library/b', 'two')
  ;({ texts, restart } = await restart())
  expect([texts.recall('library/a'), texts.recall('library/b'), texts.recall('library/c')]).toEqual([
    'one',
    'two',
    undefined,
  ])
  texts.remember('library/a', undefined)
  ;({ texts } = await restart())
  expect([texts.recall('library/a'), texts.recall('library/b')]).toEqual([undefined, 'two'])
})

it('of many sets the last used ones stay, and what is too large goes before main refuses it', async () => {
  const { texts, restart } = await start()
  for (let i = 0; i < 40; i++) texts.remember(`library/${i}`, 'x')
  expect([texts.recall('library/9'), texts.recall('library/10')]).toEqual([undefined, 'x'])
  texts.remember('library/a', 'y'.repeat(40_000))
  texts.remember('library/b', 'z'.repeat(40_000))
  const again = await restart()
  expect([again.texts.recall('library/a'), again.texts.recall('library/b')?.length]).toEqual([undefined, 40_000])
})

it('what another version wrote is not read', async () => {
  const { texts, records } = await start()
  texts.remember('library/a', 'one')
  expect(records.recall('library/a')).toBeUndefined()
})

it('the columns chosen for the fields of a set are there after a restart', async () => {
  const opened = { id: 'library/a', columns: [{ name: 'frage' }, { name: 'antwort' }] } as unknown as OpenedDataset
  const { runAsked, restart } = await start()
  runAsked.setMapping(opened, { question: 'frage', answer: 'antwort' })
  const again = (await restart()).runAsked
  expect(again.mapping(opened)).toEqual({ question: 'frage', answer: 'antwort' })
  expect(again.mapping({ ...opened, columns: [{ name: 'frage' }] } as unknown as OpenedDataset)).toEqual({
    question: 'frage',
  })
  expect(again.mapping({ ...opened, id: 'library/b' })).toEqual({})
})

import { expect, it } from 'vitest'
import type { DownloadView } from '../../../src-main/bridge/contract'
import { bytesOf, downloadFacts, formatRough, overallProgress, userWords } from '../../../src-renderer/lib/model-words'

const plain = (text: string): string => text.replaceAll('\u00a0', ' ')
const gb = 1024 ** 3

const download = (fields: Partial<DownloadView>): DownloadView => ({
  id: 'a',
  kind: 'model',
  name: 'own/er',
  revision: 'main',
  commit: null,
  state: 'running',
  folder: '/models/er',
  bytes: 0,
  total: null,
  rate: null,
  secondsLeft: null,
  files: null,
  queuePosition: null,
  note: null,
  error: null,
  created: 0,
  ended: null,
  entry: null,
  ...fields,
})

it('large counts', () => {
  const of = (count: number): string => plain(formatRough(count))
  expect([0, 812, 999, 1000, 4112, 999_949].map(of)).toEqual(['0', '812', '999', '1.0 k', '4.1 k', '1.0 M'])
  expect([494_032_768, 999_600_000, 1_720_574_976, 70_553_706_496].map(of)).toEqual([
    '494 M',
    '1.0 B',
    '1.7 B',
    '70.6 B',
  ])
})

it('bytes of bytes say a common unit once', () => {
  expect(plain(bytesOf(1.2 * gb, 3.4 * gb))).toBe('1.2 of 3.4 GB')
  expect(plain(bytesOf(512 * 1024 ** 2, 3.4 * gb))).toBe('512 MB of 3.4 GB')
  expect(plain(bytesOf(0.5 * gb, null))).toBe('512 MB')
})

it('of a download only what is known is said', () => {
  const facts = (fields: Partial<DownloadView>): string => plain(downloadFacts(download(fields)).join(' · '))
  expect(facts({ state: 'preparing' })).toBe('')
  const going = {
    bytes: 1.2 * gb,
    total: 3.4 * gb,
    files: { done: 2, total: 5 },
    rate: 48 * 1024 ** 2,
    secondsLeft: 47,
  }
  expect(facts(going)).toBe('1.2 of 3.4 GB · 2 of 5 files · 48.0 MB/s · 47 s left')
  expect(facts({ ...going, state: 'paused' })).toBe('1.2 of 3.4 GB · 2 of 5 files')
  expect(facts({ ...going, state: 'done' })).toBe('3.4 GB')
})

it('downloads together are as far as their bytes, those of unknown size and those that stand still aside', () => {
  const a = download({ bytes: gb, total: 2 * gb })
  const b = download({ bytes: 0, total: 6 * gb, state: 'queued' })
  const still = download({ bytes: gb, total: 100 * gb, state: 'paused' })
  expect(overallProgress([a, b, still])).toBe(1 / 8)
  expect(overallProgress([a, download({ state: 'preparing' })])).toBe(1 / 2)
  expect(overallProgress([download({ state: 'preparing' })])).toBeNull()
  expect(overallProgress([still])).toBeNull()
})

it('users stay short, however many they are', () => {
  const use = (title: string, as: string[] = []) => ({ project: title, title, as })
  const steps = Array.from({ length: 14 }, (_, i) => `Step ${i}`)
  expect(userWords([use('Demo', ['planner', 'critic'])])).toBe('Demo (planner, critic)')
  expect(userWords([use('Demo', steps)])).toBe('Demo')
  expect(userWords([use('Demo', ['planner']), use('Maths')])).toBe('Demo and Maths')
  expect(plain(userWords(steps.map((title) => use(title))))).toBe('Step 0 and 13 more projects')
})

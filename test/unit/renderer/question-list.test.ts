/** The questions of an evaluation as they are fetched page by page. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { QuestionList } from '../../../src-renderer/state/question-list.svelte'

let asked: { offset: number; limit: number; filter: string }[]
let total: number
let fails: boolean
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

beforeEach(() => {
  asked = []
  total = 1234
  fails = false
  const answers: Record<string, (params: never) => unknown> = {
    'results/get': () => ({ gradersDiffer: 2 }),
    'results/questions': (params: { offset: number; limit: number; filter: string }) => {
      asked.push(params)
      const count = Math.max(0, Math.min(params.limit, total - params.offset))
      return { total, rows: Array.from({ length: count }, (_, i) => ({ index: params.offset + i, rollout: 0 })) }
    },
  }
  vi.stubGlobal('window', {
    studio: {
      request: async (name: string, params: never) =>
        fails
          ? { ok: false, error: { what: 'No.', why: 'The disk is gone.', next: 'Look for it.' } }
          : { ok: true, value: answers[name](params) },
      on: () => () => undefined,
    },
  })
})
afterEach(() => vi.unstubAllGlobals())

it('come whole and in order, and nothing is asked for twice', async () => {
  const list = new QuestionList('Demo', 'r1')
  await list.find('all', '')
  expect(list.rows).toHaveLength(500)
  // scrolling reports the end of the list more often than pages can come
  await Promise.all([list.more(), list.more(), list.more()])
  await list.more()
  await list.more()
  expect(list.rows.map((row) => row.index)).toEqual(Array.from({ length: 1234 }, (_, i) => i))
  expect(asked.map(({ offset }) => offset)).toEqual([0, 500, 1000])
  expect(list.gradersDiffer).toBe(2)
})

it('a page that was asked for under another filter is dropped', async () => {
  const list = new QuestionList('Demo', 'r1')
  await list.find('all', '')
  const more = list.more()
  total = 3
  await list.find('wrong', '')
  await more
  expect(list.rows.map((row) => row.index)).toEqual([0, 1, 2])
  expect([list.total, list.loading]).toEqual([3, false])
})

it('what has come stays when the next page fails, and can be asked for again', async () => {
  const list = new QuestionList('Demo', 'r1')
  await list.find('all', '')
  fails = true
  await list.more()
  expect([list.rows.length, list.error?.why]).toEqual([500, 'The disk is gone.'])
  fails = false
  await list.more()
  expect([list.rows.length, list.error]).toEqual([1000, undefined])
  await settle()
})

/** What a run's screen holds while events and answers come in any order. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { MetricPoint, RunSummary } from '../../../src-main/bridge/contract'
import { RunWatch } from '../../../src-renderer/state/run-watch.svelte'

type Listener = (payload: unknown) => void

let listeners: Map<string, Set<Listener>>
let answers: Record<string, (params: never) => unknown>
let frames: (() => void)[]
let watch: RunWatch

const key = { project: 'Demo', run: 'r1' }
const point = (step: number, time = step): MetricPoint => ({ step, time, loss: 1, learningRate: 0, gradNorm: 0 })
const emit = (name: string, payload: unknown): void => listeners.get(name)?.forEach((listener) => listener(payload))
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))
const steps = (): number[] => watch.points.map((each) => each.step)

function summary(state: RunSummary['state'], stretch: RunSummary['stretch'] = null): RunSummary {
  return { project: 'Demo', id: 'r1', state, stretch } as RunSummary
}

beforeEach(() => {
  listeners = new Map()
  frames = []
  answers = {
    'runs/get': () => ({ ...summary('running') }),
    'runs/metrics': () => ({ points: [point(1), point(2)], validations: [], total: 2 }),
    'runs/log': () => ({ text: 'one\n', from: 0, to: 4, size: 4 }),
  }
  vi.stubGlobal('window', {
    studio: {
      request: async (name: string, params: never) => ({ ok: true, value: answers[name](params) }),
      on: (name: string, listener: Listener) => {
        const set = listeners.get(name) ?? new Set()
        listeners.set(name, set.add(listener))
        return () => set.delete(listener)
      },
    },
  })
  vi.stubGlobal('requestAnimationFrame', (frame: () => void) => frames.push(frame))
  vi.stubGlobal('cancelAnimationFrame', () => undefined)
  watch = new RunWatch('Demo', 'r1')
})
afterEach(() => {
  watch.dispose()
  vi.unstubAllGlobals()
})

it('appends what comes, drops repetitions, and ignores other runs', async () => {
  await settle()
  emit('run/metrics', { ...key, points: [point(2), point(3)] })
  emit('run/metrics', { project: 'Demo', run: 'r2', points: [point(9)] })
  expect(steps()).toEqual([1, 2, 3])
})

it('keeps points that came before the history did', async () => {
  emit('run/metrics', { ...key, points: [point(3)] })
  await settle()
  expect(steps()).toEqual([1, 2, 3])
})

it('forgets the steps that a resumed run does again, though the file was not cut yet when it was asked for', async () => {
  await settle()
  emit('run/metrics', { ...key, points: [point(3), point(4)] })
  answers['runs/metrics'] = () => ({ points: [point(1), point(2), point(3), point(4)], validations: [], total: 4 })
  emit('run/changed', { run: summary('interrupted') })
  emit('run/changed', { run: summary('running', { time: 100, resumedFrom: 2 }) })
  await settle()
  emit('run/metrics', { ...key, points: [point(3, 103)] })
  expect(watch.points.map(({ step, time }) => [step, time])).toEqual([
    [1, 1],
    [2, 2],
    [3, 103],
  ])
  emit('run/metrics', { ...key, points: [point(3, 103), point(4, 104)] })
  expect(watch.points.map(({ step, time }) => [step, time]).slice(2)).toEqual([
    [3, 103],
    [4, 104],
  ])
})

it('keeps the first steps of a new stretch that came before the answer did', async () => {
  await settle()
  answers['runs/metrics'] = () => ({ points: [point(1), point(2), point(3), point(4)], validations: [], total: 4 })
  emit('run/changed', { run: summary('running', { time: 100, resumedFrom: 2 }) })
  emit('run/metrics', { ...key, points: [point(3, 103)] })
  await settle()
  expect(watch.points.map(({ step, time }) => [step, time]).slice(2)).toEqual([[3, 103]])
})

it('asks for the metrics once a stretch', async () => {
  await settle()
  let asked = 0
  answers['runs/metrics'] = () => {
    asked += 1
    return { points: [point(1)], validations: [], total: 1 }
  }
  for (let i = 0; i < 3; i += 1) emit('run/changed', { run: summary('running', { time: 100, resumedFrom: null }) })
  await settle()
  expect(asked).toBe(1)
  expect(steps()).toEqual([1])
})

it('tells of many events once a frame', async () => {
  await settle()
  frames.splice(0).forEach((frame) => frame())
  const before = watch.version
  for (let step = 3; step < 100; step += 1) emit('run/metrics', { ...key, points: [point(step)] })
  expect(frames).toHaveLength(1)
  frames[0]()
  expect(watch.version).toBe(before + 1)
})

it('grows the log, and asks again where a part is missing', async () => {
  await watch.loadLog()
  emit('run/log', { ...key, from: 4, text: 'zwö\n' })
  expect(watch.log).toBe('one\nzwö\n')
  emit('run/log', { ...key, from: 4, text: 'zwö\nthr' })
  expect(watch.log).toBe('one\nzwö\nthr')
  emit('run/log', { ...key, from: 4, text: 'zwö\n' })
  expect(watch.log).toBe('one\nzwö\nthr')
  emit('run/log', { ...key, from: 9, text: 'three\n' })
  expect(watch.log).toBe('one\nzwö\nthree\n')
  answers['runs/log'] = () => ({ text: 'all of it\n', from: 0, to: 50, size: 50 })
  emit('run/log', { ...key, from: 40, text: 'late\n' })
  await settle()
  expect(watch.log).toBe('all of it\n')
})

it('keeps what is known when a question fails', async () => {
  await settle()
  answers['runs/metrics'] = () => {
    throw new Error('gone')
  }
  emit('run/changed', { run: summary('paused') })
  emit('run/changed', { run: summary('running', { time: 100, resumedFrom: 2 }) })
  await settle()
  expect(watch.error?.why).toContain('gone')
})

it('stops listening when disposed', async () => {
  await settle()
  watch.dispose()
  expect([...listeners.values()].every((set) => set.size === 0)).toBe(true)
})

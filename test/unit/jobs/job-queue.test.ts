/** The queue at the moments between waiting and working. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JobSpec } from '../../../src-main/engine/job-spec'
import { JobQueue, type Prepared } from '../../../src-main/jobs/job-queue'
import { Places } from '../../../src-main/workspace/places'
import { stateOf } from '../../../src-main/workspace/run-record'
import { RunStore, type Run } from '../../../src-main/workspace/run-store'
import { until } from './test-studio'

let folder: string
let store: RunStore
let queue: JobQueue
const problems: unknown[] = []
const spawned = vi.fn()
/** Lets the run that is being prepared go on. */
let go: ((prepared: Prepared) => void)[]

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio-queue-'))
  problems.length = 0
  spawned.mockReset()
  spawned.mockImplementation(() => {
    throw new Error('no engine in this test')
  })
  go = []
  store = new RunStore(new Places(folder), (error) => problems.push(error))
  queue = new JobQueue({
    store,
    spawn: spawned,
    prepare: () => new Promise((resolve) => go.push(resolve)),
    listener: {
      state: () => undefined,
      event: () => undefined,
      log: () => undefined,
      idle: () => undefined,
      problem: (error) => problems.push(error),
    },
  })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const create = (title: string): Promise<Run> =>
  store.create('Demo', { title, kind: 'inner', step: null, label: title, spec: {} })
const ready = (run: Run, output = run.folder): Prepared => ({
  kind: 'ready',
  spec: { output } as unknown as JobSpec,
  resume: false,
})
const state = (run: Run) => stateOf(store.known(run).record)
const idle = () => until(() => !queue.busy, 'the queue is idle')

describe('a run that is being prepared', () => {
  it('is stopped with the waiting ones, and none of them starts; one that has ended meanwhile harms nothing', async () => {
    const [first, second, ended] = [await create('first'), await create('second'), await create('ended')]
    await store.setState(ended, 'done')
    queue.add(first)
    queue.add(second)
    await queue.cancelAll([ended, second, first])
    go[0](ready(first))
    await idle()
    expect([first, second, ended].map(state)).toEqual(['paused', 'paused', 'done'])
    expect(go).toHaveLength(1)
    expect(spawned).not.toHaveBeenCalled()
    expect(problems).toEqual([])
  })

  it('is stopped alone, and the next one has its turn', async () => {
    const [first, second] = [await create('first'), await create('second')]
    queue.add(first)
    queue.add(second)
    await queue.cancel(first)
    go[0](ready(first))
    await until(() => go.length === 2, 'the next has its turn')
    expect(state(first)).toBe('paused')
    go[1]({ kind: 'waiting', why: 'Not yet.' })
    await idle()
    expect(spawned).not.toHaveBeenCalled()
  })

  it('does not start when the app ends while its record is being written', async () => {
    const run = await create('first')
    queue.add(run)
    const setState = store.setState.bind(store)
    let closing: Promise<void> | undefined
    vi.spyOn(store, 'setState').mockImplementation((key, next, change) => {
      const writing = setState(key, next, change)
      if (next === 'running') closing = queue.shutdown(0)
      return writing
    })
    go[0](ready(run))
    await until(() => closing !== undefined, 'it is about to start')
    await closing
    expect(state(run)).toBe('paused')
    expect(spawned).not.toHaveBeenCalled()
  })

  it('gives back what was prepared for it, whether it is stopped, fails to start or ends', async () => {
    const [stopped, dies, fails] = [await create('stopped'), await create('dies'), await create('fails')]
    const takeBack = vi.fn(async () => undefined)
    for (const run of [stopped, dies, fails]) queue.add(run)
    await queue.cancel(stopped)
    go[0]({ ...ready(stopped), takeBack } as Prepared)
    await until(() => go.length === 2, 'the second has its turn')
    expect(takeBack).toHaveBeenCalledTimes(1)
    go[1]({ ...ready(dies), takeBack } as Prepared)
    await until(() => go.length === 3, 'the third has its turn')
    expect(takeBack).toHaveBeenCalledTimes(2)
    go[2]({ ...ready(fails, 'not\0a path'), takeBack } as Prepared)
    await idle()
    expect(takeBack).toHaveBeenCalledTimes(3)
    expect([stopped, dies, fails].map(state)).toEqual(['paused', 'failed', 'failed'])
  })

  it('fails where its log cannot even be looked at, and is nobody’s any more', async () => {
    const [first, second] = [await create('first'), await create('second')]
    const disown = vi.spyOn(store, 'disown')
    queue.add(first)
    queue.add(second)
    go[0](ready(first, 'not\0a path'))
    await until(() => go.length === 2, 'the next has its turn')
    expect(state(first)).toBe('failed')
    expect(disown).toHaveBeenCalledWith({ project: 'Demo', id: first.id })
    go[1]({ kind: 'waiting', why: 'Not yet.' })
    await idle()
  })
})

/** The bridge's manners: one shape of answer, defaults, and events at a pace. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createHandlers, type Shell } from '../../../src-main/bridge/handlers'
import type { RunSummary } from '../../../src-main/bridge/contract'
import { requests, type RequestName } from '../../../src-main/bridge/contract'
import { RunPublisher } from '../../../src-main/bridge/publish'
import { answer, type Handlers } from '../../../src-main/bridge/serve'
import { UserError } from '../../../src-main/engine/errors'
import { testStudio, until, type TestStudio } from '../jobs/test-studio'

describe('answers', () => {
  let test: TestStudio
  let handlers: Handlers
  const log = vi.fn()

  beforeAll(async () => {
    process.env.FAKE_ENGINE_MS = '1'
    test = testStudio()
    await test.studio.start()
    await test.studio.openDemo()
    await test.studio.startSteps('Demo', { kind: 'all' })
    await until(() => !test.studio.queue.busy, 'the pipeline ends')
    handlers = createHandlers(() => test.studio, {} as Shell)
  })
  afterAll(() => test.remove())

  const ask = (name: RequestName, params: unknown, own = handlers) => answer({ trusted: true, name, params }, own, log)

  it('are what the contract says, for every request that needs no window', async () => {
    const { runs } = { runs: await test.studio.listRuns('Demo') }
    const evaluation = runs.find((run) => run.kind === 'evaluate')!.id
    const training = runs.find((run) => run.kind === 'outer')!.id
    const result = { project: 'Demo', result: evaluation }
    const asked: [RequestName, unknown][] = [
      ['projects/list', {}],
      ['projects/open', { project: 'Demo' }],
      ['projects/demo', {}],
      ['pipeline/get', { project: 'Demo' }],
      ['runs/list', { project: 'Demo' }],
      ['runs/get', { project: 'Demo', run: training }],
      ['runs/log', { project: 'Demo', run: training, from: null }],
      ['runs/metrics', { project: 'Demo', run: training }],
      ['results/list', { project: 'Demo' }],
      ['results/table', { project: 'Demo' }],
      ['results/get', result],
      ['results/compare', { project: 'Demo', a: evaluation, b: evaluation }],
      ['results/questions', { ...result, filter: 'wrong', search: 'NOV number' }],
      ['results/question', { ...result, index: 3 }],
      ['checkpoints/list', { project: 'Demo' }],
    ]
    for (const [name, params] of asked) {
      const reply = await ask(name, params)
      expect(reply, name).toMatchObject({ ok: true })
      const checked = requests[name].result.safeParse(structuredClone((reply as { value: unknown }).value))
      expect(checked.error?.issues ?? [], name).toEqual([])
    }
    const wrong = await ask('results/questions', { ...result, filter: 'wrong', search: 'NOV number' })
    expect(wrong).toMatchObject({ value: { total: 3, rows: [{ index: 2 }, { index: 5 }, { index: 8 }] } })
    const differ = await ask('results/questions', { ...result, filter: 'graders-differ', offset: 1 })
    expect(differ).toMatchObject({ value: { total: 2, rows: [{ index: 7 }] } })
  })

  it('to what a person can put right, say how; a training run is no result', async () => {
    const training = (await test.studio.listRuns('Demo')).find((run) => run.kind === 'outer')!.id
    for (const name of ['results/get', 'results/questions'] as const)
      expect(await ask(name, { project: 'Demo', result: training })).toMatchObject({
        ok: false,
        error: { what: 'There is no such result.' },
      })
  })

  it('to a defect of ours hide the stack from the page and keep it in the log', async () => {
    log.mockClear()
    const broken = { ...handlers, 'projects/list': () => Promise.reject(new TypeError('x is undefined')) }
    const reply = await ask('projects/list', {}, broken)
    expect(reply).toMatchObject({ ok: false, error: { why: 'x is undefined' } })
    expect(JSON.stringify(reply)).not.toContain('.ts:')
    expect(log).toHaveBeenCalledWith('projects/list failed', expect.any(TypeError))
  })

  it('pass a UserError on as it is, without a word in the log', async () => {
    log.mockClear()
    const parts = { what: 'What.', why: 'Why.', next: 'Next.' }
    const refusing = { ...handlers, 'projects/list': () => Promise.reject(new UserError(parts)) }
    expect(await ask('projects/list', {}, refusing)).toEqual({ ok: false, error: parts })
    expect(log).not.toHaveBeenCalled()
  })
})

describe('events of a run', () => {
  const point = (step: number) => ({ step, time: step, loss: 1, learningRate: 1, gradNorm: 1 })
  const summary = (title: string) => () => ({ title }) as RunSummary

  it('come at most every interval, the last state always, every point once', () => {
    vi.useFakeTimers()
    const sent: [string, unknown][] = []
    const publisher = new RunPublisher((name, payload) => sent.push([name, payload]), 250)
    for (let step = 1; step <= 100; step++) {
      publisher.metrics('p', 'r', point(step))
      publisher.changed('p', 'r', summary(`step ${step}`), false)
      vi.advanceTimersByTime(10)
    }
    vi.advanceTimersByTime(1000)
    const changed = sent.filter(([name]) => name === 'run/changed')
    expect(changed.length).toBeLessThanOrEqual(6)
    expect(changed.at(-1)![1]).toEqual({ run: { title: 'step 100' } })
    const steps = sent.flatMap(([name, payload]) =>
      name === 'run/metrics' ? (payload as { points: { step: number }[] }).points.map((p) => p.step) : [],
    )
    expect(steps).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
    vi.useRealTimers()
  })

  it('go out at once where the state changes', () => {
    vi.useFakeTimers()
    const sent: string[] = []
    const publisher = new RunPublisher((name) => sent.push(name), 250)
    publisher.changed('p', 'r', summary('a'), false)
    publisher.changed('p', 'r', summary('b'), true)
    expect(sent).toEqual(['run/changed'])
    vi.advanceTimersByTime(1000)
    expect(sent).toEqual(['run/changed'])
    vi.useRealTimers()
  })

  it('leave a gap rather than hold a flood of log text', () => {
    vi.useFakeTimers()
    const sent: { from: number; text: string }[] = []
    const publisher = new RunPublisher((name, payload) => {
      if (name === 'run/log') sent.push(payload as { from: number; text: string })
    }, 250)
    publisher.log('p', 'r', 0, 'a'.repeat(60_000))
    publisher.log('p', 'r', 60_000, 'b'.repeat(60_000))
    vi.advanceTimersByTime(1000)
    expect(sent.map(({ from, text }) => [from, text.length])).toEqual([[60_000, 60_000]])
    vi.useRealTimers()
  })
})

/** Curves, comparisons and times out of what runs leave. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JobEvent } from '../../../src-main/engine/job-events'
import { metricHistory, thin } from '../../../src-main/workspace/metric-history'
import { pairedDifference } from '../../../src-main/workspace/paired-difference'
import { addEvent, answeredOf, newJournal } from '../../../src-main/workspace/run-journal'
import { runTimes, type RunRecord } from '../../../src-main/workspace/run-record'

const point = (step: number, loss: number) => ({ step, time: step, loss, learningRate: 1, gradNorm: 1 })

describe('curves', () => {
  let folder: string
  beforeAll(() => (folder = mkdtempSync(path.join(tmpdir(), 'studio-curves-'))))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('keep every spike, both ends and the order when thinned', () => {
    const points = Array.from({ length: 10_000 }, (_, i) =>
      point(i + 1, i === 3333 ? 100 : i === 7777 ? -5 : Math.sin(i)),
    )
    const kept = thin(points, 500)
    expect(kept.length).toBeLessThanOrEqual(500)
    expect(kept.length).toBeGreaterThan(400)
    expect(kept[0].step).toBe(1)
    expect(kept.at(-1)!.step).toBe(10_000)
    expect(kept.some(({ step }) => step === 3334)).toBe(true)
    expect(kept.some(({ step }) => step === 7778)).toBe(true)
    const steps = kept.map(({ step }) => step)
    expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b))
    expect(thin(points.slice(0, 500), 500)).toHaveLength(500)
  })

  it('count steps that were done again after a resume once, as they came out last', async () => {
    const metric = (step: number, loss: number) => ({ kind: 'metrics', ...point(step, loss) })
    const validation = (step: number, value: number) => ({
      kind: 'validation',
      time: 1,
      step,
      name: 'accuracy',
      value,
      n: 9,
      best: false,
    })
    const lines = [metric(10, 3), metric(20, 2), metric(30, 9), metric(20, 1), metric(30, 0.5)]
    writeFileSync(
      path.join(folder, 'metrics.jsonl'),
      lines.map((l) => JSON.stringify(l) + '\n').join('') + '{"kind":"met',
    )
    const validations = [
      validation(10, 0.1),
      validation(30, 0.3),
      { ...validation(30, 0.4), name: 'loss' },
      validation(30, 0.5),
    ]
    writeFileSync(path.join(folder, 'journal.jsonl'), validations.map((l) => JSON.stringify(l) + '\n').join(''))
    const history = await metricHistory(folder, 100)
    expect(history.points.map(({ step, loss }) => [step, loss])).toEqual([
      [10, 3],
      [20, 1],
      [30, 0.5],
    ])
    expect(history.total).toBe(3)
    expect(history.validations.map(({ step, name, value }) => [step, name, value])).toEqual([
      [10, 'accuracy', 0.1],
      [30, 'loss', 0.4],
      [30, 'accuracy', 0.5],
    ])
  })
})

describe('two systems on the same questions', () => {
  const verdicts = (bothRight: number, onlyA: number, onlyB: number, bothWrong: number) => {
    const rows = [
      ...Array<[boolean, boolean]>(bothRight).fill([true, true]),
      ...Array<[boolean, boolean]>(onlyA).fill([true, false]),
      ...Array<[boolean, boolean]>(onlyB).fill([false, true]),
      ...Array<[boolean, boolean]>(bothWrong).fill([false, false]),
    ]
    const map = (side: 0 | 1) => new Map(rows.map((row, i) => [String(i), row[side]]))
    return [map(0), map(1)] as const
  }

  it('give the published interval and p of a published table', () => {
    // Fagerland, Lydersen, Laake (2014), airway hyper-responsiveness: 1 / 1 / 7 / 12; exact conditional p 0.0703, Agresti-Min -0.493 to -0.029.
    const found = pairedDifference(...verdicts(1, 1, 7, 12))
    expect(found).toMatchObject({ n: 21, bothRight: 1, onlyA: 1, onlyB: 7, bothWrong: 12 })
    expect(found.difference).toBeCloseTo(-6 / 21, 12)
    expect(found.low).toBeCloseTo(-0.493, 3)
    expect(found.high).toBeCloseTo(-0.029, 3)
    expect(found.p).toBeCloseTo(0.0703125, 12)
  })

  it('only count questions that both answered', () => {
    const found = pairedDifference(new Map([['1', true], ['2', true]]), new Map([['2', false], ['3', true]])) // prettier-ignore
    expect(found).toMatchObject({ n: 1, onlyA: 1 })
  })
})

describe('a journal', () => {
  const fold = (events: JobEvent[]) => events.reduce(addEvent, newJournal())

  it('knows the phase of a progress, the best checkpoint and each answer once', () => {
    const time = 1
    const journal = fold([
      { kind: 'started', time, job: 'evaluate', resumedFrom: null },
      { kind: 'phase', time, phase: 'a', title: 'Answering', total: 10, unit: 'questions' },
      { kind: 'progress', time, phase: 'a', done: 4, total: 10, rate: 2, secondsLeft: 3 },
      { kind: 'question', time, index: 0, correct: false, strict: null },
      { kind: 'question', time, index: 0, correct: true, strict: null },
      { kind: 'question', time, index: 1, correct: false, strict: null },
      { kind: 'checkpoint', time, step: 1, folder: '/1', best: true },
      { kind: 'checkpoint', time, step: 2, folder: '/2', best: true },
      { kind: 'stopped', time, step: 2, resumable: true },
    ])
    expect(journal.progress).toMatchObject({ title: 'Answering', unit: 'questions', done: 4, rate: 2 })
    expect(answeredOf(journal)).toEqual({ right: 1, total: 2 })
    expect(journal.checkpoints.map(({ step, best }) => [step, best])).toEqual([
      [1, false],
      [2, true],
    ])
    expect(journal.ended?.kind).toBe('stopped')
    expect(addEvent(journal, { kind: 'started', time, job: 'evaluate', resumedFrom: 2 }).ended).toBeNull()
  })

  it('holds the text that is being written until something is done', () => {
    const bar = { kind: 'progress', time: 1, phase: 'a', done: 4, total: 10, rate: 2, secondsLeft: 3 } as const
    const writing = { index: 7, tokens: 64, text: 'so x is' }
    const journal = fold([
      { kind: 'phase', time: 1, phase: 'a', title: 'Answering', total: 10, unit: 'questions' },
      { ...bar, writing },
    ])
    expect(journal.progress).toMatchObject({ title: 'Answering', done: 4, writing })
    expect(addEvent(journal, { ...bar, done: 5 }).progress!.writing).toBeUndefined()
  })

  it('keeps the last notes only', () => {
    const journal = fold(
      Array.from({ length: 500 }, (_, i): JobEvent => ({ kind: 'log', time: i, level: 'info', message: String(i) })),
    )
    expect(journal.notes).toHaveLength(200)
    expect(journal.notes.at(-1)!.message).toBe('499')
  })
})

it('the seconds of a run are those in which it ran', () => {
  const history = (['queued', 'running', 'stopping', 'paused', 'queued', 'running'] as const).map((state, i) => ({
    time: i * 1000,
    state,
    detail: null,
  }))
  const record = { history } as unknown as RunRecord
  expect(runTimes(record, 7500)).toEqual({ started: 1000, ended: null, seconds: 2 + 2.5 })
  expect(runTimes({ ...record, history: history.slice(0, 4) }, 7500)).toEqual({
    started: 1000,
    ended: 3000,
    seconds: 2,
  })
  expect(runTimes({ ...record, history: history.slice(0, 1) }, 7500)).toEqual({
    started: null,
    ended: null,
    seconds: 0,
  })
})

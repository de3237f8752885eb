import { expect, it } from 'vitest'
import type { PipelineView } from '../../../src-main/bridge/contract'
import { logBeside, waitsFor } from '../../../src-renderer/lib/run-state'

function pipeline(states: Record<string, string>, requires: string[]): PipelineView {
  const steps = Object.entries(states).map(([id, state]) => ({ id, title: id.toUpperCase(), state, requires: [] }))
  return { steps: [...steps, { id: 'last', title: 'Last', state: 'waiting', requires }] } as unknown as PipelineView
}

it('names what is not done, the broken one first', () => {
  expect(waitsFor(pipeline({ a: 'done', b: 'running' }, ['a', 'b']), 'last')).toBe('B')
  expect(waitsFor(pipeline({ a: 'queued', b: 'queued', c: 'queued' }, ['a', 'b', 'c']), 'last')).toBe('A and 2 more')
  expect(waitsFor(pipeline({ a: 'queued', b: 'failed' }, ['a', 'b']), 'last')).toBe('B (failed) and 1 more')
})

it('is empty where nothing is awaited or the step is not known', () => {
  expect(waitsFor(pipeline({ a: 'done' }, ['a']), 'last')).toBe('')
  expect(waitsFor(pipeline({ a: 'running' }, ['a']), null)).toBe('')
  expect(waitsFor(undefined, 'last')).toBe('')
})

it('of a log shows the last lines that say more than the error', () => {
  const error = { what: 'The job cannot be run.', why: 'rounds: 0 is too small.', next: 'Correct it.' }
  const failed = '2026-01-01T00:00:00.000Z failed: The job cannot be run. rounds: 0 is too small.'
  expect(logBeside(`${failed}\n`, error)).toBe('')
  expect(logBeside(`a\nb\nc\nd\n${failed}\n\n`, error)).toBe('b\nc\nd')
  const defect = { what: 'The job failed by a defect of the program.', why: 'x is null', next: '' }
  const log = 'z failed: The job failed by a defect of the program. x is null\nError: x is null\n    at f\n    at g\n'
  expect(logBeside(log, defect)).toBe('    at f\n    at g')
})

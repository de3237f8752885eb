/** A run of the real engine that cannot begin: the app keeps the reason, the run's folder holds nothing of a run. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { runJob } from '../../../src-main/engine/engine'
import { inProcessSpawner } from './fake-child'
import { testStudio, until, type TestStudio } from './test-studio'

const open: TestStudio[] = []
afterEach(async () => {
  for (const one of open) await one.studio.shutdown(0)
  for (const one of open.splice(0)) one.remove()
})

it('shows the error, also after the app was closed, and can be tried again', async () => {
  const test = testStudio({ spawn: inProcessSpawner([], runJob) })
  open.push(test)
  await test.studio.start()
  await test.studio.openDemo()
  // the test's demo has no data
  await test.studio.startSteps('Demo', { kind: 'one', step: 'inner-planner' })
  await until(() => !test.studio.queue.busy, 'it fails')
  const [run] = await test.studio.listRuns('Demo')
  expect(run).toMatchObject({ state: 'failed', resumable: true, started: expect.any(Number) })
  expect(run.error!.why).toContain('train.jsonl')
  const folder = path.join(test.workspace, 'projects/Demo/runs', run.id)
  expect(readdirSync(folder).sort()).toEqual(['log.txt', 'run.json'])
  expect(readFileSync(path.join(folder, 'log.txt'), 'utf8')).toContain(run.error!.what)
  await test.studio.shutdown(0)

  const again = testStudio({ again: test, spawn: inProcessSpawner([], runJob) })
  open.push(again)
  await again.studio.start()
  const detail = await again.studio.runDetail({ project: 'Demo', id: run.id })
  expect(detail).toMatchObject({ state: 'failed', error: run.error })
  expect(detail.logTail).toContain(run.error!.what)
  await again.studio.resumeRun({ project: 'Demo', id: run.id })
  await until(() => !again.studio.queue.busy, 'it fails again')
  expect((await again.studio.listRuns('Demo')).map(({ state, error }) => ({ state, error }))).toEqual([
    { state: 'failed', error: run.error },
  ])
  expect(existsSync(path.join(folder, 'journal.jsonl'))).toBe(false)
  expect([...test.problems, ...again.problems]).toEqual([])
})

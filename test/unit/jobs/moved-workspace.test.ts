/** A workspace that was renamed: its runs are there, go on with the losses that they would have had, and serve later steps. */
import { cpSync, readFileSync, renameSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { runJob } from '../../../src-main/engine/engine'
import type { JobEvent } from '../../../src-main/engine/job-events'
import { inProcessSpawner } from './fake-child'
import { demoPipeline, roles, testStudio, until, type TestStudio } from './test-studio'

const demo = path.join(import.meta.dirname, '..', '..', '..', 'native-assets', 'demo')

const open: TestStudio[] = []
afterEach(async () => {
  for (const one of open) await one.studio.shutdown(0)
  for (const one of open.splice(0)) one.remove()
})

const small = {
  promptPack: 'prompt-pack.json',
  data: { file: 'train.jsonl', limit: 8 },
  steps: 2,
  batchSize: 2,
  logEvery: 1,
  saveEvery: 1,
  threads: 1,
  latentCap: 3,
  rounds: 2,
}
const { latentCap: _cap, rounds: _rounds, ...inner } = small
const pipeline = demoPipeline({
  ...Object.fromEntries(roles.map((role) => [`inner-${role}`, inner])),
  outer: { ...small, steps: 4 },
})

/** Stops the run of the outer links after this many steps; 0 = never. */
let stopAfter = 0
function studioAt(options: { again?: TestStudio; workspace?: string } = {}): TestStudio {
  const run: typeof runJob = (spec, { emit, ...others }) =>
    runJob(spec, {
      ...others,
      emit: (event: JobEvent) => {
        emit(event)
        if (spec.kind === 'outer' && event.kind === 'metrics' && event.step === stopAfter)
          void test.studio.stopPipeline('Demo')
      },
    })
  const test = testStudio({ spawn: inProcessSpawner([], run), pipeline, ...options })
  open.push(test)
  return test
}

async function settled({ studio }: TestStudio): Promise<void> {
  await until(async () => !studio.queue.busy && (await studio.pipeline('Demo')).state !== 'running', 'it ends')
}

const outerRuns = async ({ studio }: TestStudio) =>
  (await studio.listRuns('Demo')).filter(({ step }) => step === 'outer')

async function losses({ studio }: TestStudio, id: string): Promise<[number, number][]> {
  const { points } = await studio.runMetrics({ project: 'Demo', id }, 100)
  return points.map(({ step, loss }) => [step, loss])
}

describe('a workspace that was moved', () => {
  it('resumes its runs with the same losses, also a second time', async () => {
    const first = studioAt()
    for (const name of ['models', 'train.jsonl', 'prompt-pack.json'])
      cpSync(path.join(demo, name), path.join(first.folder, 'native-assets', name), { recursive: true })
    await first.studio.start()
    await first.studio.openDemo()
    for (const role of roles) await first.studio.startSteps('Demo', { kind: 'one', step: `inner-${role}` })
    await settled(first)
    await first.studio.startSteps('Demo', { kind: 'one', step: 'outer' })
    await settled(first)
    const [whole] = await outerRuns(first)
    expect(whole.state).toBe('done')
    const expected = await losses(first, whole.id)
    expect(expected.map(([step]) => step)).toEqual([1, 2, 3, 4])

    let at = first
    let id = ''
    stopAfter = 1
    for (const name of ['renamed', 'renamed again']) {
      if (id === '') id = (await at.studio.startRun('Demo', 'outer')).id
      else await at.studio.resumeRun({ project: 'Demo', id })
      await settled(at)
      const stopped = (await outerRuns(at)).find((run) => run.id === id)!
      expect([stopped.state, stopped.checkpointStep]).toEqual(['paused', stopAfter])
      await at.studio.shutdown(0)
      stopAfter++

      const workspace = path.join(first.folder, name)
      renameSync(at.workspace, workspace)
      at = studioAt({ again: first, workspace })
      await at.studio.start()
      expect(await at.studio.checkpoints('Demo')).not.toEqual([])
      const view = (await at.studio.pipeline('Demo')).steps.find((step) => step.id === 'inner-critic')!
      expect(view.state).toBe('done')
      const detail = await at.studio.runDetail({ project: 'Demo', id })
      expect(JSON.stringify(detail)).not.toContain(first.workspace + path.sep)
      expect(detail.checkpoints.map(({ step }) => step)).toContain(stopAfter - 1)
    }
    stopAfter = 0
    await at.studio.resumeRun({ project: 'Demo', id })
    await settled(at)
    const done = (await outerRuns(at)).find((run) => run.id === id)!
    expect([done.error, done.state, done.stretch?.resumedFrom]).toEqual([null, 'done', 2])
    expect(await losses(at, id)).toEqual(expected)
    const folder = path.join(at.workspace, 'projects/Demo/runs', id)
    expect(readFileSync(path.join(folder, 'spec.json'), 'utf8')).not.toContain(first.workspace + path.sep)
    expect(at.problems).toEqual([])
  }, 60_000)
})

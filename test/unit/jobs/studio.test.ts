/** The app without its window: pipelines from start to end, and everything that can go wrong on the way. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { inProcessSpawner, forkSpawner, stubbornEngine, type InProcessChild } from './fake-child'
import { demoPipeline, testStudio, until, type TestStudio } from './test-studio'

let test: TestStudio
const open: TestStudio[] = []

async function start(options: Parameters<typeof testStudio>[0] = {}): Promise<TestStudio> {
  test = testStudio(options)
  open.push(test)
  await test.studio.start()
  await test.studio.openDemo()
  return test
}

beforeEach(() => {
  process.env.FAKE_ENGINE_MS = '1'
})
afterEach(async () => {
  for (const one of open) await one.studio.shutdown(0)
  for (const one of open.splice(0)) one.remove()
})

const all = { kind: 'all' } as const
const stateOfStep = async (id: string) =>
  (await test.studio.pipeline('Demo')).steps.find((step) => step.id === id)!.state
const settled = async () => {
  const { state } = await test.studio.pipeline('Demo')
  return state !== 'running' && state !== 'stopping' && !test.studio.queue.busy
}
const runOf = async (step: string) => (await test.studio.listRuns('Demo')).find((run) => run.step === step)!

describe('the pipeline', () => {
  it('runs all steps in order, each with what the earlier ones left', async () => {
    await start()
    expect((await test.studio.pipeline('Demo')).steps.map((step) => step.state)).toEqual([
      'ready',
      'ready',
      'ready',
      'waiting',
      'waiting',
    ])
    const queued = await test.studio.startSteps('Demo', all)
    expect(queued.steps.slice(1).map((step) => step.state)).toEqual(['queued', 'queued', 'queued', 'queued'])
    await until(settled, 'the pipeline ends')
    const view = await test.studio.pipeline('Demo')
    expect(view).toMatchObject({ state: 'done', done: 5, total: 5, next: null })
    expect(view.system!.links.every((link) => link.trained)).toBe(true)
    expect(view.system!.links.map((link) => link.key)).toEqual([
      'planner',
      'critic',
      'solver',
      'outer_12',
      'outer_23',
      'outer_31',
    ])
    const inner = await runOf('inner-critic')
    const evaluation = await test.studio.runDetail({ project: 'Demo', id: (await runOf('trained-2')).id })
    expect((evaluation.spec.agents as { innerLink: string }[])[1].innerLink).toBe(
      path.join(test.workspace, 'projects/Demo/runs', inner.id, 'checkpoints/step-20'),
    )
    expect(evaluation.spec.outerLinks).toContain('checkpoints/step-20')
    expect(evaluation.folder).toBe(path.join(test.workspace, 'projects/Demo/results', evaluation.id))
    expect(test.problems).toEqual([])
    expect(test.idle()).toBeGreaterThan(0)
  })

  it('tells the page of every state, every metric once and in order, and the whole log', async () => {
    await start()
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'the step ends')
    const { id } = await runOf('inner-planner')
    const states = test.of('run/changed').map(({ run }) => run.state)
    expect([...new Set(states)]).toEqual(['queued', 'running', 'done'])
    await until(() => test.of('run/metrics').flatMap(({ points }) => points).length >= 20, 'all metrics are sent')
    const steps = test.of('run/metrics').flatMap(({ points }) => points.map((point) => point.step))
    expect(steps).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    const file = path.join(test.workspace, 'projects/Demo/runs', id, 'log.txt')
    await until(
      () =>
        test
          .of('run/log')
          .map(({ text }) => text)
          .join('').length === statSync(file).size,
      'the log is sent',
    )
    expect(
      test
        .of('run/log')
        .map(({ text }) => text)
        .join(''),
    ).toBe(readFileSync(file, 'utf8'))
    const last = test.of('pipeline/changed').at(-1)!.pipeline
    expect(last.steps[0].state).toBe('done')
  })

  it('goes on with what is left after a stop', async () => {
    process.env.FAKE_ENGINE_MS = '20'
    await start()
    await test.studio.startSteps('Demo', all)
    await until(async () => ((await runOf('inner-planner')).progress?.done ?? 0) >= 3, 'three steps are done')
    await test.studio.stopPipeline('Demo')
    await until(settled, 'the pipeline stops')
    expect(await stateOfStep('inner-planner')).toBe('paused')
    expect(await stateOfStep('inner-critic')).toBe('ready')
    const stoppedAt = (await runOf('inner-planner')).lastMetrics!.step
    expect(stoppedAt).toBeLessThan(20)
    process.env.FAKE_ENGINE_MS = '1'
    await test.studio.startSteps('Demo', all)
    await until(settled, 'the pipeline ends')
    expect(await test.studio.pipeline('Demo')).toMatchObject({ state: 'done', done: 5 })
    const runs = await test.studio.listRuns('Demo')
    expect(runs.filter((run) => run.step === 'inner-planner')).toHaveLength(1)
    const metrics = await test.studio.runMetrics({ project: 'Demo', id: runs.at(-1)!.id }, 1000)
    expect(metrics.points.map((point) => point.step)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  })

  it('stops at a failed step, shows the cause, and lets what needs it wait', async () => {
    await start({ pipeline: demoPipeline({ 'inner-critic': { seed: 666 } }) })
    await test.studio.startSteps('Demo', all)
    await until(settled, 'the pipeline ends')
    expect((await test.studio.pipeline('Demo')).steps.map((step) => step.state)).toEqual([
      'done',
      'failed',
      'done',
      'waiting',
      'waiting',
    ])
    const failed = await test.studio.runDetail({ project: 'Demo', id: (await runOf('inner-critic')).id })
    expect(failed.error).toEqual({ what: 'It failed.', why: 'The seed is 666.', next: 'Take another seed.' })
    expect(failed.logTail).toContain('It failed. The seed is 666.')
    expect(failed.resumable).toBe(true)
  })

  it.each([
    [667, 'a defect'],
    [668, 'without saying how'],
  ])('takes an engine that throws or says nothing (seed %i) for failed', async (seed, why) => {
    await start({ pipeline: demoPipeline({ 'inner-planner': { seed } }) })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'the step ends')
    const run = await runOf('inner-planner')
    expect(run.state).toBe('failed')
    expect(run.error!.why).toContain(why)
  })

  it('refuses a step whose requirements are not done, an unknown one, and one that goes on', async () => {
    process.env.FAKE_ENGINE_MS = '20'
    await start()
    const one = (step: string) => test.studio.startSteps('Demo', { kind: 'one', step })
    await expect(one('outer')).rejects.toThrow('Inner link: planner')
    await expect(one('nonsense')).rejects.toThrow(UserError)
    await one('inner-planner')
    await expect(one('inner-planner')).rejects.toThrow('already')
    await expect(test.studio.deleteRun({ project: 'Demo', id: (await runOf('inner-planner')).id })).rejects.toThrow(
      UserError,
    )
  })

  it('runs a done step again as a run of its own, and takes the newest result', async () => {
    await start()
    await test.studio.startSteps('Demo', all)
    await until(settled, 'the pipeline ends')
    const again = await test.studio.startRun('Demo', 'trained-2')
    await until(settled, 'the second evaluation ends')
    const runs = (await test.studio.listRuns('Demo')).filter((run) => run.step === 'trained-2')
    expect(runs).toHaveLength(2)
    const table = await test.studio.comparison('Demo')
    expect(table.columns).toEqual([{ rounds: 2, title: '2 rounds' }])
    expect(table.rows).toEqual([
      { system: 'trained', title: 'Trained links', cells: [expect.objectContaining({ result: again.id })] },
    ])
  })

  it('queues every step once, however often it is asked at the same moment', async () => {
    process.env.FAKE_ENGINE_MS = '20'
    await start()
    await Promise.all([
      test.studio.startSteps('Demo', all),
      test.studio.startSteps('Demo', all),
      test.studio.startRun('Demo', 'inner-planner').catch(() => undefined),
    ])
    const steps = (await test.studio.listRuns('Demo')).map((run) => run.step)
    expect(steps.sort()).toEqual(['inner-critic', 'inner-planner', 'inner-solver', 'outer', 'trained-2'])
  })

  it('stops whole at any moment, also while a step is about to start', async () => {
    await start()
    for (let i = 0; i < 5; i++) {
      const starting = test.studio.startSteps('Demo', all)
      await until(() => test.studio.queue.busy, 'the first step is about to start')
      await test.studio.stopPipeline('Demo')
      await starting
      await test.studio.stopPipeline('Demo')
      await until(settled, 'everything stops')
      expect((await test.studio.pipeline('Demo')).steps.at(-1)!.state).toBe('waiting')
    }
    expect(test.problems).toEqual([])
  })

  it('names the runs that were given links of a run', async () => {
    await start()
    await test.studio.startSteps('Demo', all)
    await until(settled, 'the pipeline ends')
    const dependents = async (step: string) =>
      (await test.studio.dependents({ project: 'Demo', id: (await runOf(step)).id })).map(({ title }) => title)
    expect(await dependents('inner-critic')).toEqual(['Trained links, 2 rounds', 'Outer links'])
    expect(await dependents('outer')).toEqual(['Trained links, 2 rounds'])
    expect(await dependents('trained-2')).toEqual([])
  })

  it('takes other links where those that a stopped run had are gone, and keeps them where they are there', async () => {
    process.env.FAKE_ENGINE_MS = '1'
    await start()
    for (const role of ['planner', 'critic', 'solver'])
      await test.studio.startSteps('Demo', { kind: 'one', step: `inner-${role}` })
    await until(settled, 'the inner links are trained')
    process.env.FAKE_ENGINE_MS = '20'
    await test.studio.startSteps('Demo', { kind: 'one', step: 'outer' })
    await until(async () => (await runOf('outer')).lastMetrics !== null, 'the outer run goes')
    const outer = { project: 'Demo', id: (await runOf('outer')).id }
    const innerLinks = async () =>
      ((await test.studio.runDetail(outer)).spec.agents as { innerLink: string }[]).map(({ innerLink }) => innerLink)
    // What the engine saved, as a real one would.
    mkdirSync(path.join((await test.studio.runDetail(outer)).folder, 'checkpoints/step-1'), { recursive: true })
    await test.studio.cancelRun(outer)
    await until(settled, 'the outer run stops')
    expect(await runOf('outer')).toMatchObject({ state: 'paused', checkpointStep: 1 })
    const old = await runOf('inner-planner')
    process.env.FAKE_ENGINE_MS = '1'
    await test.studio.startRun('Demo', 'inner-planner')
    await until(settled, 'a newer inner link is trained')
    const kept = await innerLinks()
    process.env.FAKE_ENGINE_MS = '20'
    await test.studio.resumeRun(outer)
    await until(async () => (await runOf('outer')).stretch?.resumedFrom !== null, 'it goes on')
    await test.studio.cancelRun(outer)
    await until(settled, 'it stops')
    expect(await innerLinks()).toEqual(kept)
    expect(kept[0]).toContain(old.id)

    for (const run of await test.studio.listRuns('Demo'))
      if (run.step === 'inner-planner') await test.studio.deleteRun({ project: 'Demo', id: run.id })
    await test.studio.resumeRun(outer)
    await until(settled, 'it is refused')
    expect((await test.studio.runDetail(outer)).history.at(-1)).toMatchObject({
      state: 'paused',
      detail: 'The step "inner-planner" that it needs is not done.',
    })
    process.env.FAKE_ENGINE_MS = '1'
    await test.studio.startSteps('Demo', { kind: 'one', step: 'inner-planner' })
    await until(settled, 'the inner link is trained again')
    await test.studio.resumeRun(outer)
    await until(settled, 'the outer run ends')
    expect(await runOf('outer')).toMatchObject({ state: 'done', stretch: { resumedFrom: null } })
    expect((await innerLinks())[0]).toContain((await runOf('inner-planner')).id)
    const detail = (await test.studio.runDetail(outer)).history.flatMap((entry) => entry.detail ?? [])
    expect(detail.at(-1)).toContain(old.id)
  })

  it('starts nothing where the disk takes nothing, and says why', async () => {
    await start()
    // What stands in the way is a file here; a full or read-only disk fails at the same place.
    writeFileSync(path.join(test.workspace, 'projects/Demo/runs'), '')
    await expect(test.studio.startSteps('Demo', all)).rejects.toThrow(UserError)
    expect(test.studio.queue.busy).toBe(false)
    expect(await test.studio.listRuns('Demo').catch(() => [])).toEqual([])
    rmSync(path.join(test.workspace, 'projects/Demo/runs'))
    await test.studio.startSteps('Demo', all)
    await until(settled, 'the pipeline ends')
    expect((await test.studio.pipeline('Demo')).state).toBe('done')
  })

  it('deletes a run with its folder and says so', async () => {
    await start()
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'the step ends')
    const { id } = await runOf('inner-planner')
    const folder = path.join(test.workspace, 'projects/Demo/runs', id)
    expect(await test.studio.deleteRun({ project: 'Demo', id })).toBeGreaterThan(0)
    expect(existsSync(folder)).toBe(false)
    expect(test.of('run/removed')).toEqual([{ project: 'Demo', run: id }])
    expect(await stateOfStep('inner-planner')).toBe('ready')
  })
})

describe('an engine that goes away', () => {
  it('leaves an interrupted run that goes on where it was', async () => {
    process.env.FAKE_ENGINE_MS = '20'
    const children: InProcessChild[] = []
    await start({ spawn: inProcessSpawner(children) })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(async () => ((await runOf('inner-planner')).progress?.done ?? 0) >= 3, 'three steps are done')
    children[0].die(11)
    await until(settled, 'the death is noticed')
    const run = await runOf('inner-planner')
    expect(run).toMatchObject({ state: 'interrupted', resumable: true, queuePosition: null })
    expect(run.error!.why).toContain('code 11')
    process.env.FAKE_ENGINE_MS = '1'
    await test.studio.resumeRun({ project: 'Demo', id: run.id })
    await until(settled, 'the run ends')
    expect(await runOf('inner-planner')).toMatchObject({ id: run.id, state: 'done', error: null })
  })

  it('that hears nothing any more is ended after the grace time, and the run can be resumed', async () => {
    const pids: number[] = []
    await start({ spawn: forkSpawner(stubbornEngine, pids), grace: 200 })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(
      async () => (await runOf('inner-planner')).started !== null && test.of('run/log').length > 0,
      'it computes',
    )
    await test.studio.cancelRun({ project: 'Demo', id: (await runOf('inner-planner')).id })
    expect(await stateOfStep('inner-planner')).toBe('stopping')
    await until(settled, 'it is ended')
    expect(await runOf('inner-planner')).toMatchObject({ state: 'paused', resumable: true })
    expect(() => process.kill(pids[0], 0)).toThrow('ESRCH')
  })

  it('is ended at once when asked twice', async () => {
    await start({ spawn: forkSpawner(stubbornEngine), grace: 1_000_000 })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(() => test.of('run/log').length > 0, 'it computes')
    const key = { project: 'Demo', id: (await runOf('inner-planner')).id }
    await test.studio.cancelRun(key)
    await test.studio.cancelRun(key)
    await until(settled, 'it is ended')
    expect((await runOf('inner-planner')).state).toBe('paused')
  })

  it('killed from outside shows the cause and the last line of its log', async () => {
    const pids: number[] = []
    await start({ spawn: forkSpawner(stubbornEngine, pids) })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(() => test.of('run/log').some(({ text }) => text.includes('for ever')), 'it computes')
    process.kill(pids[0], 'SIGKILL')
    await until(settled, 'the death is noticed')
    const run = await runOf('inner-planner')
    expect(run.state).toBe('interrupted')
    expect(run.error!.why).toMatch(/SIGKILL.*started|SIGKILL.*for ever/)
  })

  it('counts the checkpoint that it saved and could not tell of', async () => {
    process.env.FAKE_ENGINE_MS = '20'
    const children: InProcessChild[] = []
    await start({ spawn: inProcessSpawner(children) })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(async () => (await runOf('inner-planner')).lastMetrics !== null, 'it computes')
    const key = { project: 'Demo', id: (await runOf('inner-planner')).id }
    const { folder, stretch, started } = await test.studio.runDetail(key)
    expect(stretch).toMatchObject({ resumedFrom: null })
    expect(stretch!.time).toBeGreaterThanOrEqual(started!)
    mkdirSync(path.join(folder, 'checkpoints/step-7'), { recursive: true })
    mkdirSync(path.join(folder, 'checkpoints/.incomplete-step-8-1-ab'))
    children[0].die(9)
    await until(settled, 'the death is noticed')
    expect((await runOf('inner-planner')).checkpointStep).toBe(7)
    await start({ again: test })
    expect((await runOf('inner-planner')).checkpointStep).toBe(7)
  })

  it('that cannot be started at all is a failed run, and the app goes on', async () => {
    await start({
      spawn: () => {
        throw new Error('no such program')
      },
    })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'it fails')
    expect(await runOf('inner-planner')).toMatchObject({ state: 'failed', error: { why: 'no such program.' } })
  })

  it('that talks nonsense is reported and does no harm', async () => {
    await start({
      spawn: (listener) => {
        setTimeout(() => listener.message({ kind: 'event', event: { kind: 'finished' } }), 1)
        setTimeout(() => listener.exit(0, null), 5)
        return { pid: undefined, send: () => undefined, kill: () => undefined }
      },
    })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'it ends')
    expect((await runOf('inner-planner')).state).toBe('failed')
    expect(test.problems).toHaveLength(1)
  })
})

describe('the Demo project', () => {
  const project = () => path.join(test.workspace, 'projects/Demo')

  it('is made whole after a start that was cut off before its project.json', async () => {
    await start()
    const assets = readdirSync(path.join(project(), 'assets'))
    rmSync(path.join(project(), 'project.json'))
    rmSync(path.join(project(), 'assets/models'), { recursive: true })
    mkdirSync(path.join(project(), '.incomplete-assets-1-ab'))
    await start({ again: test })
    expect(readdirSync(path.join(project(), 'assets'))).toEqual(assets)
    expect(readdirSync(project()).sort()).toEqual(['assets', 'project.json'])
    expect((await test.studio.pipeline('Demo')).state).toBe('ready')
  })

  it('is made once where several ask for it at the same moment', async () => {
    test = testStudio()
    open.push(test)
    await test.studio.start()
    const views = await Promise.all([1, 2, 3].map(() => test.studio.openDemo()))
    expect(views.map(({ name }) => name)).toEqual(['Demo', 'Demo', 'Demo'])
    expect(test.of('projects/changed')).toHaveLength(1)
  })
})

describe('the next start of the app', () => {
  /** As after a power cut: run.json says running, and the heart beats no more. */
  async function powerCut(
    heartbeat: ((started: number) => object) | null,
    lines: (started: number) => object[] = () => [],
  ): Promise<string> {
    process.env.FAKE_ENGINE_MS = '1'
    await start()
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'the step ends')
    const run = await runOf('inner-planner')
    const folder = path.join(test.workspace, 'projects/Demo/runs', run.id)
    const record = JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8'))
    record.history = record.history.slice(0, 2)
    writeFileSync(path.join(folder, 'run.json'), JSON.stringify(record))
    const started = { kind: 'started', time: run.started, job: 'inner', resumedFrom: null }
    writeFileSync(
      path.join(folder, 'journal.jsonl'),
      [started, ...lines(run.started!)].map((l) => JSON.stringify(l) + '\n').join(''),
    )
    appendFileSync(path.join(folder, 'journal.jsonl'), '{"kind":"progress","ti')
    if (heartbeat) writeFileSync(path.join(folder, 'heartbeat.json'), JSON.stringify(heartbeat(run.started!)))
    await start({ again: test })
    return run.id
  }

  it('shows a run without a living engine as interrupted, with the time until its last beat', async () => {
    let beat = 0
    await powerCut(
      (started) => ({ pid: 2 ** 22 + 1, time: (beat = started + 5), memoryBytes: 1 }),
      (time) => [{ kind: 'phase', time, phase: 'work', title: 'Working', total: 20, unit: 'steps' }],
    )
    const run = await runOf('inner-planner')
    expect(run).toMatchObject({ state: 'interrupted', resumable: true, ended: beat })
    expect(run.progress).toMatchObject({ done: 20, total: 20, rate: null })
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'the step ends')
    expect((await runOf('inner-planner')).state).toBe('done')
  })

  it('is not fooled by how an earlier stretch ended', async () => {
    const stopped = { kind: 'stopped', time: 1000, step: 3, resumable: true }
    process.env.FAKE_ENGINE_MS = '1'
    await powerCut(null)
    const folder = path.join(test.workspace, 'projects/Demo/runs', (await runOf('inner-planner')).id)
    const record = JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8'))
    record.history = record.history.slice(0, 2)
    writeFileSync(path.join(folder, 'run.json'), JSON.stringify(record))
    // Killed before the engine said that it started.
    writeFileSync(path.join(folder, 'journal.jsonl'), JSON.stringify(stopped) + '\n')
    await start({ again: test })
    expect((await runOf('inner-planner')).state).toBe('interrupted')
  })

  it('is not fooled by a process that has the number now', async () => {
    await powerCut(() => ({ pid: process.pid, time: Date.now() - 60_000, memoryBytes: 1 }))
    expect((await runOf('inner-planner')).state).toBe('interrupted')
  })

  it('leaves a run alone whose engine still lives', async () => {
    await powerCut(() => ({ pid: process.pid, time: Date.now(), memoryBytes: 1 }))
    expect((await runOf('inner-planner')).state).toBe('running')
  })

  /** An engine that an app left which is gone. */
  async function foreignEngine(): Promise<ChildProcess> {
    const engine = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    await powerCut(() => ({ pid: engine.pid, time: Date.now(), memoryBytes: 1 }))
    expect((await runOf('inner-planner')).state).toBe('running')
    return engine
  }

  it('stops such a run by ending its engine', async () => {
    const engine = await foreignEngine()
    const exited = once(engine, 'exit')
    await test.studio.stopPipeline('Demo')
    expect(await exited).toEqual([null, 'SIGKILL'])
    expect(await runOf('inner-planner')).toMatchObject({ state: 'paused', resumable: true, error: null })
  })

  it('tells the page when such an engine has ended, without being asked', async () => {
    const engine = await foreignEngine()
    await start({ again: test, lookEvery: 20 })
    const exited = once(engine, 'exit')
    engine.kill('SIGKILL')
    await exited
    const told = () => test.of('run/changed').map(({ run }) => run.state)
    await until(() => told().includes('interrupted'), 'the page is told')
    expect(told()).toEqual(['interrupted'])
    await until(() => test.of('pipeline/changed').length > 0, 'its pipeline is told')
    expect(test.of('pipeline/changed').at(-1)!.pipeline.steps[0].state).toBe('interrupted')
  })

  it('never ends itself by a heartbeat that is wrong', async () => {
    await powerCut(() => ({ pid: process.pid, time: Date.now(), memoryBytes: 1 }))
    await expect(test.studio.stopPipeline('Demo')).rejects.toThrow('no engine')
  })

  it('names a run.json that is damaged, and leaves it as it is', async () => {
    await start()
    await test.studio.startSteps('Demo', { kind: 'next' })
    await until(settled, 'the step ends')
    const file = path.join(test.workspace, 'projects/Demo/runs', (await runOf('inner-planner')).id, 'run.json')
    writeFileSync(file, '{"version": 1,')
    await start({ again: test })
    expect(test.problems).toHaveLength(1)
    expect(test.problems[0]).toBeInstanceOf(UserError)
    expect((test.problems[0] as UserError).what).toContain(file)
    expect(readFileSync(file, 'utf8')).toBe('{"version": 1,')
  })

  it('takes the journal at its word where it has the end', async () => {
    let time = 0
    const id = await powerCut(null, (started) => {
      time = started + 5
      return [{ kind: 'finished', time, seconds: 1, checkpoint: '/somewhere' }]
    })
    expect(await runOf('inner-planner')).toMatchObject({ id, state: 'done', ended: time })
  })

  it('starts nothing by itself that was waiting', async () => {
    process.env.FAKE_ENGINE_MS = '50'
    await start()
    await test.studio.startSteps('Demo', all)
    await until(async () => (await runOf('inner-planner')).state === 'running', 'the first step runs')
    await test.studio.shutdown(0)
    await start({ again: test })
    expect((await test.studio.pipeline('Demo')).steps.map((step) => step.state)).toEqual([
      'paused',
      'ready',
      'ready',
      'waiting',
      'waiting',
    ])
    expect(test.studio.queue.busy).toBe(false)
  })
})

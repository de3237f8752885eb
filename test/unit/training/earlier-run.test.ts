/** Output folders that hold an earlier run, and how a run ends. */
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkSameSettings, setAsideEarlierRun, writeStart } from '../../../src-main/engine/earlier-run'
import { UserError } from '../../../src-main/engine/errors'
import type { JobEvent } from '../../../src-main/engine/job-events'
import { jobSpec, type JobSpecInput } from '../../../src-main/engine/job-spec'
import { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { EngineSession } from '../../../src-main/engine/onnx/session'
import { RunFolder } from '../../../src-main/engine/run-folder'
import { agents, demo, jsonLines, run, Workplace } from './run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => {
  vi.restoreAllMocks()
  place.dispose()
})

const training = (more: object = {}): JobSpecInput => ({
  kind: 'inner',
  role: 'planner',
  model: demo('models/planner'),
  promptPack: demo('prompt-pack.json'),
  data: { file: demo('train.jsonl'), limit: 12 },
  steps: 6,
  batchSize: 4,
  logEvery: 1,
  saveEvery: 2,
  output: place.path('run'),
  validation: { data: { file: demo('validation.jsonl'), limit: 3 }, every: 3, latentSteps: 4 },
  ...more,
})
const numbers = (kind: JobEvent['kind'], folder = 'run') =>
  jsonLines<JobEvent & { step: number }>(place.path(`${folder}/metrics.jsonl`))
    .filter((e) => e.kind === kind)
    .map((e) => e.step)

describe('a fresh run in a used folder', () => {
  it('starts anew, and resuming goes on with it, not with the earlier one, which is kept', async () => {
    await run(training())
    const fresh = await run(training({ steps: 5 }), { stopAt: (e) => e.kind === 'metrics' && e.step === 1 })
    expect(fresh.of('started')[0].resumedFrom).toBeNull()
    expect(fresh.last).toMatchObject({ kind: 'stopped', step: 1 })
    expect(fresh.of('log').map((l) => l.message)).toContainEqual(expect.stringContaining(place.path('run/earlier-1')))
    const again = await run(training({ steps: 5 }), { resume: true })
    expect(again.of('started')[0].resumedFrom).toBe(1)
    expect(again.losses().map(([step]) => step)).toEqual([2, 3, 4, 5])
    expect(numbers('metrics')).toEqual([1, 2, 3, 4, 5])
    expect(numbers('metrics', 'run/earlier-1')).toEqual([1, 2, 3, 4, 5, 6])
    expect(existsSync(place.path('run/earlier-1/checkpoints/step-6/manifest.json'))).toBe(true)
    expect(JSON.parse(readFileSync(place.path('run/earlier-1/spec.json'), 'utf8'))).toMatchObject({ steps: 6 })
  })

  it('leaves alone what is not a run, and gives every earlier run a folder of its own', async () => {
    writeFileSync(place.path('notes.txt'), 'mine')
    expect(await setAsideEarlierRun(place.folder)).toBeNull()
    for (const name of ['earlier-1', 'earlier-2']) {
      writeFileSync(place.path('samples.jsonl'), name)
      expect(await setAsideEarlierRun(place.folder)).toBe(name)
      expect(readFileSync(place.path(`${name}/samples.jsonl`), 'utf8')).toBe(name)
    }
    expect(existsSync(place.path('notes.txt'))).toBe(true)
  })
})

describe('a run that was killed before its first checkpoint', () => {
  it('says every step and judgement once when it is resumed', async () => {
    const spec = training({ saveEvery: 500, validation: undefined })
    const whole = await run({ ...spec, output: place.path('whole') })
    await run(spec, { stopAt: (e) => e.kind === 'metrics' && e.step === 3 })
    rmSync(place.path('run/checkpoints'), { recursive: true })
    expect(numbers('metrics')).toEqual([1, 2, 3])
    const again = await run(spec, { resume: true })
    expect(again.of('started')[0].resumedFrom).toBeNull()
    expect(again.losses()).toEqual(whole.losses())
    expect(numbers('metrics')).toEqual([1, 2, 3, 4, 5, 6])
    // judged at step 0 as well
    const judged = training({ output: place.path('judged'), saveEvery: 500 })
    await run(judged, { stopAt: (e) => e.kind === 'metrics' && e.step === 2 })
    rmSync(place.path('judged/checkpoints'), { recursive: true })
    const asked = await run(judged, { resume: true })
    expect(numbers('validation', 'judged')).toEqual(asked.of('validation').map((v) => v.step))
  })
})

describe('resuming with other settings', () => {
  it('is refused by their names, and the stored ones stay', async () => {
    await run(training(), { stopAt: (e) => e.kind === 'metrics' && e.step === 2 })
    const stored = readFileSync(place.path('run/spec.json'), 'utf8')
    const heard = await run(training({ linkType: 'res_adapter', learningRate: 1 }), { resume: true })
    expect(heard.failure).toMatch(/cannot be resumed.*: (linkType, learningRate|learningRate, linkType)\./)
    expect(heard.of('started')).toEqual([])
    expect(readFileSync(place.path('run/spec.json'), 'utf8')).toBe(stored)
    // how long and how often is free
    const more = await run(training({ steps: 7, saveEvery: 3, logEvery: 2 }), { resume: true })
    expect(more.failure).toBe('')
    expect(more.of('metrics').map((m) => m.step)).toEqual([4, 6, 7])
  })

  const outer = { kind: 'outer', agents, data: { file: 'train.jsonl' }, output: '' } as const
  const evaluate = { kind: 'evaluate', agents, data: { file: 'test.jsonl' }, output: '' } as const
  const otherAgents = agents.map((a, i) => (i === 1 ? { ...a, innerLink: '/links/critic' } : a))
  it.each([
    [outer, { states: 'self-fed' }, 'states'],
    [outer, { feedback: 'same' }, 'feedback'],
    [outer, { rounds: { from: 1, to: 3 } }, 'rounds'],
    [outer, { agents: otherAgents }, 'agents'],
    [outer, { data: { file: 'train.jsonl', limit: 5 } }, 'data.limit'],
    [outer, { threads: 2, steps: 9, keepLast: 1, cache: '/cache' }, null],
    [outer, evaluate, 'kind'],
    [evaluate, { outerLinks: '/links/outer' }, 'outerLinks'],
    [evaluate, { rounds: 1 }, 'rounds'],
    [evaluate, { generation: { maxNewTokens: 9 } }, 'generation.maxNewTokens'],
    [evaluate, { batchSize: 1, threads: 2 }, null],
  ] as const)('%#', async (first, change, named) => {
    const spec = (more: object) => jobSpec.parse({ ...first, ...more, output: place.folder })
    writeFileSync(place.path('spec.json'), JSON.stringify(spec({})))
    const outcome = await checkSameSettings(spec(change)).catch((error: unknown) => error as UserError)
    if (named === null) expect(outcome).toBeNull()
    else expect((outcome as UserError).why).toContain(named)
    expect(await checkSameSettings(spec({}))).toBeNull()
  })

  describe('and links', () => {
    const link = (name: string, content: string): string => {
      mkdirSync(place.path(name), { recursive: true })
      writeFileSync(place.path(`${name}/links.safetensors`), content)
      return place.path(name)
    }
    const spec = (outerLinks: string, output = place.path('run')) => jobSpec.parse({ ...evaluate, outerLinks, output })

    it('compares what they hold, not where they lie', async () => {
      const first = link('first', 'weights')
      await writeStart(spec(first))
      cpSync(first, place.path('copy'), { recursive: true })
      expect(await checkSameSettings(spec(place.path('copy')))).toBeNull()
      await expect(checkSameSettings(spec(link('other', 'other weights')))).rejects.toThrow(/outerLinks/)
      // trained again into the same folder
      link('first', 'other weights')
      const refused = await checkSameSettings(spec(first)).catch((error: unknown) => error as UserError)
      expect((refused as UserError).why).toContain(`${first} holds other links now.`)
      // whoever opens it says that it is gone
      rmSync(first, { recursive: true })
      expect(await checkSameSettings(spec(first))).toBeNull()
    })

    it('as well as prompts and a style of one’s own', async () => {
      for (const [field, file] of [['promptPack', 'pack.json'], ['style', 'style.json']]) {
        const job = (path: string) => jobSpec.parse({ ...evaluate, [field]: path, output: place.path(`run-${field}`) })
        mkdirSync(place.path(`run-${field}`))
        writeFileSync(place.path(file), 'one')
        writeFileSync(place.path(`copy-${file}`), 'one')
        await writeStart(job(place.path(file)))
        expect(await checkSameSettings(job(place.path(`copy-${file}`)))).toBeNull()
        writeFileSync(place.path(file), 'two')
        const refused = await checkSameSettings(job(place.path(file))).catch((error: unknown) => error as UserError)
        expect((refused as UserError).why).toContain(`${place.path(file)} holds something else now.`)
      }
    })

    it('compares them by path where an earlier version kept nothing else, also after a move of both', async () => {
      const first = link('lab/first', 'weights')
      mkdirSync(place.path('lab/run'))
      writeFileSync(place.path('lab/run/spec.json'), JSON.stringify(spec(first, place.path('lab/run'))))
      renameSync(place.path('lab'), place.path('moved'))
      const output = place.path('moved/run')
      expect(await checkSameSettings(spec(place.path('moved/first'), output))).toBeNull()
      await expect(checkSameSettings(spec(link('moved/second', 'weights'), output))).rejects.toThrow(/outerLinks/)
    })
  })

  it('cannot be told where the stored settings are lost', async () => {
    const spec = jobSpec.parse({ ...outer, output: place.folder })
    expect(await checkSameSettings(spec)).toBeNull()
    writeFileSync(place.path('spec.json'), '{"kind": "out')
    expect(await checkSameSettings(spec)).toMatch(/spec\.json cannot be read/)
  })
})

describe('the end of a run', () => {
  const ending = (e: JobEvent) => ['finished', 'stopped', 'failed'].includes(e.kind)
  function fullDiskAt(kind: JobEvent['kind']): void {
    const write = RunFolder.prototype.write
    vi.spyOn(RunFolder.prototype, 'write').mockImplementation(function (this: RunFolder, event) {
      if (event.kind === kind) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      write.call(this, event)
    })
  }

  it('is said once, also when the journal cannot take it', async () => {
    fullDiskAt('stopped')
    const stopped = await run(training(), { stopAt: (e) => e.kind === 'metrics' && e.step === 2 })
    expect(stopped.events.filter(ending)).toMatchObject([{ kind: 'stopped', step: 2 }])
    vi.restoreAllMocks()
    fullDiskAt('finished')
    const finished = await run(training(), { resume: true })
    expect(finished.events.filter(ending)).toMatchObject([{ kind: 'failed', what: expect.stringMatching(/journal/) }])
    expect(finished.failure).toMatch(/disk is full/)
  })

  it('names the cause where a session could not be opened', async () => {
    const links = new LinkSessions({ threads: 1 })
    vi.spyOn(EngineSession, 'open').mockRejectedValueOnce(new Error('no memory'))
    const link = links.link({ kind: 'inner', type: 'ln_res_adapter', width: 4 })
    await expect(link.forward({}, new Float32Array(4))).rejects.toThrow('no memory')
    await links.dispose()
  })
})

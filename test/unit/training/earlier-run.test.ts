/** Output folders that hold an earlier run, and how a run ends. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkSameSettings, setAsideEarlierRun, takeOver } from '../../../src-main/engine/earlier-run'
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
      await takeOver(spec(first), true)
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

    it('goes on saying what a link held that could not be read', async () => {
      const first = link('first', 'weights')
      await takeOver(spec(first), true)
      rmSync(first, { recursive: true })
      await takeOver(spec(first), true)
      await expect(checkSameSettings(spec(link('first', 'other weights')))).rejects.toThrow(/holds other links now/)
      link('first', 'weights')
      expect(await checkSameSettings(spec(first))).toBeNull()
    })

    it('compares one that was not there at the start by its path', async () => {
      await takeOver(spec(place.path('later')), true)
      expect(await checkSameSettings(spec(link('later', 'weights')))).toBeNull()
      await expect(checkSameSettings(spec(link('other', 'weights')))).rejects.toThrow(/outerLinks/)
    })

    it('as well as prompts and a style of one’s own', async () => {
      for (const [field, file] of [
        ['promptPack', 'pack.json'],
        ['style', 'style.json'],
      ]) {
        const job = (path: string) => jobSpec.parse({ ...evaluate, [field]: path, output: place.path(`run-${field}`) })
        mkdirSync(place.path(`run-${field}`))
        writeFileSync(place.path(file), 'one')
        writeFileSync(place.path(`copy-${file}`), 'one')
        await takeOver(job(place.path(file)), true)
        expect(await checkSameSettings(job(place.path(`copy-${file}`)))).toBeNull()
        writeFileSync(place.path(file), 'two')
        const refused = await checkSameSettings(job(place.path(file))).catch((error: unknown) => error as UserError)
        expect((refused as UserError).why).toContain(`${place.path(file)} holds something else now.`)
      }
    })

    it('as well as data, to train and to judge with', async () => {
      const [data, heldOut] = [place.path('rows.jsonl'), place.path('held-out.jsonl')]
      const job = (file: string) =>
        jobSpec.parse({ ...outer, data: { file }, validation: { data: { file: heldOut } }, output: place.path('run') })
      mkdirSync(place.path('run'))
      for (const file of [data, heldOut, place.path('copy.jsonl')]) writeFileSync(file, 'one')
      await takeOver(job(data), true)
      expect(await checkSameSettings(job(place.path('copy.jsonl')))).toBeNull()
      for (const [file, field] of [
        [data, 'data.file'],
        [heldOut, 'validation.data.file'],
      ]) {
        writeFileSync(file, 'two')
        const refused = await checkSameSettings(job(data)).catch((error: unknown) => error as UserError)
        expect((refused as UserError).why).toMatch(new RegExp(`: ${field}\\. ${file} holds other data now\\.$`))
        writeFileSync(file, 'one')
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

describe('a job that cannot begin', () => {
  /** Every file below a folder with its content, and every folder. */
  const content = (folder: string): Record<string, string> =>
    Object.fromEntries(
      (readdirSync(folder, { recursive: true }) as string[])
        .sort()
        .map((name) => [
          name,
          statSync(join(folder, name)).isDirectory() ? '' : readFileSync(join(folder, name), 'latin1'),
        ]),
    )

  async function expectUntouched(spec: JobSpecInput, why: RegExp, resume: boolean): Promise<void> {
    const before = content(place.path('run'))
    const heard = await run(spec, { resume })
    expect(heard.failure).toMatch(why)
    expect(content(place.path('run'))).toEqual(before)
  }

  it.each([false, true])('leaves its folder as it was (resumed: %s)', async (resume) => {
    const stopAt = (e: JobEvent) => e.kind === 'metrics' && e.step === 3
    const model = place.copyModel('planner')
    const data = place.path('rows.jsonl')
    cpSync(demo('train.jsonl'), data)
    const spec = training({ model, data: { file: data, limit: 12 } })
    await run(spec, { stopAt })
    const others = { ...spec, steps: 9, threads: 2 }
    cpSync(data, place.path('kept.jsonl'))
    rmSync(data)
    await expectUntouched(others, /rows\.jsonl does not exist/, resume)
    renameSync(place.path('kept.jsonl'), data)
    if (!resume) await expectUntouched({ ...others, batchSize: 500 }, /A batch needs 500 texts/, resume)
    if (!resume) await expectUntouched(training({ role: 'reviewer' }), /reviewer/, resume)
    rmSync(join(model, 'model.safetensors'))
    await expectUntouched(others, /model\.safetensors/, resume)
  })

  it('does not let what stands at a link’s path then pass for what the run was started with', async () => {
    const evaluate = {
      kind: 'evaluate' as const,
      agents,
      promptPack: demo('prompt-pack.json'),
      data: { file: demo('held-out.jsonl'), limit: 2 },
      rounds: 1,
      latentSteps: 2,
      batchSize: 1,
      generation: { maxNewTokens: 2 },
      grader: 'exact' as const,
      output: place.path('run'),
    }
    const train = (seed: number) =>
      run(training({ output: place.path(`link-${seed}`), seed, steps: 1, validation: undefined }))
    for (const seed of [1, 2]) await train(seed)
    const put = (seed: number) => {
      rmSync(place.path('link'), { recursive: true, force: true })
      cpSync(place.path(`link-${seed}/checkpoints/step-1`), place.path('link'), { recursive: true })
    }
    const spec = { ...evaluate, agents: agents.map((a, i) => (i === 0 ? { ...a, innerLink: place.path('link') } : a)) }
    put(1)
    await run(spec, { stopAt: (e) => e.kind === 'question' })
    rmSync(place.path('link'), { recursive: true })
    await expectUntouched(spec, /link/, true)
    put(2)
    await expectUntouched(spec, /holds other links now/, true)
    put(1)
    expect((await run(spec, { resume: true })).failure).toBe('')
  })
})

it('asks questions again whose right answer is another now', async () => {
  const rows = jsonLines<{ answer: string }>(demo('held-out.jsonl')).slice(0, 2)
  const write = () => writeFileSync(place.path('rows.jsonl'), rows.map((r) => JSON.stringify(r) + '\n').join(''))
  const spec: JobSpecInput = {
    kind: 'evaluate',
    agents,
    promptPack: demo('prompt-pack.json'),
    data: { file: place.path('rows.jsonl') },
    rounds: 1,
    latentSteps: 2,
    generation: { maxNewTokens: 2 },
    grader: 'exact',
    output: place.path('run'),
  }
  write()
  await run(spec)
  rows[1].answer = 'zero'
  write()
  // a run of a version that did not keep what its data held
  rmSync(place.path('run/link-hashes.json'))
  const again = await run(spec, { resume: true })
  expect(again.failure).toBe('')
  expect(again.of('question').map((q) => q.index)).toEqual([1])
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

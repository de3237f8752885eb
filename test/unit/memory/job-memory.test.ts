/** What a job does to fit into the memory that there is, said before any model is loaded; results do not depend on it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { jobSpec, type JobSpecInput } from '../../../src-main/engine/job-spec'
import { inGigabytes } from '../../../src-main/engine/memory/estimate'
import * as machine from '../../../src-main/engine/memory/machine'
import { EngineSession } from '../../../src-main/engine/onnx/session'
import { agents, demo, type Heard, jsonLines, run, Workplace } from '../training/run-demo-job'

vi.mock('../../../src-main/engine/memory/machine', { spy: true })

let place: Workplace
beforeEach(() => void (place = new Workplace()))
afterEach(() => {
  vi.restoreAllMocks()
  place.dispose()
})

const MB = 1e6
type Outer = Extract<JobSpecInput, { kind: 'outer' }>

const training = (output: string, more: Partial<Outer> = {}): JobSpecInput => ({
  ...{ kind: 'outer', agents, output: place.path(output), promptPack: demo('prompt-pack.json') },
  ...{ data: { file: demo('train.jsonl'), limit: 8 }, rounds: 2, steps: 2, batchSize: 2, latentCap: 4, logEvery: 1 },
  ...more,
})

const said = (heard: Heard) => heard.of('memory')[0]
const warnings = (heard: Heard) =>
  heard.of('log').flatMap(({ level, message }) => (level === 'warning' ? [message] : []))

test('the estimate comes before anything is loaded, its parts make its total, and the peak comes at the end', async () => {
  const open = vi.spyOn(EngineSession, 'open')
  let loadedBefore = -1
  const heard = await run(training('run'), {
    stopAt: (event) => {
      if (event.kind === 'memory') loadedBefore = open.mock.calls.length
      return false
    },
  })
  expect(heard.last.kind).toBe('finished')
  expect(loadedBefore).toBe(0)
  const memory = said(heard)
  expect(memory.total).toBe(memory.parts.reduce((n, { bytes }) => n + bytes, 0))
  expect(memory).toMatchObject({ limitFrom: 'free memory', checkpointBlocks: false, loadedInTurn: false })
  const [used] = heard.of('memory-used')
  expect(used).toMatchObject({ estimate: memory.total, loads: 3 })
  expect(used.peak).toBeGreaterThan(100 * MB)
  const journal = jsonLines<{ kind: string }>(join(place.path('run'), 'journal.jsonl')).map(({ kind }) => kind)
  expect(journal).toContain('memory')
  expect(journal.at(-1)).toBe('finished')
  expect(journal.at(-2)).toBe('memory-used')
})

test('with room for one model at a time they are loaded in turn, with the same losses to the bit', async () => {
  const free = await run(training('free'))
  // the next way down from all at once, blocks computed again or not, is one after the other
  const all = said(await run(training('again', { checkpointBlocks: true }))).total
  const tight = await run(training('tight', { memoryLimit: all - 10 * MB, checkpointBlocks: false }))
  expect(tight.failure).toBe('')
  expect(said(tight)).toMatchObject({ loadedInTurn: true, checkpointBlocks: false, limitFrom: 'job' })
  expect(tight.losses()).toEqual(free.losses())
  expect(tight.of('memory-used')[0].loads).toBeGreaterThan(3)
  expect(tight.of('log').some(({ level, message }) => level === 'warning' && /in turn/.test(message))).toBe(true)
})

test('what does not fit even so is refused with the parts, before anything is loaded or written', async () => {
  const open = vi.spyOn(EngineSession, 'open')
  const heard = await run(training('none', { memoryLimit: 140 * MB }))
  expect(heard.failure).toMatch(
    /does not fit into the memory.*one model at a time.*needs about \d+ MB.*140 MB.*runtime 128 MB.*smaller batch/,
  )
  expect(open).not.toHaveBeenCalled()
  expect(() => readFileSync(join(place.path('none'), 'journal.jsonl'))).toThrow('ENOENT')
})

test('limits that cannot be meant are refused or corrected, in words', async () => {
  const mistaken = (memoryLimit: number) => jobSpec.safeParse(training('none', { memoryLimit }))
  for (const limit of [0, -5, 8, 1 * MB])
    expect(mistaken(limit).error!.issues.map(({ path, message }) => [...path, message])).toEqual([
      ['memoryLimit', expect.stringMatching(/bytes, at least 128000000, which the runtime takes.*8 GB are 8000000000/)],
    ])
  const heard = await run(training('huge', { memoryLimit: 9e15 }))
  expect(said(heard)).toMatchObject({ limit: machine.machineMemory(), limitFrom: 'job' })
  expect(warnings(heard)).toEqual([
    expect.stringMatching(/^"memoryLimit" is 9000000.0 GB \(9000000000000000 bytes\), but this machine has .* GB/),
  ])
})

test('a run says where its process came to more than its limit', async () => {
  // the process of the tests is larger than the job in it
  const least = said(await run(training('free'))).total
  const heard = await run(training('more', { memoryLimit: least }))
  const { peak } = heard.of('memory-used')[0]
  expect(peak).toBeGreaterThan(least)
  const more = `The job came to ${inGigabytes(peak!)} at the most, more than the ${inGigabytes(least)} that it may take`
  expect(warnings(heard)).toEqual([expect.stringContaining(more)])
  const journal = jsonLines<{ kind: string; message?: string }>(join(place.path('more'), 'journal.jsonl'))
  expect(journal.at(-2)?.message).toContain(more)
})

test('a run whose limit is beyond what is free now says so', async () => {
  vi.mocked(machine.availableMemory).mockReturnValueOnce(100 * MB)
  const heard = await run(training('busy', { memoryLimit: machine.machineMemory() }))
  expect(warnings(heard)).toEqual([expect.stringMatching(/lets it take, but only 100 MB are free now/)])
})

test('a resumed run goes on with the batches, blocks and copies of weights that it began with, whatever is free by then', async () => {
  const all = said(await run(training('all', { checkpointBlocks: false }))).total
  // a little less: weights are not kept a second time
  const began = { steps: 4, memoryLimit: all - MB, checkpointBlocks: false }
  const whole = await run(training('whole', began))
  expect(said(whole)).toMatchObject({ packed: [], loadedInTurn: false })
  const spec = training('parts', began)
  await run(spec, { stopAt: (event) => event.kind === 'metrics' && event.step === 2 })
  const { memoryLimit: _, ...rest } = spec
  const resumed = await run(rest as JobSpecInput, { resume: true })
  expect(said(resumed)).toMatchObject({ limitFrom: 'free memory', batchLimit: all - MB, packed: [] })
  expect(resumed.losses()).toEqual(whole.losses().filter(([step]) => step > 2))
  expect(warnings(resumed)).toEqual([])
})

test('a resumed run that has to go on otherwise says so', async () => {
  const spec = training('parts', { steps: 4, checkpointBlocks: false })
  const began = said(await run(spec, { stopAt: (event) => event.kind === 'metrics' && event.step === 2 }))
  expect(began.packed).toHaveLength(3)
  const resumed = await run({ ...spec, checkpointBlocks: true } as JobSpecInput, { resume: true })
  expect(said(resumed)).toMatchObject({ packed: began.packed, batchLimit: began.batchLimit, checkpointBlocks: true })
  expect(resumed.of('log').map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/^The run goes on otherwise than it began: blocks are computed again.*last digits/),
  )
})

test('an evaluation answers the same with its models in turn', async () => {
  const evaluation = (output: string, memoryLimit?: number): JobSpecInput => ({
    ...{ kind: 'evaluate', agents, output: place.path(output), promptPack: demo('prompt-pack.json'), grader: 'exact' },
    ...{ data: { file: demo('held-out.jsonl'), limit: 3 }, rounds: 2, latentSteps: 3, generation: { maxNewTokens: 5 } },
    ...(memoryLimit ? { memoryLimit } : {}),
  })
  const free = await run(evaluation('free'))
  const tight = await run(evaluation('tight', said(free).total - 10 * MB))
  expect(said(tight).loadedInTurn).toBe(true)
  const answers = (name: string) =>
    jsonLines<Record<string, unknown>>(join(place.path(name), 'samples.jsonl')).map(({ output, stages }) => ({
      output,
      stages,
    }))
  expect(answers('tight')).toEqual(answers('free'))
  expect(tight.of('memory-used')[0].loads).toBeGreaterThan(3)
})

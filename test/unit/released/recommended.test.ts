import { describe, expect, it } from 'vitest'
import { jobSpec } from '../../../src-main/engine/job-spec'
import { recommendedSettings } from '../../../src-main/engine/released/recommended'

/** Latent steps / rounds as the method specification (training, 15.1) lays them out, with a temperature where one is given; `no`: a benchmark of search. */
const columns = ['math500', 'medqa', 'gpqa', 'mbppplus', 'aime25', 'aime26', 'livecodebench', 'bamboogle', 'hotpotqa']
const table = `
sequential_light  | 32/3 | 32/2 | 48/3 | 48/3 | 32/3 | 32/2 | -         | no   | no
sequential_scaled | 64/2 | 32/3 | 32/2 | 32/3 | 48/3 | 64/3 | 48/2 T0.2 | no   | no
distillation      | 64/3 | 64/2 | 64/3 | 16/2 | 32/3 | 32/3 | 64/2 T0.6 | no   | no
deliberation      | 16/2 | 16/2 | 16/3 | 16/3 | 16/3 | 16/2 | 16/3 T0.6 | 16/3 | 32/2
mixture           | 64/3 | 48/2 | 48/3 | 32/3 | 16/3 | 32/2 | 16/2 T0.2 | no   | no`
const cells = table
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [system, ...values] = line.split('|').map((c) => c.trim())
    return values.map((value, i) => ({ system, benchmark: columns[i], value }))
  })

describe('recommended settings', () => {
  it.each(cells)('$system on $benchmark: $value', ({ system, benchmark, value }) => {
    if (value === 'no') {
      expect(() => recommendedSettings(system, benchmark)).toThrow(/only deliberation does.*math500, medqa/)
      return
    }
    const [, latentSteps = '32', rounds = '3', temperature] = /^(\d+)\/(\d+)(?: T([\d.]+))?$/.exec(value) ?? []
    const given = recommendedSettings(system, benchmark)
    expect(given).toMatchObject({ seed: 42, latentSteps: Number(latentSteps), rounds: Number(rounds), topP: 0.95 })
    const code = benchmark === 'mbppplus' || benchmark === 'livecodebench'
    expect(given.temperature).toBe(temperature ? Number(temperature) : code ? 0.2 : 0.6)
    expect(given.task).toBe(code ? 'code' : ['medqa', 'gpqa'].includes(benchmark) ? 'choice' : 'math')
    const batch = { aime25: 15, aime26: 15, livecodebench: 12, bamboogle: 8, hotpotqa: 8 }[benchmark] ?? 16
    expect(given.batchSize).toBe(value === '-' ? 8 : batch)
    expect(given.rollouts).toBe(benchmark.startsWith('aime') ? 10 : 1)
  })

  it('the longest text depends on the benchmark and on light', () => {
    const longest = (system: string, of = columns) => of.map((c) => recommendedSettings(system, c).maxNewTokens)
    expect(longest('sequential_light', columns.slice(0, 7))).toEqual([1000, 4000, 4000, 4000, 8192, 8192, 4096])
    expect(longest('deliberation')).toEqual([2000, 4000, 4000, 4000, 16000, 16000, 4096, 4000, 4000])
  })

  it('is overridden key by key; what is not known is refused with what is', () => {
    expect(recommendedSettings('mixture', 'gpqa', { rounds: 1, temperature: 1 })).toEqual({
      ...recommendedSettings('mixture', 'gpqa'),
      rounds: 1,
      temperature: 1,
    })
    expect(() => recommendedSettings('mixture', 'gpqa', { latents: 3 } as object)).toThrow(
      /setting "latents" is not known.*seed, rounds, latentSteps, batchSize, rollouts, maxNewTokens, temperature, topP, task/,
    )
    expect(() => recommendedSettings('mixtures', 'gpqa')).toThrow(
      /"mixtures".*sequential_light, sequential_scaled, mixture/,
    )
    expect(() => recommendedSettings('mixture', 'gsm8k')).toThrow(/"gsm8k".*math500, medqa/)
  })
})

describe('an evaluation spec', () => {
  const spec = { kind: 'evaluate', output: '/out', data: { file: '/q.jsonl' } }
  const system = { name: 'sequential_light', folder: '/light', benchmark: 'aime26' }

  it('takes what it leaves out from its benchmark, and keeps what it says', () => {
    const filled = jobSpec.parse({ ...spec, system, rounds: 1, generation: { maxNewTokens: 9, sample: false } })
    expect(filled).toMatchObject({
      rounds: 1,
      latentSteps: 32,
      batchSize: 15,
      rollouts: 10,
      task: 'math',
      generation: { maxNewTokens: 9, sample: false, temperature: 0.6, topP: 0.95, answerRetry: true },
    })
    // what was filled in stays, however often the spec is read
    expect(jobSpec.parse(JSON.parse(JSON.stringify(filled)))).toEqual(filled)
    const { system: _, ...usual } = jobSpec.parse({ ...spec, system: '/light' }) as Extract<
      typeof filled,
      { system?: unknown }
    >
    expect(jobSpec.parse(spec)).toEqual(usual)
  })

  it('refuses a benchmark, a system or a key that is not known', () => {
    for (const wrong of [{ benchmark: 'gsm8k' }, { name: 'light' }, { planner: '/p' }])
      expect(jobSpec.safeParse({ ...spec, system: { ...system, ...wrong } }).success, JSON.stringify(wrong)).toBe(false)
  })
})

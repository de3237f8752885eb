/** Texts that go beyond what a model was made for: the job goes on with the same numbers and says how often it happened. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { agents, demo, jsonLines, roles, run, Workplace, type Heard } from '../training/run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

/** The demo's model of a role, made for so many positions. */
function shortModel(role: string, positions: number): string {
  const folder = place.path(`${role}-${positions}`)
  cpSync(demo(`models/${role}`), folder, { recursive: true })
  const config = JSON.parse(readFileSync(`${folder}/config.json`, 'utf8')) as object
  writeFileSync(`${folder}/config.json`, JSON.stringify({ ...config, max_position_embeddings: positions }))
  return folder
}

const contextWarnings = (heard: Heard) =>
  heard.of('log').flatMap(({ level, message }) => (level === 'warning' && /context/.test(message) ? [message] : []))

describe('an evaluation beyond the context', () => {
  const [latentSteps, maxNewTokens] = [5, 30]
  const spec = (name: string, team: typeof agents): JobSpecInput => ({
    kind: 'evaluate',
    promptPack: demo('prompt-pack.json'),
    agents: team,
    data: { file: demo('held-out.jsonl'), limit: 9 },
    rounds: 2,
    latentSteps,
    generation: { maxNewTokens },
    grader: 'exact',
    output: place.path(name),
  })
  const samples = (name: string) =>
    jsonLines<SampleRecord>(place.path(`${name}/samples.jsonl`)).sort((a, b) => a.index - b.index)

  it('counts the texts of each agent, with the latents and the tokens that were really written', async () => {
    expect(contextWarnings(await run(spec('whole', agents)))).toEqual([])
    const whole = samples('whole')
    const lengths = (role: string) =>
      whole
        .flatMap(({ stages }) => stages.map((s, i) => ({ ...s, last: i === stages.length - 1 })))
        .filter((s) => s.role === role)
        .map((s) => s.promptTokens + (s.last ? s.tokens! : latentSteps))
        .sort((a, b) => a - b)
    // an answer that ends early is no longer than it is
    expect(whole.some((s) => s.tokens < maxNewTokens)).toBe(true)
    const limits = roles.map((role) => lengths(role)[6])
    const team = roles.map((role, i) => ({ role, model: shortModel(role, limits[i]) }))
    const heard = await run(spec('short', team))
    expect(heard.failure).toBe('')
    expect(samples('short').map((s) => s.output)).toEqual(whole.map((s) => s.output))
    const sums = roles.map((role, i) => {
      const [all, limit] = [lengths(role), limits[i]]
      const beyond = all.filter((length) => length > limit).length
      expect(beyond).toBeGreaterThan(0)
      return (
        `Of ${all.length} texts that the ${role} (${role}-${limit}) was given, ${beyond} went beyond the model's context of ` +
        `${limit} positions; the longest came to ${all.at(-1)}.`
      )
    })
    const said = contextWarnings(heard)
    expect(said.filter((m) => m.startsWith('Of ')).sort()).toEqual(sums.sort())
    const first = said.filter((m) => m.startsWith('The model of the '))
    expect(first).toHaveLength(3)
    for (const m of first) expect(m).toMatch(/with filled slots and the \d+ latents or tokens after it\. Such/)
    expect(said).toHaveLength(6)
  })
})

describe('a training beyond the context', () => {
  it('names the roles that share the model, and has the same losses', async () => {
    const spec = (model: string, output: string): JobSpecInput => ({
      kind: 'outer',
      promptPack: demo('prompt-pack.json'),
      agents: roles.map((role) => ({ role, model: role === 'critic' ? demo('models/critic') : model })),
      data: { file: demo('train.jsonl'), limit: 2 },
      rounds: 2,
      latentCap: 3,
      steps: 1,
      logEvery: 1,
      output: place.path(output),
    })
    const whole = await run(spec(demo('models/planner'), 'whole'))
    expect(contextWarnings(whole)).toEqual([])
    const short = await run(spec(shortModel('planner', 12), 'short'))
    expect(short.losses()).toEqual(whole.losses())
    const said = contextWarnings(short)
    expect(said).toHaveLength(2)
    expect(said[0]).toMatch(/^The model of the planner and the solver \(planner-12\) was made for 12 positions/)
    expect(said[0]).toMatch(/that comes to \d+ with filled slots\. Such texts are read all the same/)
    expect(said[1]).toMatch(/^Of \d+ texts .* the longest came to \d+\.$/)
  })
})

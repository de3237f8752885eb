/** Judging outer links by what their receivers read, against greedy text from the same latents. */
import { afterAll, describe, expect, it } from 'vitest'
import { think, type ThoughtStage } from '../../../src-main/engine/evaluation/think'
import { jobContext } from '../../../src-main/engine/job-context'
import { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { mixture } from '../../../src-main/engine/styles/mixture'
import { sequential } from '../../../src-main/engine/styles/sequential'
import { buildRow, PrefixPool } from '../../../src-main/engine/styles/stage-text'
import type { StyleDefinition } from '../../../src-main/engine/styles/style'
import { judgeReadings } from '../../../src-main/engine/training/outer-readings'
import type { TrainingSample } from '../../../src-main/engine/training/unrolled'
import { type ToyTeam, toySamples, toyTeam } from './toy-team'

const sessions = new LinkSessions({ threads: 1 })
afterAll(() => sessions.dispose())

const ctx = jobContext({ output: '', resume: false, begin: async () => undefined, say: () => undefined })
const [rounds, latentSteps, stop] = [3, 4, 0]

/** What every reader would write greedily, `length` ids, by sample, round and agent. */
async function greedy(
  team: ToyTeam,
  samples: readonly TrainingSample[],
  length: number,
): Promise<Map<string, number[]>> {
  const stages: ThoughtStage[] = []
  const prompt = (s: TrainingSample) => ({ prompt: (a: number, r: number) => s.rounds[r][a].prompt })
  const options = { rounds, latentSteps, onStage: (s: ThoughtStage) => void stages.push(s) }
  await think(team, samples.map(prompt), options, new PrefixPool(1000))
  const said = new Map<string, number[]>()
  for (const { question, agent, round, fills } of stages) {
    if (fills.length === 0) continue
    const { row } = buildRow(samples[question].rounds[round][agent].prompt, fills, [])
    const sampling = { sample: false, temperature: 1, topK: 0, topP: 1, minP: 0, stopIds: [stop] }
    const [ids] = await team.members[agent].agent.generate([row], { ...sampling, maxNewTokens: length })
    said.set(`${question} ${round} ${agent}`, ids)
  }
  return said
}

/** The samples with other targets. */
const retarget = (
  samples: readonly TrainingSample[],
  target: (sample: number, round: number, agent: number, old: readonly number[]) => readonly number[],
): TrainingSample[] =>
  samples.map((s, k) => ({
    ...s,
    rounds: s.rounds.map((texts, r) => texts.map((t, a) => ({ ...t, target: target(k, r, a, t.target) }))),
  }))

describe.each([
  [sequential, [4, 5, 6], 8],
  [mixture, [4, 4, 5, 6], 9],
] as [StyleDefinition, number[], number][])('judgeReadings, style $name', (style, widths, readers) => {
  const team = toyTeam(style, widths, sessions)
  const plain = toySamples(style, 3, rounds)
  const judge = (samples: readonly TrainingSample[], maxTokens = 6) =>
    judgeReadings(ctx, team, { style, samples, rounds, latentSteps, maxTokens, stopIds: widths.map(() => [stop]) })

  it('counts a text exactly where greedy text from the same latents is it', async () => {
    const said = await greedy(team, plain, 6)
    expect(said.size).toBe(plain.length * readers)
    const own = (k: number, r: number, a: number) => said.get(`${k} ${r} ${a}`)
    const all = await judge(retarget(plain, (k, r, a, old) => own(k, r, a) ?? old))
    expect(all).toMatchObject({ name: 'texts read right', value: 1, n: plain.length * readers })
    expect(all.beside!.every((b) => b.value === 1)).toBe(true)

    // the last agent's texts of the first sample end otherwise: one place of each is wrong
    const spoilt = await judge(
      retarget(plain, (k, r, a, old) => {
        const ids = own(k, r, a) ?? old
        return k === 0 && a === style.last ? [...ids.slice(0, -1), (ids.at(-1)! % 12) + 1] : ids
      }),
    )
    const wrong = [...said.keys()].filter((key) => key.startsWith('0 ') && key.endsWith(` ${style.last}`)).length
    const places = [...said.values()].reduce((n, ids) => n + ids.length, 0)
    expect(wrong).toBeGreaterThan(0)
    expect(spoilt.value).toBeCloseTo(1 - wrong / said.size, 9)
    expect(spoilt.beside![0]).toEqual({ name: 'places read right', value: (places - wrong) / places, n: places })
    const role = style.roles[style.last].role
    const own3 = plain.length * rounds
    expect(spoilt.beside!.find((b) => b.name === `${role} reads right`)).toEqual({
      name: `${role} reads right`,
      value: (own3 - wrong) / own3,
      n: own3,
    })
  })

  it('does not look behind the end of a text, nor at more of it than it is told to, nor at texts that are blank', async () => {
    const said = await greedy(team, plain, 3)
    const long = retarget(plain, (k, r, a, old) => [...(said.get(`${k} ${r} ${a}`) ?? old), stop, 5, 5])
    expect((await judge(long, 3)).value).toBe(1)
    const blank = await judge(
      retarget(plain, (k, r, a, old) => (k === 0 ? [] : (said.get(`${k} ${r} ${a}`) ?? old))),
      3,
    )
    expect(blank).toMatchObject({ value: 1, n: (plain.length - 1) * readers })
    expect(await judge([])).toMatchObject({ value: 0, n: 0 })
  })

  it('changes with the links', async () => {
    const said = await greedy(team, plain, 3)
    const samples = retarget(plain, (k, r, a, old) => said.get(`${k} ${r} ${a}`) ?? old)
    const kept = team.links.map((l) => l.parameters['ln_target.bias'].slice())
    team.links.forEach((l) => l.parameters['ln_target.bias'].fill(3))
    expect((await judge(samples, 3)).value).toBeLessThan(1)
    team.links.forEach((l, i) => l.parameters['ln_target.bias'].set(kept[i]))
    expect((await judge(samples, 3)).value).toBe(1)
  })
})

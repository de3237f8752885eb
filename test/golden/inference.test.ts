/** Whole systems at inference against torch: the latents that cross every link in every round, then greedy text. */
import { afterAll, describe, expect, it } from 'vitest'
import { think } from '../../src-main/engine/evaluation/think'
import { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import { styles } from '../../src-main/engine/styles/registry'
import { PrefixPool } from '../../src-main/engine/styles/stage-text'
import { isFeedback } from '../../src-main/engine/styles/style'
import { GoldenTensors, difference, goldenJson } from './golden-files'
import { type GoldenSystem, goldenSystems, openGoldenTeam } from './golden-team'

interface InferenceRecord extends GoldenSystem {
  rounds: number
  latents: number
  samples: {
    first: Record<string, number[][]>
    feedback: Record<string, number[][]>
    chain: Record<string, number[][]>
    tokens: number[]
  }[]
}

const sessions = new LinkSessions({ threads: 1 })
afterAll(() => sessions.dispose())

const systems = goldenSystems('training/inference')
const cases = systems.flatMap((name) => [1, Infinity].map((shortestPrefix) => ({ name, shortestPrefix })))

describe('systems at inference as torch runs them', () => {
  it('has every style in one round and in three', () => {
    const wanted = styles.flatMap(({ name }) => [`${name}.rounds1`, `${name}.rounds3`])
    expect([...systems].sort()).toEqual(wanted.sort())
  })

  it.each(cases)('$name, prefixes from $shortestPrefix tokens', async ({ name: system, shortestPrefix }) => {
    const record = goldenJson<InferenceRecord>(`training/inference/${system}.json`)
    const tensors = await GoldenTensors.read(`training/inference/${system}.safetensors`)
    const { rounds } = record
    // as golden/README.md gives them
    const tolerance = record.agents.some((a) => a.startsWith('qwen3_5')) ? 5e-3 : 1e-3
    const team = await openGoldenTeam(record, tensors, 'link/', sessions)
    const prefixes = new PrefixPool(shortestPrefix)
    try {
      const questions = record.samples.map((s) => ({
        prompt: (agent: number, round: number) =>
          agent in s.first ? (round === 0 ? s.first : s.feedback)[agent] : s.chain[agent],
      }))
      let crossed = 0
      const rows = await think(
        team,
        questions,
        {
          rounds,
          latentSteps: record.latents,
          onStage: ({ question, round, slots, fills }) =>
            slots.forEach(({ link }, i) => {
              // feedback was sent in the round before it is read
              const sent = isFeedback(team.style.links.find((l) => l.key === link)!) ? round - 1 : round
              const name = `sample${question}/round${sent}/${link}`
              expect(difference(fills[i].values, tensors.floats(name)), name).toBeLessThan(tolerance)
              crossed++
            }),
        },
        prefixes,
      )
      expect(crossed).toBe(tensors.names('sample').filter((n) => n.includes('/round')).length)
      const last = team.members[team.style.last].agent
      const ends = rows.map((r) => [
        r.segments.reduce((n, s) => n + (s.kind === 'tokens' ? s.ids.length : s.count), 0) - 1,
      ])
      const logits = await last.logits(rows, ends)
      logits.forEach((l, j) => expect(difference(l, tensors.floats(`sample${j}/first_logits`))).toBeLessThan(tolerance))
      const greedy = { maxNewTokens: 16, sample: false, temperature: 1, topK: 0, topP: 1, minP: 0, stopIds: [] }
      expect(await last.generate(rows, greedy)).toEqual(record.samples.map((s) => s.tokens))
    } finally {
      prefixes.dispose()
      for (const m of team.members) await m.agent.dispose()
    }
  })
})

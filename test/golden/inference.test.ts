/** Whole systems at inference against torch: the latents that cross every link in every round, then greedy text. */
import { afterAll, describe, expect, it } from 'vitest'
import { think } from '../../src-main/engine/evaluation/think'
import { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import { PrefixPool } from '../../src-main/engine/styles/stage-text'
import { GoldenTensors, difference, goldenJson } from './golden-files'
import { type GoldenSystem, openGoldenTeam } from './golden-team'

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

const cases = ['sequential', 'mixture'].flatMap((style) =>
  [1, 3].flatMap((rounds) => [1, Infinity].map((shortestPrefix) => ({ style, rounds, shortestPrefix }))),
)

describe('systems at inference as torch runs them', () => {
  it.each(cases)(
    '$style, $rounds rounds, prefixes from $shortestPrefix tokens',
    async ({ style, rounds, shortestPrefix }) => {
      const record = goldenJson<InferenceRecord>(`training/inference/${style}.rounds${rounds}.json`)
      const tensors = await GoldenTensors.read(`training/inference/${style}.rounds${rounds}.safetensors`)
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
            onStage: ({ question, round, slots, fills, agent }) =>
              slots.forEach(({ link }, i) => {
                // feedback was sent in the round before it is read
                const sent =
                  record.links.find(([key]) => key === link)![1] === team.style.last && agent !== team.style.last
                    ? round - 1
                    : round
                const name = `sample${question}/round${sent}/${link}`
                expect(difference(fills[i].values, tensors.floats(name)), name).toBeLessThan(1e-3)
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
        logits.forEach((l, j) => expect(difference(l, tensors.floats(`sample${j}/first_logits`))).toBeLessThan(1e-3))
        const greedy = { maxNewTokens: 16, sample: false, temperature: 1, topK: 0, topP: 1, minP: 0, stopIds: [] }
        expect(await last.generate(rows, greedy)).toEqual(record.samples.map((s) => s.tokens))
      } finally {
        prefixes.dispose()
        for (const m of team.members) await m.agent.dispose()
      }
    },
  )
})

/** What is told of a sample's stages without running them, against what the trainer does: where it begins to leave samples out, and what crosses its links. */
import { afterAll, describe, expect, it } from 'vitest'
import { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { mixture } from '../../../src-main/engine/styles/mixture'
import { sequential } from '../../../src-main/engine/styles/sequential'
import { linksInto, type StyleGraph } from '../../../src-main/engine/styles/style'
import { measureStages } from '../../../src-main/engine/training/reading-lengths'
import { type UnrollOptions, unroll } from '../../../src-main/engine/training/unrolled'
import { commentedGraph, ringGraph, toySamples, toyTeam } from './toy-team'

const sessions = new LinkSessions({ threads: 1 })
afterAll(() => sessions.dispose())

const base: UnrollOptions = {
  rounds: 3,
  states: 'shifted',
  feedback: 'self-fed',
  cap: 4,
  latentSteps: 3,
  earlierWeight: null,
  maxLength: 1000,
  tooLong: 'leave-out',
  divisor: 1,
  shortestPrefix: 1,
  keepCrossings: true,
}
const widths = (style: StyleGraph) => [6, 5, 7, 4].slice(0, style.agentCount)

describe('stages of outer training, measured', () => {
  const cases: [string, StyleGraph, Partial<UnrollOptions>][] = [
    ['sequential as usual', sequential, {}],
    ['sequential, long latents', sequential, { cap: 12, latentSteps: 12 }],
    ['sequential reference', sequential, { states: 'reference', feedback: 'same' }],
    ['sequential, all rounds', sequential, { earlierWeight: 0.3 }],
    ['sequential, feedback before the answer', sequential, { feedback: 'before-answer', earlierWeight: 0.3 }],
    ['sequential self-fed', sequential, { states: 'self-fed', cap: 12, latentSteps: 9 }],
    ['mixture', mixture, { rounds: 2 }],
    ['a ring whose first agent answers', ringGraph, { feedback: 'same', rounds: 2 }],
    ['answers commented on', commentedGraph, { feedback: 'same', earlierWeight: 0.3 }],
  ]
  it.each(cases)('%s', async (_, style, more) => {
    const options = { ...base, ...more }
    const team = toyTeam(style, widths(style), sessions)
    for (const sample of toySamples(style, 3, options.rounds)) {
      const stages = measureStages(style, sample, options)
      const longest = Math.max(...stages.map(({ length }) => length))
      const run = (maxLength: number) => unroll(team, [{ ...sample, id: 0 }], { ...options, maxLength }, null)
      const { skipped, crossings } = await run(longest)
      expect(skipped).toEqual([])
      expect((await run(longest - 1)).skipped).toEqual([{ sample: 0, cause: 'longer than the limit' }])
      for (const { agent, round, slots } of stages)
        linksInto(style, agent, round).forEach((link, i) => {
          const sent = link.source >= link.target ? round - 1 : round
          const crossed = crossings.get(`sample0/round${sent}/${link.key}`)!
          expect(crossed.length / widths(style)[agent]).toBe(slots[i])
        })
    }
  })
})

import { afterAll, describe, expect, it } from 'vitest'
import { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { mixture } from '../../../src-main/engine/styles/mixture'
import { sequential } from '../../../src-main/engine/styles/sequential'
import type { StyleGraph } from '../../../src-main/engine/styles/style'
import { DiskStateStore } from '../../../src-main/engine/training/state-store'
import { type UnrollOptions, unroll } from '../../../src-main/engine/training/unrolled'
import { chainGraph, commentedGraph, ringGraph, toySamples, toyTeam } from './toy-team'

const sessions = new LinkSessions({ threads: 1 })
afterAll(() => sessions.dispose())

const base: UnrollOptions = {
  rounds: 3,
  states: 'shifted',
  feedback: 'same',
  cap: 4,
  latentSteps: 3,
  earlierWeight: null,
  maxLength: 1000,
  tooLong: 'leave-out',
  divisor: 2,
  shortestPrefix: 1,
}
const widths = (style: StyleGraph) => [6, 5, 7, 4, 5].slice(0, style.agentCount)
const relative = (a: number[], b: number[]) => {
  const d = Math.sqrt(a.reduce((s, x, i) => s + (x - b[i]) ** 2, 0))
  return d / Math.sqrt(b.reduce((s, x) => s + x * x, 0))
}

/** Total loss of the step as `unroll` differentiates it. */
async function totalLoss(
  team: ReturnType<typeof toyTeam>,
  samples: ReturnType<typeof toySamples>,
  options: UnrollOptions,
): Promise<number> {
  const { losses } = await unroll(team, samples, options, null)
  return losses.reduce((s, l) => s + l.loss, 0) / options.divisor
}

describe('gradient of every link against finite differences of the whole unrolled system', () => {
  // self-fed gradients stop at the fed latents by design, so finite differences hold there only where nothing was fed: one latent step
  const cases: [string, StyleGraph, Partial<UnrollOptions>, number?][] = [
    ['sequential reference', sequential, { states: 'reference' }],
    ['sequential shifted', sequential, {}],
    ['sequential shifted, all rounds', sequential, { earlierWeight: 0.3 }],
    ['sequential shifted, feedback before the answer', sequential, { feedback: 'before-answer', earlierWeight: 0.3 }],
    ['sequential, one self-fed step', sequential, { states: 'self-fed', latentSteps: 1 }],
    [
      'sequential shifted, self-fed feedback, all rounds',
      sequential,
      { feedback: 'self-fed', latentSteps: 1, earlierWeight: 0.3 },
    ],
    ['mixture shifted', mixture, { rounds: 2 }],
    ['ring reference', ringGraph, { states: 'reference', rounds: 4 }],
    ['five in a chain', chainGraph, { rounds: 2 }],
    ['answers commented on and mixed feedback', commentedGraph, { earlierWeight: 0.3 }, 2 ** -6],
  ]
  it.each(cases)('%s', async (_, style, more, h = 2 ** -4) => {
    const options = { ...base, ...more }
    const team = toyTeam(style, widths(style), sessions)
    const samples = toySamples(style, 2, options.rounds)
    const { gradients } = await unroll(team, samples, options, null)
    expect([...gradients.keys()].sort()).toEqual(style.links.map((l) => l.key).sort())
    // along its own direction a gradient has the slope of its norm, unless any part of it is wrong
    for (const link of team.links) {
      const { total } = gradients.get(link.key)!
      const norm = Math.sqrt(Object.values(total).reduce((n, g) => n + g.reduce((m, x) => m + x * x, 0), 0))
      const start = Object.fromEntries(Object.entries(link.parameters).map(([name, v]) => [name, v.slice()]))
      const lossAt = async (h: number) => {
        for (const [name, v] of Object.entries(link.parameters))
          v.forEach((_, i) => (v[i] = start[name][i] + (h * total[name][i]) / norm))
        return totalLoss(team, samples, options)
      }
      const slope = async (h: number) => ((await lossAt(h)) - (await lossAt(-h))) / (2 * h)
      // Richardson's extrapolation takes the third-order term away
      const measured = (4 * (await slope(h / 2)) - (await slope(h))) / 3
      await lossAt(0)
      // float32 losses of about 3 are rounded to 2e-7
      expect(Math.abs(measured - norm), link.key).toBeLessThan(2e-3 * norm + 2e-7 / h)
    }
  })
})

describe('what a step leaves out and saves', () => {
  it('one round gives the feedback link no gradient; norms by round are null where a link is not used', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    const samples = toySamples(sequential, 2, 3)
    const one = await unroll(team, samples, { ...base, rounds: 1 }, null)
    expect([...one.gradients.keys()].sort()).toEqual(['outer_12', 'outer_23'])
    const three = await unroll(team, samples, base, null)
    expect(three.gradients.get('outer_31')!.squaredByRound[2]).toBeNull()
    for (const r of [0, 1]) expect(three.gradients.get('outer_31')!.squaredByRound[r]).toBeGreaterThan(0)
    for (const r of [0, 1, 2]) expect(three.gradients.get('outer_12')!.squaredByRound[r]).toBeGreaterThan(0)
  })

  it('gives each row what it gives alone, with and without encoded prefixes', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    const samples = toySamples(sequential, 3, 3)
    const flat = (r: Awaited<ReturnType<typeof unroll>>) =>
      [...r.gradients.entries()].sort().flatMap(([, g]) => Object.values(g.total).flatMap((v) => [...v]))
    const together = await unroll(team, samples, base, null)
    const sum = flat(together).map(() => 0)
    for (const s of samples) {
      const alone = await unroll(team, [s], { ...base, shortestPrefix: Infinity }, null)
      flat(alone).forEach((v, i) => (sum[i] += v))
      expect(alone.losses[0].loss).toBeCloseTo(together.losses.find((l) => l.sample === s.id)!.loss, 5)
    }
    expect(relative(sum, flat(together))).toBeLessThan(1e-5)
    for (const m of team.members) expect(m.agent.prefixes.every((p) => p.disposed)).toBe(true)
  })

  it('computes the first states once, in memory and from the disk', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    const samples = toySamples(sequential, 2, 3)
    const store = new DiskStateStore(null, ['a', 'b', 'c'])
    const first = await unroll(team, samples, base, store)
    const reads = team.members[0].agent.calls.states
    const second = await unroll(team, samples, base, store)
    expect(team.members[0].agent.calls.states - reads).toBe(reads - 1)
    expect(second.losses).toEqual(first.losses)
    const none = await unroll(team, samples, base, null)
    expect(none.losses).toEqual(first.losses)
  })

  it('does not take the first states of a row that was cut for those of one that is left out', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    // of the first agent alone the text is too long
    const samples = toySamples(sequential, 2, 1).map((s, i) => ({
      ...s,
      rounds: s.rounds.map((r) =>
        r.map((t, agent) => {
          const longer = (pieces: typeof t.prompt) => pieces.map((p) => Array.from({ length: 20 }, () => p).flat())
          return i === 0 && agent === 0 ? { ...t, prompt: longer(t.prompt), context: longer(t.context) } : t
        }),
      ),
    }))
    const store = new DiskStateStore(null, ['a', 'b', 'c'])
    const options: UnrollOptions = { ...base, states: 'reference', rounds: 1, maxLength: 30 }
    const cut = await unroll(team, samples, { ...options, tooLong: 'cut-left' }, store)
    expect(cut.losses).toHaveLength(2)
    const left = await unroll(team, samples, options, store)
    expect(left.skipped).toEqual([{ sample: 0, cause: 'longer than the limit' }])
    expect(left.losses).toEqual((await unroll(team, samples, options, null)).losses)
  })

  it('reads no further than the last state that is passed on, and logits of no passed-on stage', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    const long = toySamples(sequential, 1, 3).map((s) => ({
      ...s,
      rounds: s.rounds.map((r) =>
        r.map((t, a) => (a === 1 ? { ...t, target: Array.from({ length: 500 }, (_, i) => i % 13) } : t)),
      ),
    }))
    await unroll(team, long, { ...base, states: 'reference' }, null)
    // three rounds of one forward and one reverse pass over fewer than 30 positions each
    expect(team.members[1].agent.positionsRead).toBeLessThan(200)
    expect(team.members[1].agent.calls.crossEntropy).toBeUndefined()
    expect(team.members[2].agent.calls.logits).toBeUndefined()
  })

  it('leaves out samples that cannot be used, by cause, and the others are what they are without them', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    const [a, b, c] = toySamples(sequential, 3, 3)
    const empty = { ...b, rounds: b.rounds.map((r) => r.map((t, i) => (i === 1 ? { ...t, target: [] } : t))) }
    const big = {
      ...c,
      rounds: c.rounds.map((r) =>
        r.map((t) => ({
          ...t,
          prompt: t.prompt.map((p) => [...p, ...p, ...p, ...p]),
          context: t.context.map((p) => [...p, ...p, ...p, ...p]),
        })),
      ),
    }
    const mixed = await unroll(team, [empty, a, big], { ...base, maxLength: 30 }, null)
    expect(mixed.skipped).toEqual([
      { sample: 0, cause: 'empty text' },
      { sample: 2, cause: 'longer than the limit' },
    ])
    const alone = await unroll(team, [a], { ...base, maxLength: 30 }, null)
    expect(mixed.losses.map((l) => l.loss)).toEqual(alone.losses.map((l) => l.loss))
    const none = await unroll(team, [empty], base, null)
    expect(none.losses).toEqual([])
    expect(none.gradients.size).toBe(0)
  })

  it('leaves out a sample whose loss is not finite', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    const [a, b] = toySamples(sequential, 2, 3)
    const agent = team.members[2].agent
    const plain = agent.vjp.bind(agent)
    agent.vjp = async (rows, request) => {
      const r = await plain(rows, request)
      // the second sample's answer breaks whenever it is there
      request.targets?.forEach((t, i) => {
        if (t.ids.join() === b.rounds[2][2].target.join()) r.losses[i] = NaN
      })
      return r
    }
    const mixed = await unroll(team, [a, b], base, null)
    expect(mixed.skipped).toEqual([{ sample: 1, cause: 'loss not finite' }])
    expect(mixed.losses.map((l) => l.loss)).toEqual((await unroll(team, [a], base, null)).losses.map((l) => l.loss))
  })

  it('cuts from the left in the reference manner: slot rows that are gone get no gradient, the rest is kept', async () => {
    const team = toyTeam(sequential, widths(sequential), sessions)
    const samples = toySamples(sequential, 1, 2)
    const options: UnrollOptions = { ...base, rounds: 2, states: 'reference', tooLong: 'cut-left', maxLength: 9 }
    const { losses, gradients, skipped } = await unroll(team, samples, options, null)
    expect(skipped).toEqual([])
    expect(losses).toHaveLength(1)
    const link = team.links[1]
    const values = link.parameters['ln_target.bias']
    const kept = values[0]
    values[0] = kept + 2 ** -7
    const up = await totalLoss(team, samples, options)
    values[0] = kept - 2 ** -7
    const down = await totalLoss(team, samples, options)
    values[0] = kept
    expect((up - down) / 2 ** -6).toBeCloseTo(gradients.get(link.key)!.total['ln_target.bias'][0], 3)
  })
})

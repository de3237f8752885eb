/** Ways to fit are tried in order of what they cost, and the first that fits is taken. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { AgentMemory, type PassShape } from '../../../src-main/engine/memory/agent-memory'
import type { EarlierMemory } from '../../../src-main/engine/memory/earlier'
import { type JobWork, planMemory } from '../../../src-main/engine/memory/job-memory'
import { readConfig } from '../../../src-main/engine/models/families'

const config = await readConfig(join(import.meta.dirname, '../../golden/models/llama'))
/** As a model of twice as many layers of the size of a small real one. */
const large = {
  ...config,
  layers: 8,
  windows: new Array<number>(8).fill(0),
  hiddenSize: 512,
  intermediateSize: 1536,
  vocabSize: 32000,
}
const memory = new AgentMemory(large, () => 'F32')
const passes: PassShape[] = [
  { task: 'record', rows: 4, places: 300, latents: 16, asked: 16 },
  { task: 'vjp', rows: 4, places: 300, latents: 16, asked: 16 },
]
const models = ['planner', 'critic'].map((name) => ({
  name,
  memory,
  keepsPasses: true,
  passes,
  recorded: [passes[0]],
  prefixes: 0,
}))
const work: JobWork = { models, beside: [] }
const room = (limit: number) => ({ limit, from: 'job' }) as const
const total = (limit: number, checkpointBlocks?: boolean) => planMemory(work, room(limit), { checkpointBlocks })
const resumed = (limit: number, earlier: EarlierMemory, checkpointBlocks?: boolean) =>
  planMemory(work, room(limit), { earlier, checkpointBlocks })

test('with less and less room: nothing, no copies, blocks again, models in turn, refusal', () => {
  const seen: string[] = []
  let limit = 64e9
  const totals: number[] = []
  for (;;) {
    let plan
    try {
      plan = total(limit)
    } catch (error) {
      expect(error).toBeInstanceOf(UserError)
      break
    }
    expect(plan.estimate.total).toBeLessThanOrEqual(limit)
    seen.push(
      [
        plan.inTurn ? 'in turn' : 'all',
        plan.checkpointBlocks ? 'again' : 'kept',
        plan.packs[0] ? 'twice' : 'once',
      ].join(' '),
    )
    totals.push(plan.estimate.total)
    limit = plan.estimate.total - 1
  }
  expect(seen[0]).toBe('all kept twice')
  expect(seen.at(-1)).toBe('in turn again once')
  const before = (a: string, b: string) => expect(seen.indexOf(a), `${a}, ${b}`).toBeLessThan(seen.indexOf(b))
  before('all kept twice', 'all kept once')
  before('all kept once', 'all again once')
  before('all again once', 'in turn again once')
  expect(totals).toEqual([...totals].sort((a, b) => b - a))
})

test('blocks that are computed again take less, and nothing is kept for gradients', () => {
  const [kept, again] = [total(64e9, false), total(64e9, true)]
  expect([kept.checkpointBlocks, again.checkpointBlocks]).toEqual([false, true])
  expect([kept.keepsPasses, again.keepsPasses]).toEqual([true, false])
  expect(again.estimate.total).toBeLessThan(kept.estimate.total)
  // as the job says so, that is no warning
  expect([kept.costsTime, again.costsTime]).toEqual([false, false])
  expect(again.estimate.parts.some(({ name }) => name.startsWith('passes kept'))).toBe(false)
})

test('the reason tells what would have been needed', () => {
  const all = total(64e9).estimate.total
  const { reason, costsTime } = total(all / 2)
  expect(costsTime).toBe(true)
  expect(reason).toContain('that the job may take; without')
})

/** As a run says in its journal. */
const begun = (plan: ReturnType<typeof planMemory>): EarlierMemory => ({
  ...plan,
  packed: models.flatMap(({ name }, i) => (plan.packs[i] ? [name] : [])),
})

test('a resumed run goes on as it began, with more memory and with less', () => {
  const [roomy, tight] = [total(64e9), total(total(64e9, true).estimate.total)]
  expect([roomy, tight].map((p) => p.packs[0])).toEqual([true, false])
  expect([roomy, tight].map((p) => p.checkpointBlocks)).toEqual([false, true])
  // a run that began with little does not change on a larger machine, and complains of nothing
  const later = resumed(64e9, begun(tight))
  expect(later).toMatchObject({ checkpointBlocks: true, packs: [false, false], batchLimit: tight.limit })
  expect(later).toMatchObject({ departs: null, costsTime: false })
  expect(later.reason).toMatch(/computed again as when the run began$/)
  // one that began with much: models in turn rather than a change
  const turns = resumed(roomy.estimate.total - 1, begun(roomy))
  expect(turns).toMatchObject({ checkpointBlocks: false, packs: [true, true], batchLimit: 64e9, inTurn: true })
  expect(turns).toMatchObject({ departs: null, costsTime: true })
})

test('where what it began with does not fit any more, the run says what it does otherwise', () => {
  const roomy = begun(total(64e9))
  const least = (earlier: EarlierMemory) => {
    let plan = resumed(64e9, earlier)
    const plans = [plan]
    for (;;)
      try {
        plans.push((plan = resumed(plan.estimate.total - 1, earlier)))
      } catch {
        return plans
      }
  }
  const plans = least(roomy)
  const batches = plans.map((plan) => plan.batchLimit)
  const departing = plans.filter(({ departs }) => departs !== null)
  expect(plans[0].departs).toBeNull()
  // first blocks and copies, with the batches of the beginning; smaller batches at last
  expect(departing[0].batchLimit).toBe(64e9)
  expect(departing[0].departs).toBe(
    'blocks are computed again for their gradients; the weights of planner and critic are not kept a second time any more',
  )
  const last = plans.at(-1)!
  expect(last.batchLimit).toBe(last.limit)
  expect(last.departs).toMatch(/^batches go by \d+ MB, not by 64.0 GB; blocks are computed again for their gradients; /)
  expect(batches).toEqual([...batches].sort((a, b) => b - a))
})

test('what the job says of blocks goes before how the run began', () => {
  const plan = resumed(64e9, begun(total(64e9)), true)
  expect(plan).toMatchObject({ checkpointBlocks: true, departs: 'blocks are computed again for their gradients' })
})

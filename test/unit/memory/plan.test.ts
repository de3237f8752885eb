/** Ways to fit are tried in order of what they cost, and the first that fits is taken. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { AgentMemory, type PassShape } from '../../../src-main/engine/memory/agent-memory'
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
const room = (limit: number) => ({ limit, from: 'job', batches: 16e9 }) as const
const total = (limit: number, checkpointBlocks?: boolean) => planMemory(work, room(limit), { checkpointBlocks })

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

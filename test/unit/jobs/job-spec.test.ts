/** Numbers that no job can have are refused with the field and its bound. */
import { expect, it } from 'vitest'
import { jobSpec } from '../../../src-main/engine/job-spec'
import { checkSpec } from '../../../src-main/jobs/read-spec'

const place = { output: '/out', data: { file: '/rows.jsonl' } }
const inner = { ...place, kind: 'inner', role: 'planner', model: '/model' }
const outer = { ...place, kind: 'outer' }
const evaluate = { ...place, kind: 'evaluate' }
const heldOut = { data: { file: '/held-out.jsonl' } }

it.each([
  [inner, { batchSize: 5000 }, 'batchSize: at most 4,096'],
  [inner, { accumulate: 1e9 }, 'accumulate: at most 4,096'],
  [inner, { steps: 1e12 }, 'steps: at most 100,000,000'],
  [inner, { maxLength: 2e6 }, 'maxLength: at most 1,048,576'],
  [inner, { threads: 2000 }, 'threads: at most 1,024'],
  [inner, { validation: { ...heldOut, latentSteps: 1e5 } }, 'validation.latentSteps: at most 4,096'],
  [outer, { rounds: 101 }, 'rounds: at most 100'],
  [outer, { rounds: { from: 1, to: 1e6 } }, 'rounds.to: at most 100'],
  [outer, { rounds: 'all' }, 'rounds: a whole number from 1 to 100, or { "from", "to" } with two of them'],
  [outer, { latentCap: 1e6 }, 'latentCap: at most 4,096'],
  [outer, { align: { rows: 1e7 } }, 'align.rows: at most 1,000,000'],
  [outer, { validation: { ...heldOut, rounds: 200 } }, 'validation.rounds: at most 100'],
  [outer, { validation: { ...heldOut, maxNewTokens: 1e7 } }, 'validation.maxNewTokens: at most 1,048,576'],
  [evaluate, { rounds: 101 }, 'rounds: at most 100'],
  [evaluate, { latentSteps: 4097 }, 'latentSteps: at most 4,096'],
  [evaluate, { batchSize: 1e5 }, 'batchSize: at most 4,096'],
  [evaluate, { rollouts: 1e6 }, 'rollouts: at most 10,000'],
  [evaluate, { generation: { maxNewTokens: 1e7 } }, 'generation.maxNewTokens: at most 1,048,576'],
])('%#', (job, change, why) => {
  expect(jobSpec.safeParse(job).success).toBe(true)
  expect(() => checkSpec({ ...job, ...change }, 'The spec')).toThrow(`not a job that can be run. ${why}.`)
})

it('what the method asks for is far below every bound', () => {
  const fits = { rounds: 8, batchSize: 64, accumulate: 64, steps: 1_000_000, latentCap: 512 }
  expect(jobSpec.safeParse({ ...outer, ...fits, maxLength: 131_072 }).success).toBe(true)
  const asked = { rounds: 8, latentSteps: 512, rollouts: 64, generation: { maxNewTokens: 131_072 } }
  expect(jobSpec.safeParse({ ...evaluate, ...asked }).success).toBe(true)
})

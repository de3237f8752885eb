/** Learning rates against the golden runs and at their corners. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { learningRateAt } from '../../../src-main/engine/training/schedule'

const training = join(import.meta.dirname, '../../golden/training')
const runs = (part: string) =>
  readdirSync(join(training, part))
    .filter((f) => f.endsWith('.json'))
    .map((f) => [f, JSON.parse(readFileSync(join(training, part, f), 'utf8'))] as const)

describe('reference mode', () => {
  it.each([...runs('inner'), ...runs('outer')])('gives the rates of %s', (_, run) => {
    const options = {
      mode: 'reference',
      schedule: run.schedule,
      learningRate: run.lr,
      warmupSteps: run.warmup,
      steps: run.schedule_steps ?? run.steps.length,
    } as const
    for (const [k, step] of run.steps.entries())
      expect(Math.abs(learningRateAt(k, options) - step.lr)).toBeLessThan(1e-12)
  })

  it('constant: rises to the rate and stays', () => {
    const options = { mode: 'reference', schedule: 'constant', learningRate: 2, warmupSteps: 4, steps: 10 } as const
    expect([0, 1, 3, 4, 9].map((k) => learningRateAt(k, options))).toEqual([0, 0.5, 1.5, 2, 2])
  })
})

describe('corrected mode', () => {
  it.each([
    [1, 0],
    [1, 10],
    [2, 1],
    [50, 10],
    [10, 50],
  ])('%i steps with %i of warm-up: every step moves, none exceeds the rate', (steps, warmupSteps) => {
    const options = { mode: 'corrected', schedule: 'cosine', learningRate: 1, warmupSteps, steps } as const
    for (let k = 0; k < steps; k++) {
      expect(learningRateAt(k, options)).toBeGreaterThan(0)
      expect(learningRateAt(k, options)).toBeLessThanOrEqual(1)
    }
  })

  it('is the reference curve, one step early', () => {
    const options = { schedule: 'cosine', learningRate: 3e-3, warmupSteps: 3 } as const
    for (let k = 0; k < 20; k++)
      expect(learningRateAt(k, { ...options, mode: 'corrected', steps: 20 })).toBe(
        learningRateAt(k + 1, { ...options, mode: 'reference', steps: 21 }),
      )
  })
})

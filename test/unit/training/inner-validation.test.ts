/** Judging an inner link: shares of places and of texts that the agent's own head reads right. */
import { expect, it } from 'vitest'
import type { Agent, Row } from '../../../src-main/engine/agents/agent'
import { jobContext } from '../../../src-main/engine/job-context'
import { judgeRollouts } from '../../../src-main/engine/training/inner-validation'

it('counts places, and beside them whole texts', async () => {
  const [vocabSize, hiddenSize, steps] = [5, 2, 3]
  // its head says 1, 2, 3 at the three places after any prompt
  const agent = {
    vocabSize,
    hiddenSize,
    rollout: async (rows: Row[]) => ({ fed: rows.map(() => new Float32Array(steps * hiddenSize)) }),
    logits: async (_: Row[], positions: number[][]) =>
      positions.map((own) => {
        const values = new Float32Array(own.length * vocabSize)
        own.forEach((_, t) => (values[t * vocabSize + t + 1] = 1))
        return values
      }),
  } as unknown as Agent
  const text = (target: number[]) => ({ ids: [0, 0, ...target], promptLength: 2, latentEnd: 2 + target.length })
  const ctx = jobContext({ output: '', resume: false, begin: async () => undefined, say: () => undefined })
  const link = { type: 'ln_res_adapter', parameters: {} } as const
  // right: 3 of 3 (the fourth place lies behind the rollout), 2 of 3, 1 of 2
  const items = [text([1, 2, 3, 0]), text([1, 4, 3]), text([0, 2])]
  expect(await judgeRollouts(ctx, { agent }, link, items, steps)).toEqual({
    name: 'latents read right',
    value: 6 / 8,
    n: 8,
    beside: [{ name: 'texts read right', value: 1 / 3, n: 3 }],
  })
  expect(await judgeRollouts(ctx, { agent }, link, [], steps)).toMatchObject({ value: 0, n: 0 })
})

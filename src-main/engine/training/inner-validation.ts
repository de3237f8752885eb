/**
 * Judges an inner link by what it is for: after the prompt of a held-out text the latents are rolled out, and the agent's own
 * head reads every state. A lower loss is not always a better rollout (specification: improvements 2).
 */
import type { InnerLinkState, Row } from '../agents/agent'
import type { JobContext } from '../job-context'
import type { Model } from '../job-setup'
import type { PairRow } from './inner-pairs'
import type { Judgement } from './loop'
import { placesRight } from './reading'

/** Rows that are rolled out together. */
export const batchRows = 32

/** The share of places within `steps` that are read right; beside it that of texts of which every such place is. */
export async function judgeRollouts(
  ctx: JobContext,
  { agent }: Pick<Model, 'agent'>,
  link: InnerLinkState,
  items: readonly PairRow[],
  steps: number,
): Promise<Judgement> {
  let [places, right, textsRight] = [0, 0, 0]
  for (let from = 0; from < items.length; from += batchRows) {
    await ctx.checkpoint()
    const part = items.slice(from, from + batchRows)
    const prompts = part.map((r): Row => ({ segments: [{ kind: 'tokens', ids: r.ids.slice(0, r.promptLength) }] }))
    const { fed } = await agent.rollout(prompts, link, steps)
    const rows = prompts.map((p, k): Row => {
      const count = steps - 1
      const values = fed[k].subarray(0, count * agent.hiddenSize)
      return { segments: count > 0 ? [...p.segments, { kind: 'latents', values, count }] : p.segments }
    })
    const wanted = part.map((r) => {
      const ids = r.ids.slice(r.promptLength, Math.min(r.latentEnd, r.promptLength + steps))
      return { ids, positions: ids.map((_, t) => r.promptLength - 1 + t) }
    })
    const counts = await placesRight(agent, rows, wanted, () => ctx.checkpoint())
    counts.forEach((count, k) => {
      places += wanted[k].ids.length
      right += count
      if (count === wanted[k].ids.length) textsRight++
    })
  }
  const n = items.length
  return {
    name: 'latents read right',
    value: places ? right / places : 0,
    n: places,
    beside: [{ name: 'texts read right', value: n ? textsRight / n : 0, n }],
  }
}

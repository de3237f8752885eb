/**
 * Judges an inner link by what it is for: after the prompt of a held-out text the latents are rolled out, and the agent's own
 * head reads every state. A lower loss is not always a better rollout (specification: improvements 2).
 */
import type { InnerLinkState, Row } from '../agents/agent'
import type { JobContext } from '../job-context'
import type { Model } from '../job-setup'
import type { PairRow } from './inner-pairs'
import type { Judgement } from './loop'

/** Rows whose logits are held at once. */
const batchRows = 32

/** The share of places within `steps` that are read right; beside it that of texts of which every such place is. */
export async function judgeRollouts(
  ctx: JobContext,
  { agent }: Pick<Model, 'agent'>,
  link: InnerLinkState,
  items: readonly PairRow[],
  steps: number,
): Promise<Judgement> {
  let [places, placesRight, textsRight] = [0, 0, 0]
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
    const wanted = part.map((r) => r.ids.slice(r.promptLength, Math.min(r.latentEnd, r.promptLength + steps)))
    const logits = await agent.logits(
      rows,
      part.map((r, k) => wanted[k].map((_, t) => r.promptLength - 1 + t)),
    )
    logits.forEach((l, k) => {
      const right = wanted[k].filter(
        (id, t) => largest(l.subarray(t * agent.vocabSize, (t + 1) * agent.vocabSize)) === id,
      ).length
      places += wanted[k].length
      placesRight += right
      if (right === wanted[k].length) textsRight++
    })
  }
  const n = items.length
  return {
    name: 'latents read right',
    value: places ? placesRight / places : 0,
    n: places,
    beside: [{ name: 'texts read right', value: n ? textsRight / n : 0, n }],
  }
}

function largest(values: Float32Array): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i
  return best
}

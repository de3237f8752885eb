/**
 * Scale of what a link says. The layer norm at a link's end gives vectors of length sqrt(width), trained embeddings are often far
 * shorter, and a cosine loss never notices: its gain starts at the receiver's own scale (specification: training B-26).
 */
import type { Agent } from '../agents/agent'
import type { LinkParameters } from '../nn/link-types'

/** Embeddings that are measured; more would change no digit that matters. */
const measured = 4096

/** Median length of the embeddings of token ids below `vocabulary`, over sqrt(width); 1 is what a layer norm gives. */
export async function embeddingScale(agent: Pick<Agent, 'embed' | 'hiddenSize'>, vocabulary: number): Promise<number> {
  const count = Math.min(vocabulary, measured)
  const width = agent.hiddenSize
  const rows = await agent.embed(Array.from({ length: count }, (_, k) => Math.floor((k * vocabulary) / count)))
  const lengths = Array.from({ length: count }, (_, k) => lengthOf(rows.subarray(k * width, (k + 1) * width)))
  lengths.sort((a, b) => a - b)
  const median = (lengths[(count - 1) >> 1] + lengths[count >> 1]) / 2
  return median / Math.sqrt(width)
}

/** The layer norm at a link's end: parameters of that name; undefined where the link ends in none. */
function lastNorm(parameters: LinkParameters): 'post_ln' | 'ln_target' | undefined {
  return (['post_ln', 'ln_target'] as const).find((name) => `${name}.weight` in parameters)
}

/** Sets the gain of a fresh link's last norm, in place. Nothing happens to a link that ends in none. */
export function scaleLastNorm(parameters: LinkParameters, scale: number): void {
  const name = lastNorm(parameters)
  if (name !== undefined) parameters[`${name}.weight`].fill(scale)
}

/**
 * Sizes to train a link's parameters by: those of its last norm change in proportion to the gain that it starts with, so that
 * steps are as large, compared with it, as from a gain of 1.
 */
export function lastNormUnits(parameters: LinkParameters): Map<string, number> {
  const name = lastNorm(parameters)
  if (name === undefined) return new Map()
  const gain = parameters[`${name}.weight`]
  const unit = lengthOf(gain) / Math.sqrt(gain.length)
  return unit > 0 ? new Map([`${name}.weight`, `${name}.bias`].map((n) => [n, unit])) : new Map()
}

function lengthOf(values: Float32Array): number {
  let sum = 0
  for (const v of values) sum += v * v
  return Math.sqrt(sum)
}

/** How much of given texts a model's own head says, place by place: one parallel pass, no generation. */
import type { Agent, Row } from '../agents/agent'

/** What a row should say: after each position the id. */
export interface Wanted {
  readonly positions: readonly number[]
  readonly ids: readonly number[]
}

/** Rows whose logits are held at once, and their numbers at most (256 MB). */
const batchRows = 32
const batchLogits = 2 ** 26

/**
 * Per row, at how many of its places the largest logit is that of the wanted id. Where it is so at all places of a text that the row
 * holds, greedy decoding would write exactly that text.
 */
export async function placesRight(
  agent: Pick<Agent, 'logits' | 'vocabSize'>,
  rows: readonly Row[],
  wanted: readonly Wanted[],
  between: () => Promise<void>,
): Promise<number[]> {
  const { vocabSize } = agent
  const right: number[] = []
  for (let from = 0; from < rows.length;) {
    await between()
    let to = from
    let places = 0
    while (to < rows.length && to - from < batchRows) {
      places += wanted[to].ids.length
      if (to > from && places * vocabSize > batchLogits) break
      to++
    }
    const part = wanted.slice(from, to)
    const logits = await agent.logits(
      rows.slice(from, to),
      part.map((w) => w.positions),
    )
    logits.forEach((l, k) =>
      right.push(part[k].ids.filter((id, t) => largest(l.subarray(t * vocabSize, (t + 1) * vocabSize)) === id).length),
    )
    from = to
  }
  return right
}

function largest(values: Float32Array): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i
  return best
}

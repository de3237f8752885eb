/**
 * What an inner link learns from: the frozen model's state at a position and the embedding of the token that comes next.
 * States depend on no trained weight, so each row's are computed once and kept (on disk too); batches are
 * then made of kept pairs alone.
 */
import type { Agent } from '../agents/agent'
import { concatRows } from '../nn/rows'
import type { StateCollection } from './state-store'

export interface PairRow {
  readonly ids: readonly number[]
  /** Tokens [promptLength, latentEnd) teach the link. */
  readonly promptLength: number
  readonly latentEnd: number
}

export interface Pairs {
  /** [count, H] each. */
  readonly states: Float32Array
  readonly targets: Float32Array
  readonly count: number
}

/** Positions whose state predicts a token that teaches; the very first token has no state before it. */
export function pairPositions(row: PairRow): number[] {
  const first = Math.max(row.promptLength, 1) - 1
  return Array.from({ length: Math.max(0, row.latentEnd - 1 - first) }, (_, t) => first + t)
}

/** The pairs of these rows, one row after the other. `kept` holds the states of rows seen before. */
export async function pairsOf(agent: Agent, rows: readonly PairRow[], kept: StateCollection): Promise<Pairs> {
  const usable = rows.filter((row) => pairPositions(row).length > 0)
  const keys = usable.map((row) => [row.ids.slice(0, row.latentEnd - 1), pairPositions(row)[0]])
  const states = keys.map((key) => kept.get(key))
  const missing = usable.flatMap((_, i) => (states[i] ? [] : [i]))
  // causal attention: nothing after the last used state has to be read
  const made = await agent.states(
    missing.map((i) => ({ segments: [{ kind: 'tokens', ids: usable[i].ids.slice(0, usable[i].latentEnd - 1) }] })),
    missing.map((i) => pairPositions(usable[i])),
  )
  missing.forEach((i, k) => {
    states[i] = made[k]
    kept.put(keys[i], made[k])
  })
  const next = usable.flatMap((row) => pairPositions(row).map((t) => row.ids[t + 1]))
  return {
    states: concatRows(states.map((s) => s!)),
    targets: next.length > 0 ? await agent.embed(next) : new Float32Array(0),
    count: next.length,
  }
}

/** The order in which the agents of a style think: who runs in which round, what it reads, and whether anybody reads it. */
import { isFeedback, linksInto, type StyleGraph, type StyleLink } from './style'

export interface StyleStep {
  readonly agent: number
  /** From 0. */
  readonly round: number
  /** The links that fill its prompt's slots, in order. */
  readonly reads: readonly StyleLink[]
  /** Whether what it thinks crosses a link; the last step of all writes instead. */
  readonly sends: boolean
}

export interface WalkOptions {
  /** Also the steps that only make an answer in a round before the last possible, for its own sake. */
  readonly answersEveryRound?: boolean
}

/**
 * All steps that the answer after so many rounds needs, in order. The last one is the answering agent's in the last round.
 * A step whose thoughts cannot reach the answer any more is left out.
 */
export function walk(style: StyleGraph, rounds: number, options: WalkOptions = {}): StyleStep[] {
  const steps: StyleStep[] = []
  const needed = new Set<string>()
  const name = (agent: number, round: number) => `${agent} ${round}`
  for (let round = rounds - 1; round >= 0; round--)
    for (let agent = style.agentCount - 1; agent >= 0; agent--) {
      const sends = needed.has(name(agent, round))
      const answers = agent === style.last && (round === rounds - 1 || options.answersEveryRound === true)
      if (!sends && !answers) continue
      const reads = linksInto(style, agent, round)
      for (const link of reads) needed.add(name(link.source, isFeedback(link) ? round - 1 : round))
      steps.push({ agent, round, reads, sends })
    }
  return steps.reverse()
}

/** Rounds of a walk, and in each the keys of the links that carry something sent in it. */
export function linksUsed(style: StyleGraph, rounds: number, options: WalkOptions = {}): ReadonlySet<string>[] {
  const used = Array.from({ length: rounds }, () => new Set<string>())
  for (const { reads, round } of walk(style, rounds, options))
    for (const link of reads) used[isFeedback(link) ? round - 1 : round].add(link.key)
  return used
}

/**
 * A collaboration style as data: which agents there are, which links join them, which of them writes the answer. The
 * trainer and the runner walk this (walk.ts); neither has a loop of its own for any style.
 *
 * In a round every agent thinks once, in the order of the agents. A link to a later agent is read in the same round, a
 * link to an earlier one (or to the sender itself) is feedback: it is read in the next round. The round count being
 * reached, the agent `last` writes the text.
 */
export interface StyleLink {
  /** Name in files and settings, as `outer_12`. */
  readonly key: string
  /** Indices into the agents. */
  readonly source: number
  readonly target: number
  /** A further name of the slot that it fills (slot-names.ts), as the built-in pack has it. */
  readonly slot?: string
}

/** The part of a style that numbers flow through. */
export interface StyleGraph {
  readonly name: string
  readonly agentCount: number
  /** In creation order: the order of random draws, of files and of parameters in the optimiser. */
  readonly links: readonly StyleLink[]
  /** Writes the text of the last round, and is supervised on its target. Agents after it think in earlier rounds only. */
  readonly last: number
  /** By agent index; absent: every prompt has its slots in creation order (slot-names.ts finds it out). */
  readonly slotOrder?: readonly SlotOrder[]
}

/** A role: what its agent is called, and which text it is trained to write. */
export interface StyleRole {
  readonly role: string
  /** The name that the reference's training uses, where it differs. */
  readonly referenceName?: string
  /** The name that the reference's released systems use, where it differs from both. */
  readonly releasedName?: string
  /** Columns that may hold this role's text; the first that is not blank in a row counts. */
  readonly targets: readonly [string, ...string[]]
  /** The order in which the reference's inner training looks for them, where it differs. */
  readonly innerTargets?: readonly [string, ...string[]]
}

export interface StyleDefinition extends StyleGraph {
  /** Index = agent index. */
  readonly roles: readonly StyleRole[]
}

/** Keys of the links that an agent reads, as its prompts have their slots; null: in creation order. */
export interface SlotOrder {
  readonly first: readonly string[] | null
  readonly feedback: readonly string[] | null
}

/** Sent in one round and read in the next. */
export function isFeedback(link: StyleLink): boolean {
  return link.source >= link.target
}

/** The links that fill the slots of an agent's prompt in a round (from 0), in the order of the slots. */
export function linksInto(style: StyleGraph, agent: number, round: number): StyleLink[] {
  const reads = style.links.filter((l) => l.target === agent && (round > 0 || !isFeedback(l)))
  const order = style.slotOrder?.[agent][reads.some(isFeedback) ? 'feedback' : 'first']
  return order ? reads.sort((a, b) => order.indexOf(a.key) - order.indexOf(b.key)) : reads
}

/** Every link with the roles that it joins, in creation order. */
export function namedLinks({ links, roles }: StyleDefinition): { key: string; from: string; to: string }[] {
  return links.map(({ key, source, target }) => ({ key, from: roles[source].role, to: roles[target].role }))
}

/**
 * A collaboration style as data: which agents there are, which links join them, and who reads whom in a round. The
 * trainer and the runner walk this; neither has a loop of its own for any style.
 *
 * One round: every agent of `first` thinks (from round 1 on with the feedback of the last agent in its slot); then each
 * stage of `chain` in order, one slot per source; the agent `last` ends the round. In the last round it writes the
 * text, in the others its latents go back to every agent of `first`.
 */
export interface StyleLink {
  /** Name in files and settings, as `outer_12`. */
  readonly key: string
  /** Indices into the agents. */
  readonly source: number
  readonly target: number
}

export interface StyleStage {
  readonly agent: number
  /** Agents whose latents fill this stage's slots, in the order of the slots. */
  readonly sources: readonly number[]
}

/** The part of a style that numbers flow through. */
export interface StyleGraph {
  readonly name: string
  readonly agentCount: number
  /** In creation order: the order of random draws, of files and of parameters in the optimiser. */
  readonly links: readonly StyleLink[]
  readonly first: readonly number[]
  readonly chain: readonly StyleStage[]
  readonly last: number
}

/** A role: what its agent reads and which column it is supervised on. */
export interface StyleRole {
  readonly role: string
  /** The name that the reference's layouts use, where it differs. */
  readonly referenceName?: string
  /** Column of the training data that holds this role's text. */
  readonly target: string
}

export interface StyleDefinition extends StyleGraph {
  /** Index = agent index. */
  readonly roles: readonly StyleRole[]
}

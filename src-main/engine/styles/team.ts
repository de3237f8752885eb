/** A style filled with agents and links: what is trained together and what answers together. */
import type { Agent, InnerLinkState } from '../agents/agent'
import type { LinkParameters, OuterLinkType } from '../nn/link-types'
import type { LinkGraph } from '../nn/link-graphs'
import type { StyleGraph } from './style'

export interface Member {
  readonly agent: Agent
  readonly inner: InnerLinkState
  readonly innerGraph: LinkGraph
  /** Changes whenever the model's weights do; part of the keys of cached states. */
  readonly fingerprint: string
}

export interface OuterLink {
  readonly key: string
  readonly type: OuterLinkType
  readonly source: number
  readonly target: number
  /** Trained in place. */
  readonly parameters: LinkParameters
  readonly graph: LinkGraph
}

export interface Team {
  readonly style: StyleGraph
  /** By agent index. */
  readonly members: readonly Member[]
  /** In creation order. */
  readonly links: readonly OuterLink[]
}

/** The team's link of that key. */
export function teamLink(team: Team, key: string): OuterLink {
  const link = team.links.find((l) => l.key === key)
  if (!link) throw new Error(`the team of style ${team.style.name} has no link ${key}`)
  return link
}

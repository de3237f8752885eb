/** The styles that the engine knows, and how a name or a list of roles is read. */
import { UserError } from '../errors'
import { deliberation } from './deliberation'
import { distillation } from './distillation'
import { mixture } from './mixture'
import { sequential } from './sequential'
import type { StyleDefinition, StyleRole } from './style'

export const styles: readonly StyleDefinition[] = [sequential, mixture, distillation, deliberation]

/** The style of that name; a UserError lists the known ones. */
export function styleByName(name: string): StyleDefinition {
  const style = styles.find((s) => s.name === name)
  if (style) return style
  throw new UserError({
    what: `The style "${name}" is not known.`,
    why: `Known styles are ${styles.map((s) => s.name).join(', ')}.`,
    next: 'Choose one of them.',
  })
}

/** Our name of a role; the reference's names for it are read as the same. */
export function canonicalRole(name: string): string {
  const named = (r: StyleRole) => r.role === name || r.referenceName === name || r.releasedName === name
  return styles.flatMap((s) => s.roles).find(named)?.role ?? name
}

/** Puts agents into the style's order; every role once, or a UserError names what is missing, doubled or unknown. */
export function inRoleOrder<T extends { readonly role: string }>(style: StyleDefinition, agents: readonly T[]): T[] {
  const known = style.roles.map((r) => r.role)
  const refuse = (why: string) =>
    new UserError({
      what: 'The agents do not fit the style.',
      why,
      next: `The style ${style.name} has ${known.join(', ')}, one agent each.`,
    })
  for (const a of agents) if (!known.includes(canonicalRole(a.role))) throw refuse(`There is no role "${a.role}".`)
  return known.map((role) => {
    const found = agents.filter((a) => canonicalRole(a.role) === role)
    if (found.length === 0) throw refuse(`The role "${role}" has no agent.`)
    if (found.length > 1) throw refuse(`The role "${role}" has ${found.length} agents.`)
    return found[0]
  })
}

/** UserError where a link is named that the style does not have. */
export function checkLinkKeys(style: StyleDefinition, keys: readonly string[]): void {
  const unknown = keys.filter((key) => !style.links.some((l) => l.key === key))
  if (unknown.length === 0) return
  throw new UserError({
    what: 'A link type is given for a link that is not there.',
    why: `The style ${style.name} has ${style.links.map((l) => l.key).join(', ')}, but no ${unknown.join(', ')}.`,
    next: 'Correct the name of the link.',
  })
}

/** The style that has a role, and the role's agent index. A UserError lists the known roles. */
export function styleOfRole(name: string): { style: StyleDefinition; agent: number } {
  const role = canonicalRole(name)
  for (const style of styles) {
    const agent = style.roles.findIndex((r) => r.role === role)
    if (agent >= 0) return { style, agent }
  }
  throw new UserError({
    what: `The role "${name}" is not known.`,
    why: `Known roles are ${styles.flatMap((s) => s.roles.map((r) => r.role)).join(', ')}.`,
    next: 'Choose one of them.',
  })
}

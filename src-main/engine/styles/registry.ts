/** The styles that the engine knows, and how a name or a list of roles is read. */
import { UserError } from '../errors'
import { deliberation } from './deliberation'
import { distillation } from './distillation'
import { mixture } from './mixture'
import { sequential } from './sequential'
import type { StyleDefinition, StyleRole } from './style'

export const styles: readonly StyleDefinition[] = [sequential, mixture, distillation, deliberation]

/** Whether a job's `style` is the path of a style file (style-file.ts) and no name. */
export function isStyleFile(style: unknown): boolean {
  return typeof style === 'string' && style.toLowerCase().endsWith('.json')
}

/** The style of that name; a UserError lists the known ones. */
export function styleByName(name: string): StyleDefinition {
  const style = styles.find((s) => s.name === name)
  if (style) return style
  throw new UserError({
    what: `The style "${name}" is not known.`,
    why: `Known styles are ${styles.map((s) => s.name).join(', ')}.`,
    next: 'Choose one of them, or give the path of a style file (.json).',
  })
}

function isCalled({ role, referenceName, releasedName }: StyleRole, name: string): boolean {
  return role === name || referenceName === name || releasedName === name
}

/** The agent index of a role of a style, by any of its names; -1 where there is none. */
export function roleIn(style: StyleDefinition, name: string): number {
  return style.roles.findIndex((r) => isCalled(r, name))
}

/** Our name of a role; the reference's names for it are read as the same. */
export function canonicalRole(name: string): string {
  return styles.flatMap((s) => s.roles).find((r) => isCalled(r, name))?.role ?? name
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
  for (const a of agents) if (roleIn(style, a.role) < 0) throw refuse(`There is no role "${a.role}".`)
  return known.map((role, i) => {
    const found = agents.filter((a) => roleIn(style, a.role) === i)
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
  for (const style of styles) {
    const agent = roleIn(style, name)
    if (agent >= 0) return { style, agent }
  }
  throw unknownRole(name, styles)
}

export function unknownRole(name: string, of: readonly StyleDefinition[]): UserError {
  return new UserError({
    what: `The role "${name}" is not known.`,
    why: `Known roles are ${of.flatMap((s) => s.roles.map((r) => r.role)).join(', ')}.`,
    next: 'Choose one of them.',
  })
}

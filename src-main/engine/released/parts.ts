/** The parts of systems of a style: what they are called, and values by part under any name that a role has. */
import { UserError } from '../errors'
import { isStyleFile } from '../styles/registry'
import type { StyleDefinition, StyleRole } from '../styles/style'
import { openStyle } from '../styles/style-file'
import { outerPart, releasedNames, releasedSystem } from './systems'

/** The style of a published system's name, of a style's own, or of a style file; a UserError lists the names. */
export async function styleOfSystem(name: string): Promise<StyleDefinition> {
  const released = releasedSystem(name)
  try {
    return (await openStyle(released?.style ?? name, undefined)).style
  } catch (error) {
    if (!(error instanceof UserError) || isStyleFile(name)) throw error
    throw new UserError(
      { what: error.what, why: `${error.why} Published systems are ${releasedNames.join(', ')}.`, next: error.next },
      { cause: error },
    )
  }
}

/** Published systems of these styles have one set of links for code and one for everything else; the others have one for all. */
export function hasLinksByTask(style: StyleDefinition): boolean {
  return style.name === 'sequential' || style.name === 'distillation'
}

/** What the part of an agent is called in published systems. */
export function partOf({ role, releasedName }: StyleRole): string {
  return releasedName ?? role
}

/** Every part of a style's systems, agents in order, then the outer links. */
export function partsOf(style: StyleDefinition): string[] {
  return [...style.roles.map(partOf), outerPart]
}

/** Puts a value per part under the parts' own names; a part may be called by any name of its role. A UserError lists the parts. */
export function byPart<T>(style: StyleDefinition, given: Readonly<Record<string, T>>): Map<string, T> {
  const found = new Map<string, T>()
  for (const [key, value] of Object.entries(given)) {
    const role = style.roles.find((r) => key === r.role || key === r.referenceName || key === r.releasedName)
    const part = role ? partOf(role) : key === outerPart ? outerPart : null
    const refuse = (why: string) =>
      new UserError({
        what: 'The parts of the system do not fit its style.',
        why,
        next: `The style ${style.name} has the parts ${partsOf(style).join(', ')}.`,
      })
    if (part === null) throw refuse(`There is no part ${JSON.stringify(key)}.`)
    if (found.has(part)) throw refuse(`The part ${part} is given twice.`)
    found.set(part, value)
  }
  return found
}

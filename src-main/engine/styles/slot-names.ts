/**
 * Which link fills a slot of a prompt: its name says so. A slot is called after the link (its key), after the role that the link comes
 * from, or after a column of that role's text; in this order where a name means several. Where it stands is free.
 */
import type { StyleDefinition, StyleLink } from './style'

/** The links that the slots of a prompt are filled by, in the order of the slots, or why they cannot be told. */
export function linksOfSlots(
  style: StyleDefinition,
  /** What the prompt reads. */
  reads: readonly StyleLink[],
  slots: readonly string[],
): { readonly links: readonly StyleLink[] } | { readonly why: string } {
  const links: StyleLink[] = []
  for (const slot of slots) {
    const meant = linksCalled(style, reads, slot)
    if (meant.length === 0 && reads.length === 0) return { why: `it has a slot "${slot}", but reads nobody here` }
    if (meant.length === 0)
      return {
        why: `it has a slot "${slot}", but what it reads is called ${reads.map((l) => names(style, l)).join('; ')}`,
      }
    if (meant.length > 1)
      return { why: `its slot "${slot}" may be ${meant.map(({ key }) => key).join(' or ')}: call it after the link` }
    if (links.includes(meant[0])) return { why: `two of its slots, "${slot}" the second, are the link ${meant[0].key}` }
    links.push(meant[0])
  }
  const missing = reads.filter((link) => !links.includes(link))
  if (missing.length > 0)
    return {
      why:
        `it has ${slotWord(slots.length)} (${slots.join(', ') || 'none'}), but ${slotWord(reads.length)} ` +
        `${reads.length === 1 ? 'is' : 'are'} filled here (from ${reads.map((l) => style.roles[l.source].role).join(', ')}): ` +
        `one is missing for ${missing.map((l) => names(style, l)).join('; ')}`,
    }
  return { links }
}

function linksCalled({ roles }: StyleDefinition, reads: readonly StyleLink[], slot: string): readonly StyleLink[] {
  const ways: ((link: StyleLink) => boolean)[] = [
    (l) => l.key === slot || l.slot === slot,
    (l) => roles[l.source].role === slot,
    (l) => roles[l.source].targets.includes(slot),
  ]
  for (const way of ways) {
    const found = reads.filter(way)
    if (found.length > 0) return found
  }
  return []
}

/** Names that the slot of a link may have. */
function names({ roles }: StyleDefinition, { key, source, slot }: StyleLink): string {
  const { role, targets } = roles[source]
  const all = [...new Set([...(slot === undefined ? [] : [slot]), key, role, ...targets])]
  return `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`
}

const slotWord = (n: number): string => `${n} ${n === 1 ? 'slot' : 'slots'}`

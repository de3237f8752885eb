/** What a list does with its selection: one active row, a set of selected rows, and an anchor for ranges. */

export interface Selection {
  /** Row that the keyboard stands on. */
  readonly active: string | null
  readonly selected: ReadonlySet<string>
  /** Where a range starts. */
  readonly anchor: string | null
}

export const noSelection: Selection = { active: null, selected: new Set(), anchor: null }

/** A plain click or arrow: this row alone. */
export function selectOne(key: string): Selection {
  return { active: key, selected: new Set([key]), anchor: key }
}

/** Shift: everything from the anchor to this row. */
export function selectRange(keys: readonly string[], now: Selection, key: string): Selection {
  const from = keys.indexOf(now.anchor ?? key)
  const to = keys.indexOf(key)
  if (from < 0 || to < 0) return selectOne(key)
  return { active: key, selected: new Set(keys.slice(Math.min(from, to), Math.max(from, to) + 1)), anchor: keys[from] }
}

/** Ctrl or Cmd: this row in or out. */
export function toggleOne(now: Selection, key: string): Selection {
  const selected = new Set(now.selected)
  if (!selected.delete(key)) selected.add(key)
  return { active: key, selected, anchor: key }
}

export function selectAll(keys: readonly string[], now: Selection): Selection {
  return { active: now.active ?? keys[0] ?? null, selected: new Set(keys), anchor: now.anchor ?? keys[0] ?? null }
}

/** The row that a key leads to from the active one; null where the key does not move. */
export function rowAfterKey(keys: readonly string[], active: string | null, pressed: string, page = 10): string | null {
  if (keys.length === 0) return null
  const at = active === null ? -1 : keys.indexOf(active)
  const last = keys.length - 1
  switch (pressed) {
    case 'ArrowDown':
      return keys[Math.min(last, at + 1)]
    case 'ArrowUp':
      return keys[at < 0 ? last : Math.max(0, at - 1)]
    case 'PageDown':
      return keys[Math.min(last, Math.max(0, at) + page)]
    case 'PageUp':
      return keys[Math.max(0, at - page)]
    case 'Home':
      return keys[0]
    case 'End':
      return keys[last]
    default:
      return null
  }
}

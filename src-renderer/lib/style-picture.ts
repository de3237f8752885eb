/** A style as a small picture: agents in columns by who waits for whom within a round. Distances in SVG user units. */
import type { StyleView } from '../../src-main/bridge/contract'

export interface Spot {
  readonly role: string
  /** Agents of one column think side by side; columns think one after the other. */
  readonly column: number
  readonly x: number
  readonly y: number
  readonly writes: boolean
}

export interface StylePicture {
  readonly width: number
  readonly height: number
  readonly columns: number
  readonly spots: readonly Spot[]
  readonly links: readonly { readonly key: string; readonly feedback: boolean; readonly path: string }[]
}

export const radius = 9
const across = 52
const down = 30
const margin = 16

export function stylePicture({ agents, links }: Pick<StyleView, 'agents' | 'links'>): StylePicture {
  const column = new Map<string, number>()
  for (const { role } of agents) {
    // links within a round come from earlier agents, whose columns are known
    const before = links.filter(({ to, feedback }) => to === role && !feedback).map(({ from }) => column.get(from) ?? 0)
    column.set(role, before.length === 0 ? 0 : Math.max(...before) + 1)
  }
  const columns = Math.max(0, ...column.values()) + 1
  const inColumn = (i: number) => agents.filter(({ role }) => column.get(role) === i)
  const tallest = Math.max(...Array.from({ length: columns }, (_, i) => inColumn(i).length))
  const height = (tallest - 1) * down + 2 * margin + 2 * radius + 22
  const middle = margin + radius + ((tallest - 1) * down) / 2
  const spots = Array.from({ length: columns }, (_, i) => {
    const those = inColumn(i)
    return those.map(({ role, writes }, k) => ({
      role,
      writes,
      column: i,
      x: margin + radius + i * across,
      y: middle + (k - (those.length - 1) / 2) * down,
    }))
  }).flat()
  const at = new Map(spots.map((spot) => [spot.role, spot]))
  return {
    width: 2 * margin + 2 * radius + (columns - 1) * across,
    height,
    columns,
    spots,
    links: links.flatMap(({ key, from, to, feedback }) => {
      const [a, b] = [at.get(from), at.get(to)]
      if (!a || !b) return []
      return [{ key, feedback, path: feedback ? arc(a, b, height) : line(a, b) }]
    }),
  }
}

function line(a: Spot, b: Spot): string {
  const length = Math.hypot(b.x - a.x, b.y - a.y)
  const [dx, dy] = [((b.x - a.x) / length) * (radius + 2), ((b.y - a.y) / length) * (radius + 2)]
  return `M ${a.x + dx} ${a.y + dy} L ${b.x - dx} ${b.y - dy}`
}

function arc(a: Spot, b: Spot, height: number): string {
  const low = height - 4
  return `M ${a.x} ${a.y + radius + 2} C ${a.x} ${low}, ${b.x} ${low}, ${b.x} ${b.y + radius + 2}`
}

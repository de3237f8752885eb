/** Where agents and links of a system stand in its picture. Distances in SVG user units (1 = 1 px at full size). */
import type { SystemPicture } from '../../src-main/bridge/contract'

type Link = SystemPicture['links'][number]

export interface Node {
  readonly role: string
  readonly x: number
  readonly y: number
}

export interface Edge {
  readonly link: Link
  readonly path: string
  /** Where a sign or word on the link stands. */
  readonly middle: { readonly x: number; readonly y: number }
}

export interface Layout {
  readonly width: number
  readonly height: number
  readonly nodes: readonly Node[]
  readonly edges: readonly Edge[]
  /** From the question through every agent and back to the first one: what one round does. */
  readonly round: string
  readonly question: { readonly x: number; readonly y: number }
  readonly answer: { readonly x: number; readonly y: number }
}

export const nodeWidth = 152
export const nodeHeight = 60
const gap = 64
const side = 70
const loopRoom = 46
const arcRoom = 50

/** Agents in a row in their order; inner links loop above their agent, forward links run between, feedback arcs below. */
export function layOut(system: SystemPicture): Layout {
  const outer = system.links.filter((link) => link.kind === 'outer')
  const at = new Map(system.agents.map((agent, i) => [agent.role, i]))
  const place = (role: string): number => at.get(role) ?? 0
  const longest = Math.max(0, ...outer.map((link) => Math.abs(place(link.to) - place(link.from))))
  const skips = outer.some((link) => place(link.to) - place(link.from) > 1)
  const backwards = outer.some((link) => place(link.to) <= place(link.from))
  const top = loopRoom + (skips ? 34 : 0)
  const nodes = system.agents.map((agent, i) => ({ role: agent.role, x: side + i * (nodeWidth + gap), y: top }))
  const width = side * 2 + nodes.length * nodeWidth + Math.max(0, nodes.length - 1) * gap
  const middleY = top + nodeHeight / 2
  const bottom = top + nodeHeight
  const depth = arcRoom + Math.max(0, longest - 2) * 8

  const edges = system.links.map((link): Edge => {
    const from = nodes[place(link.from)]
    const to = nodes[place(link.to)]
    if (link.kind === 'inner') {
      const center = from.x + nodeWidth / 2
      return { link, path: loop(center, top), middle: { x: center, y: top - 28 } }
    }
    const steps = place(link.to) - place(link.from)
    if (steps === 1) {
      const start = from.x + nodeWidth
      return {
        link,
        path: `M ${start} ${middleY} L ${to.x - 6} ${middleY}`,
        middle: { x: (start + to.x) / 2 - 3, y: middleY },
      }
    }
    const below = steps <= 0
    const startX = from.x + nodeWidth * (below ? 0.5 : 0.8)
    const endX = to.x + nodeWidth * (below ? 0.5 : 0.2)
    const edgeY = below ? bottom : top
    const farY = below ? bottom + depth : top - 50
    const tipY = below ? edgeY + 6 : edgeY - 6
    return {
      link,
      path: `M ${startX} ${edgeY} C ${startX} ${farY}, ${endX} ${farY}, ${endX} ${tipY}`,
      middle: { x: (startX + endX) / 2, y: edgeY + (farY - edgeY) * 0.75 },
    }
  })

  return {
    width,
    height: bottom + (backwards ? depth * 0.75 + 28 : 16),
    nodes,
    edges,
    round: roundPath(nodes, edges, middleY, top, system),
    question: { x: side - 10, y: middleY },
    answer: { x: width - side + 10, y: middleY },
  }
}

function loop(center: number, top: number): string {
  return `M ${center + 26} ${top} C ${center + 26} ${top - 36}, ${center - 26} ${top - 36}, ${center - 26} ${top - 6}`
}

/** One continuous path; inside an agent it runs behind the agent's box. */
function roundPath(
  nodes: readonly Node[],
  edges: readonly Edge[],
  middleY: number,
  top: number,
  system: SystemPicture,
): string {
  if (nodes.length === 0) return ''
  const parts = [`M ${nodes[0].x - 40} ${middleY}`]
  for (const node of nodes) {
    parts.push(`L ${node.x} ${middleY}`)
    const center = node.x + nodeWidth / 2
    if (edges.some((edge) => edge.link.kind === 'inner' && edge.link.from === node.role)) {
      parts.push(`L ${center + 26} ${top}`, loop(center, top).replace(/^M [^C]*/, ''), `L ${center - 26} ${top}`)
    }
    parts.push(`L ${node.x + nodeWidth} ${middleY}`)
  }
  const last = nodes[nodes.length - 1]
  const feedback = edges.find((edge) => edge.link.feedback && edge.link.from === last.role)
  if (feedback) {
    const target = nodes.find((node) => node.role === feedback.link.to) ?? nodes[0]
    parts.push(
      `L ${last.x + nodeWidth / 2} ${top + nodeHeight}`,
      feedback.path.replace(/^M [^C]*/, ''),
      `L ${target.x + nodeWidth / 2} ${middleY}`,
    )
  } else if (system.agents.at(-1)?.writes) {
    parts.push(`L ${last.x + nodeWidth + 40} ${middleY}`)
  }
  return parts.join(' ')
}

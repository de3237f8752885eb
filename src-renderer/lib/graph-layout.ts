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
  /** The word beside the arrow that leaves the agent who writes. */
  readonly answer: { readonly x: number; readonly y: number; readonly path: string }
}

export const nodeWidth = 152
export const nodeHeight = 60
const gap = 64
const side = 70
const loopRoom = 46
const arcRoom = 50
const arcStep = 24

/** Agents in a row in their order; inner links loop above their agent, forward links run between, feedback arcs below. */
export function layOut(system: SystemPicture): Layout {
  const outer = system.links.filter((link) => link.kind === 'outer')
  const at = new Map(system.agents.map((agent, i) => [agent.role, i]))
  const place = (role: string): number => at.get(role) ?? 0
  const spans = outer.map((link) => place(link.to) - place(link.from))
  const skip = Math.max(0, ...spans.filter((span) => span > 1))
  const back = Math.max(-1, ...spans.filter((span) => span <= 0).map((span) => -span))
  // arcs over more agents lie further out, so that none crosses the words of another
  const above = (span: number): number => loopRoom + 24 + (span - 2) * arcStep
  const below = (span: number): number => arcRoom + Math.max(0, span - 1) * arcStep
  const top = skip > 1 ? above(skip) * 0.75 + 14 : loopRoom
  const nodes = system.agents.map((agent, i) => ({ role: agent.role, x: side + i * (nodeWidth + gap), y: top }))
  const width = side * 2 + nodes.length * nodeWidth + Math.max(0, nodes.length - 1) * gap
  const middleY = top + nodeHeight / 2
  const bottom = top + nodeHeight

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
    const under = steps <= 0
    // a link to the agent itself leaves and comes in beside the middle
    const aside = steps === 0 ? 26 : 0
    const startX = from.x + nodeWidth * (under ? 0.5 : 0.8) + aside
    const endX = to.x + nodeWidth * (under ? 0.5 : 0.2) - aside
    const edgeY = under ? bottom : top
    const farY = under ? bottom + below(-steps) : top - above(steps)
    const tipY = under ? edgeY + 6 : edgeY - 6
    return {
      link,
      path: `M ${startX} ${edgeY} C ${startX} ${farY}, ${endX} ${farY}, ${endX} ${tipY}`,
      middle: { x: (startX + endX) / 2, y: edgeY + (farY - edgeY) * 0.75 },
    }
  })
  const writer = nodes[system.agents.findIndex((agent) => agent.writes)]
  const lastWrites = writer === nodes.at(-1)

  return {
    width,
    height: bottom + (back >= 0 ? below(back) * 0.75 + 28 : lastWrites ? 16 : 40),
    nodes,
    edges,
    round: roundPath(nodes, edges, middleY, top, system),
    question: { x: side - 10, y: middleY },
    answer: lastWrites
      ? { x: width - side + 12, y: middleY - 8, path: `M ${width - side} ${middleY} L ${width - side + 60} ${middleY}` }
      : answerBelow(writer, bottom),
  }
}

/** Of an agent that others follow the answer leaves downwards. */
function answerBelow(writer: Node | undefined, bottom: number): Layout['answer'] {
  const x = (writer?.x ?? 0) + nodeWidth * 0.85
  return { x: x + 8, y: bottom + 26, path: `M ${x} ${bottom} L ${x} ${bottom + 28}` }
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

/** Pictures of styles that are no chain of three: everything stands in the picture, and no word or sign on another. */
import { describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import type { SystemPicture } from '../../../src-main/bridge/contract'
import { isFeedback, type StyleDefinition } from '../../../src-main/engine/styles/style'
import { openStyle } from '../../../src-main/engine/styles/style-file'
import { layOut, nodeHeight, nodeWidth, type Layout } from '../../../src-renderer/lib/graph-layout'

const file = (name: string) => fileURLToPath(new URL(`../styles/files/${name}`, import.meta.url))

function picture({ name, roles, links, last }: StyleDefinition): SystemPicture {
  const state = { trained: false, step: null, run: null }
  const names = roles.map(({ role }) => role)
  return {
    style: name,
    agents: names.map((role, i) => ({
      role,
      model: 'm',
      family: null,
      hiddenSize: null,
      layers: null,
      writes: i === last,
    })),
    links: [
      ...names.map((role) => ({ key: role, kind: 'inner' as const, from: role, to: role, feedback: false, ...state })),
      ...links.map((l) => ({
        key: l.key,
        kind: 'outer' as const,
        from: names[l.source],
        to: names[l.target],
        feedback: isFeedback(l),
        ...state,
      })),
    ],
  }
}

const numbers = (path: string): number[] => path.match(/-?\d+(\.\d+)?/g)!.map(Number)

/** Points of a line or a cubic curve, start and end included. */
function along(path: string): { x: number; y: number }[] {
  const n = numbers(path)
  return Array.from({ length: 41 }, (_, i) => {
    const t = i / 40
    const at = (k: number) =>
      n.length === 4
        ? n[k] * (1 - t) + n[2 + k] * t
        : n[k] * (1 - t) ** 3 + 3 * n[2 + k] * t * (1 - t) ** 2 + 3 * n[4 + k] * t ** 2 * (1 - t) + n[6 + k] * t ** 3
    return { x: at(0), y: at(1) }
  })
}

function check({ width, height, nodes, edges, answer }: Layout): void {
  for (const { path } of edges)
    for (const { x, y } of along(path)) {
      expect(x).toBeGreaterThanOrEqual(0)
      expect(x).toBeLessThanOrEqual(width)
      expect(y).toBeGreaterThanOrEqual(0)
      expect(y).toBeLessThanOrEqual(height)
      // only the edge of a box is touched
      for (const node of nodes)
        expect(x > node.x + 1 && x < node.x + nodeWidth - 1 && y > node.y + 1 && y < node.y + nodeHeight - 1).toBe(
          false,
        )
    }
  // the signs of two links are 14 wide, the words under feedback about 150 by 12
  edges.forEach((a, i) =>
    edges.slice(i + 1).forEach((b) => {
      const [dx, dy] = [Math.abs(a.middle.x - b.middle.x), Math.abs(a.middle.y - b.middle.y)]
      const words = a.link.feedback && b.link.feedback
      expect(words ? dx >= 150 || dy >= 14 : dx >= 16 || dy >= 16, `${a.link.key} and ${b.link.key}`).toBe(true)
    }),
  )
  for (const { middle, link } of edges) if (link.feedback) expect(middle.y + 20).toBeLessThanOrEqual(height)
  expect(numbers(answer.path).every((v) => v >= 0)).toBe(true)
}

describe.each([
  ['sequential', 'sequential', 3],
  ['mixture', 'mixture', 4],
  ['distillation', 'distillation', 2],
  ['a ring of two', file('ring.json'), 2],
  ['a chain of five', file('chain.json'), 5],
])('%s', (_, name, agents) => {
  it('has every agent and link in the picture, apart from each other', async () => {
    const { style } = await openStyle(name, undefined)
    const layout = layOut(picture(style))
    expect(layout.nodes).toHaveLength(agents)
    expect(layout.edges).toHaveLength(agents + style.links.length)
    check(layout)
    // each outer link leaves its sender's box and comes to its reader's
    const box = (role: string) => layout.nodes.find((n) => n.role === role)!
    for (const { link, path } of layout.edges) {
      const n = numbers(path)
      const [startX, endX] = [n[0], n.at(-2)!]
      expect(startX).toBeGreaterThanOrEqual(box(link.from).x)
      expect(startX).toBeLessThanOrEqual(box(link.from).x + nodeWidth)
      expect(endX).toBeGreaterThanOrEqual(box(link.to).x - 6)
      expect(endX).toBeLessThanOrEqual(box(link.to).x + nodeWidth)
    }
  })
})

it('an agent that reads itself has a loop, and an answer from the middle leaves downwards', async () => {
  const { style } = await openStyle(file('ring.json'), undefined)
  const self = { ...style, links: [...style.links, { key: 'self', source: 0, target: 0 }], last: 0 }
  const layout = layOut(picture(self))
  check({ ...layout, edges: layout.edges.filter((e) => e.link.key !== 'reply') })
  const points = along(layout.edges.find((e) => e.link.key === 'self')!.path)
  expect(points[0].x - points.at(-1)!.x).toBeGreaterThan(20)
  const [x, y, , endY] = numbers(layout.answer.path)
  expect(x).toBeLessThan(layout.nodes[0].x + nodeWidth)
  expect(endY).toBeGreaterThan(y)
})

import { describe, expect, it } from 'vitest'
import { canonicalRole, inRoleOrder, styleByName, styleOfRole, styles } from '../../../src-main/engine/styles/registry'

describe('every style', () => {
  it.each(styles.map((s) => [s.name, s] as const))('%s hangs together', (_, s) => {
    expect(s.roles).toHaveLength(s.agentCount)
    expect(new Set(s.links.map((l) => l.key)).size).toBe(s.links.length)
    const has = (source: number, target: number) => s.links.some((l) => l.source === source && l.target === target)
    for (const { agent, sources } of s.chain) for (const source of sources) expect(has(source, agent)).toBe(true)
    for (const agent of s.first) expect(has(s.last, agent)).toBe(true)
    // every agent runs once a round, after those that it reads
    const ran = new Set(s.first)
    for (const { agent, sources } of s.chain) {
      expect(sources.every((x) => ran.has(x))).toBe(true)
      expect(ran.has(agent)).toBe(false)
      ran.add(agent)
    }
    expect(ran.size).toBe(s.agentCount)
    expect(s.chain.at(-1)!.agent).toBe(s.last)
  })
})

describe('roles', () => {
  it('are read by our name or the reference’s', () => {
    expect(canonicalRole('refiner')).toBe('critic')
    expect(styleOfRole('refiner')).toEqual({ style: styleByName('sequential'), agent: 1 })
    expect(() => styleOfRole('judge')).toThrow(/planner, critic, solver/)
    expect(() => styleByName('spiral')).toThrow(/spiral.*sequential/)
  })

  it('put agents into order, each once', () => {
    const style = styleByName('sequential')
    const agents = ['solver', 'planner', 'refiner'].map((role) => ({ role }))
    expect(inRoleOrder(style, agents).map((a) => a.role)).toEqual(['planner', 'refiner', 'solver'])
    expect(() => inRoleOrder(style, agents.slice(1))).toThrow(/"solver" has no agent/)
    expect(() => inRoleOrder(style, [...agents, { role: 'critic' }])).toThrow(/"critic" has 2 agents/)
    expect(() => inRoleOrder(style, [...agents, { role: 'judge' }])).toThrow(/no role "judge"/)
  })
})

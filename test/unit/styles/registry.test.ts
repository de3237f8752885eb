import { describe, expect, it } from 'vitest'
import { canonicalRole, inRoleOrder, styleByName, styleOfRole, styles } from '../../../src-main/engine/styles/registry'
import { isFeedback } from '../../../src-main/engine/styles/style'
import { linksUsed, walk } from '../../../src-main/engine/styles/walk'
import { commentedGraph, ringGraph } from '../training/toy-team'

describe('every style', () => {
  it.each(styles.map((s) => [s.name, s] as const))('%s hangs together', (_, s) => {
    expect(s.roles).toHaveLength(s.agentCount)
    expect(new Set(s.links.map((l) => l.key)).size).toBe(s.links.length)
    const three = walk(s, 3)
    // every agent thinks in every round, and every link carries something in each but the last, where feedback is not sent
    expect(three.map((step) => `${step.round} ${step.agent}`)).toEqual(
      [0, 1, 2].flatMap((r) => s.roles.map((_, a) => `${r} ${a}`)),
    )
    const [first, second, third] = linksUsed(s, 3)
    const keys = (feedbackToo: boolean) => s.links.filter((l) => feedbackToo || !isFeedback(l)).map((l) => l.key)
    expect([...first].sort()).toEqual(keys(true).sort())
    expect([...second].sort()).toEqual(keys(true).sort())
    expect([...third].sort()).toEqual(keys(false).sort())
  })

  it('no two of them have a role or another name of one in common', () => {
    const names = styles.flatMap((s) =>
      s.roles.flatMap((r) => [r.role, r.referenceName ?? [], r.releasedName ?? []].flat()),
    )
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('walk', () => {
  const steps = (...args: Parameters<typeof walk>) =>
    walk(...args).map(
      (s) => `${s.round}.${s.agent} reads ${s.reads.map((l) => l.key).join(' ')}${s.sends ? '' : ', answers'}`,
    )

  it('gives first agents no slots in the first round and feedback in the others', () => {
    expect(steps(styleByName('mixture'), 2)).toEqual([
      '0.0 reads ',
      '0.1 reads ',
      '0.2 reads ',
      '0.3 reads outer_1s outer_2s outer_3s',
      '1.0 reads outer_s1',
      '1.1 reads outer_s2',
      '1.2 reads outer_s3',
      '1.3 reads outer_1s outer_2s outer_3s, answers',
    ])
  })

  it('ends with the answer, leaves out what cannot reach it, and keeps the order of the links in the slots', () => {
    expect(steps(commentedGraph, 2)).toEqual([
      '0.0 reads ',
      '0.1 reads to-second',
      '0.2 reads first second',
      '0.3 reads answer',
      '1.0 reads self',
      '1.1 reads to-second',
      '1.2 reads comment first second, answers',
    ])
    // one round of a ring whose first agent answers: it answers at once
    expect(steps(ringGraph, 1)).toEqual(['0.0 reads , answers'])
    expect(steps(ringGraph, 2)).toEqual(['0.0 reads ', '0.1 reads outer_ab', '1.0 reads outer_ba, answers'])
  })

  it('has answers of all rounds where they are asked for', () => {
    const side = {
      name: 'side',
      agentCount: 2,
      links: [
        { key: 'x', source: 0, target: 1 },
        { key: 'y', source: 0, target: 0 },
      ],
      last: 1,
    }
    expect(steps(side, 2)).toEqual(['0.0 reads ', '1.0 reads y', '1.1 reads x, answers'])
    expect(steps(side, 2, { answersEveryRound: true })).toEqual([
      '0.0 reads ',
      '0.1 reads x, answers',
      '1.0 reads y',
      '1.1 reads x, answers',
    ])
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

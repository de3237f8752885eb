/** The team of a pipeline as a picture: built-in styles, a style of one's own, released systems. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Pipeline } from '../../../src-main/workspace/pipeline'
import { systemPicture } from '../../../src-main/workspace/system-picture'
import { tinySystem } from '../released/tiny-system'
import { demo } from '../training/run-demo-job'

const ring = fileURLToPath(new URL('../styles/files/ring.json', import.meta.url))

const pipeline = (steps: Partial<Pipeline['steps'][number]>[], style = 'sequential'): Pipeline => ({
  version: 1,
  title: 'T',
  description: '',
  style,
  systems: [],
  steps: steps.map((step, i) => ({ id: `s${i}`, title: 't', kind: 'outer', requires: [], spec: {}, ...step })),
})
const agents = (...roles: string[]) => roles.map((role) => ({ role, model: demo('models/critic') }))

describe('systemPicture', () => {
  it('draws a style of one’s own out of its file', async () => {
    const inner = { kind: 'inner' as const, spec: { role: 'asker', style: ring } }
    const steps = [inner, { spec: { style: ring, agents: agents('answerer', 'asker') } }]
    const found = (await systemPicture(pipeline(steps), (id) => (id === 's0' ? 'run-1' : null), '/'))!
    expect(found.style).toBe('ring')
    expect(found.agents).toMatchObject([
      { role: 'asker', model: 'critic', writes: false },
      { role: 'answerer', writes: true },
    ])
    expect(found.agents[0].hiddenSize).toBeGreaterThan(0)
    expect(found.links).toEqual([
      {
        key: 'asker',
        kind: 'inner',
        from: 'asker',
        to: 'asker',
        feedback: false,
        trained: true,
        step: 's0',
        run: 'run-1',
      },
      {
        key: 'answerer',
        kind: 'inner',
        from: 'answerer',
        to: 'answerer',
        feedback: false,
        trained: false,
        step: null,
        run: null,
      },
      {
        key: 'ask',
        kind: 'outer',
        from: 'asker',
        to: 'answerer',
        feedback: false,
        trained: false,
        step: 's1',
        run: null,
      },
      {
        key: 'reply',
        kind: 'outer',
        from: 'answerer',
        to: 'asker',
        feedback: true,
        trained: false,
        step: 's1',
        run: null,
      },
    ])
    // the pipeline's own style, relative to its folder
    const named = await systemPicture(
      pipeline([{ spec: { agents: agents('asker', 'answerer') } }], 'files/ring.json'),
      () => null,
      fileURLToPath(new URL('../styles', import.meta.url)),
    )
    expect(named!.links.filter((l) => l.kind === 'outer').map((l) => l.key)).toEqual(['ask', 'reply'])
  })

  it('draws a released system with its links as they lie there', async () => {
    const { folder } = await tinySystem('mixture')
    const spec = { system: { name: 'mixture', folder } }
    const found = (await systemPicture(pipeline([{ kind: 'evaluate', spec }]), () => null, '/'))!
    expect(found.agents.map((a) => [a.role, a.hiddenSize])).toEqual([
      ['math-expert', 16],
      ['code-expert', 32],
      ['science-expert', 48],
      ['summarizer', 16],
    ])
    expect(found.links).toHaveLength(4 + 6)
    expect(found.links.every((l) => l.trained && l.step === null)).toBe(true)
    expect(found.links.filter((l) => l.feedback).map((l) => l.to)).toEqual([
      'math-expert',
      'code-expert',
      'science-expert',
    ])
    // training of its outer links
    const training = (await systemPicture(
      pipeline([{ spec: { system: { ...spec.system, outer: false } } }]),
      () => null,
      '/',
    ))!
    expect(training.links.map((l) => l.trained)).toEqual([...Array(4).fill(true), ...Array(6).fill(false)])
  })

  it('draws nothing where an agent, the style or the system is not there', async () => {
    const none = (spec: object) => systemPicture(pipeline([{ spec: { ...spec } }]), () => null, '/')
    expect(await none({ agents: agents('planner', 'critic') })).toBeNull()
    expect(await none({ style: 'quartet', agents: agents('planner') })).toBeNull()
    expect(await none({ style: '/none.json', agents: agents('planner') })).toBeNull()
    expect(await none({ system: { name: 'mixture', folder: '/none' } })).toBeNull()
    expect(await systemPicture(pipeline([]), () => null, '/')).toBeNull()
  })
})

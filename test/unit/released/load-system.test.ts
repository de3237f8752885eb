/** Whole systems opened for code that uses the engine as a library: README's example, and every style. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { jobSpec } from '../../../src-main/engine/job-spec'
import { loadSystem } from '../../../src-main/engine/released/load-system'
import { exportReferenceOuter } from '../../../src-main/engine/training/link-files-export'
import { readFirstThoughts } from './example'
import { fresh, tinyLinks, tinySystem } from './tiny-system'

const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8')

describe('loadSystem', () => {
  it.each(['sequential', 'mixture', 'distillation', 'deliberation'] as const)(
    '%s: agents and links as its files say',
    async (style) => {
      const { folder, inner, outer } = await tinySystem(style)
      const system = await loadSystem(style, { folder, threads: 1 })
      try {
        expect([...system.agents.values()].map((a) => a.inner)).toEqual(
          inner.map(({ type, parameters }) => ({ type, parameters })),
        )
        expect([...system.links.values()].map(({ key, type, parameters }) => ({ key, type, parameters }))).toEqual(
          outer.map(({ key, type, parameters }) => ({ key, type, parameters })),
        )
        expect(system.team.members.map((m) => m.agent)).toEqual([...system.agents.values()].map((a) => a.agent))
        expect(system.settings).toBeNull()
      } finally {
        await system.dispose()
      }
    },
  )

  it('names the link that does not fit its agents', async () => {
    const { folder } = await tinySystem('distillation')
    const { outer } = tinyLinks('sequential')
    const other = fresh()
    const [el, le] = [outer[1], outer[1]].map((l, i) => ({ ...l, key: ['outer_el', 'outer_le'][i] }))
    await exportReferenceOuter(other, [el, le], {
      style: 'distillation',
      agents: [1, 2].map((n) => ({ model: `m${n}`, innerLink: `i${n}` })),
      task: 'math',
      rounds: 1,
      superviseFinalOnly: true,
      earlierRoundsWeight: 0,
      enableThinking: false,
    })
    await expect(loadSystem('distillation', { folder, parts: { outer: other } })).rejects.toThrow(
      /outer link outer_el.*width 32 to 48, but the models here need 16 to 32/,
    )
  })
})

describe("README's example", () => {
  it('of a job is one that can be run', () => {
    const [json] = /\{\s+"kind": "evaluate", "output": "out", "data": \{ "file": "math500[^]*?\n {4}\}\n/.exec(readme)!
    const job = jobSpec.parse(JSON.parse(json))
    expect(job).toMatchObject({ rounds: 3, latentSteps: 32, batchSize: 16, generation: { maxNewTokens: 1000 } })
  })

  it('is the code that runs here', async () => {
    const [, shown] = /```ts\n([^`]*loadSystem[^`]*)```/.exec(readme)!
    const code = readFileSync(join(import.meta.dirname, 'example.ts'), 'utf8')
    const body = (text: string) => text.slice(text.indexOf('export')).trim()
    expect(body(code)).toBe(body(shown))
  })

  it('gives what crosses from the planner to the critic', async () => {
    const { folder } = await tinySystem('sequential')
    const crossed = await readFirstThoughts(folder, 'What is 1 + 1?')
    // 32 latent steps of the critic's width
    expect(crossed).toHaveLength(32 * 32)
    expect(crossed.every(Number.isFinite)).toBe(true)
    expect(crossed).toEqual(await readFirstThoughts(folder, 'What is 1 + 1?'))
    expect(crossed).not.toEqual(await readFirstThoughts(folder, 'What is 1 + 2?'))
  })
})

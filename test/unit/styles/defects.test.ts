import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type DefectName, defects, repeats } from '../../../src-main/engine/defects'
import { mixture } from '../../../src-main/engine/styles/mixture'
import { agentPrompt, type PromptSettings } from '../../../src-main/engine/styles/row-prompts'
import { sequential } from '../../../src-main/engine/styles/sequential'
import { builtInPack } from '../../../src-main/engine/text'

const engine = join(import.meta.dirname, '../../../src-main/engine')

/** Everything that the engine asks of the table, by name. */
function asked(): Set<string> {
  const files = readdirSync(engine, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts'))
  const calls = files.flatMap((f) => [...readFileSync(join(engine, f), 'utf8').matchAll(/repeats\('([\w-]+)'/g)])
  return new Set(calls.map((m) => m[1]))
}

describe('defects of the published method', () => {
  it('are all switched by the table, which has no others', () => {
    expect([...asked()].sort()).toEqual(Object.keys(defects).sort())
  })

  it.each(Object.keys(defects) as DefectName[])('%s: in reference mode, of the styles that have it', (name) => {
    const { styles } = defects[name]
    for (const style of ['sequential', 'mixture', 'distillation', 'deliberation', 'ring'])
      expect(repeats(name, 'reference', style)).toBe(styles === 'all' || styles.includes(style as never))
    expect(repeats(name, 'corrected', 'sequential')).toBe(false)
  })

  it('a sequential planner hears of round 2 in every round, in reference mode', () => {
    const settings = { style: sequential, pack: builtInPack, enableThinking: false, questionFirst: false, texts: [] }
    const said = (mode: PromptSettings['mode'], round: number) =>
      JSON.stringify(agentPrompt({ ...settings, mode }, { question: 'q', task: 'math' }, 0, round).user)
    expect(said('reference', 2)).toMatch(/round 2/)
    expect(said('corrected', 2)).toMatch(/round 3/)
    expect(repeats('round-two', 'reference', mixture.name)).toBe(false)
  })
})

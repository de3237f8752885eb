/** The built-in pack against every style: each agent in each round finds a prompt with the slots that its style fills. */
import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import type { Mode } from '../../../src-main/engine/job-spec'
import { checkPrompts } from '../../../src-main/engine/styles/check-prompts'
import { styleByName, styles } from '../../../src-main/engine/styles/registry'
import { agentPrompt, type PromptSettings, slotSources } from '../../../src-main/engine/styles/row-prompts'
import { builtInPack, parsePromptPack, type PackTask } from '../../../src-main/engine/text'

const tasks: readonly PackTask[] = ['math', 'code', 'choice']
const questions = ['What is 7 * 8?', 'Which?\nA. this\nB. that']
const settings = (style: PromptSettings['style'], mode: Mode = 'corrected', pack = builtInPack): PromptSettings => ({
  style,
  pack,
  mode,
  enableThinking: false,
  questionFirst: false,
  texts: style.roles.map(() => null),
})
const agents = styles.flatMap((style) => style.roles.map((r, agent) => [style.name, r.role, agent] as const))

describe.each(agents)('%s: %s', (name, _, agent) => {
  const style = styleByName(name)

  it('has a prompt for every round, task and mode, with a slot for each agent that it reads', () => {
    for (const mode of ['reference', 'corrected'] as const)
      for (const round of [0, 1, 2, 7])
        for (const task of tasks)
          for (const question of questions)
            for (const codeType of ['function', 'program'] as const) {
              const facts = { question, task, codeType }
              const sources = slotSources(style, agent, round)
              const { system, user } = agentPrompt(settings(style, mode), facts, agent, round)
              expect(system).not.toBe('')
              expect(user.filter((p) => p.kind === 'slot')).toHaveLength(sources.length)
              const words = user.map((p) => (p.kind === 'text' ? p.text : '')).join('')
              expect(words.split(question)).toHaveLength(2)
              expect(words).not.toMatch(/\{\{|\}\}/)
              // a slot stands alone on its line
              user.forEach((p, i) => {
                if (p.kind !== 'slot') return
                expect(user[i - 1]).toMatchObject({ text: expect.stringMatching(/\n$/) })
                expect(user[i + 1]).toMatchObject({ text: expect.stringMatching(/^\n/) })
              })
              const texts = sources.map((s) => `text of agent ${s}`)
              const filled = agentPrompt(settings(style, mode), facts, agent, round, texts)
              expect(filled.user).toHaveLength(1)
              const [{ kind, ...only }] = filled.user
              expect(kind).toBe('text')
              const said = 'text' in only ? only.text : ''
              // in the order of the sources, each on its line
              expect(said.match(/^text of agent \d$/gm) ?? []).toEqual(texts)
            }
  })

  it('tells no two agents of a style the same', () => {
    const own = agentPrompt(settings(style), { question: 'q', task: 'math' }, agent, 0).user
    style.roles.forEach((_, other) => {
      if (other === agent) return
      expect(agentPrompt(settings(style), { question: 'q', task: 'math' }, other, 0).user).not.toEqual(own)
    })
  })
})

describe('checkPrompts', () => {
  it('passes the built-in pack for every style', () => {
    for (const style of styles)
      checkPrompts(settings(style), { agents: style.roles.map((_, i) => i), rounds: 3, tasks })
  })

  const check = (
    change: (pack: typeof builtInPack) => void,
    needs: Partial<Parameters<typeof checkPrompts>[1]> = {},
  ) => {
    const pack = structuredClone(builtInPack)
    change(pack)
    const style = styleByName('mixture')
    return () =>
      checkPrompts(settings(style, 'corrected', parsePromptPack(pack, 'edited')), {
        agents: [0, 1, 2, 3],
        rounds: 3,
        tasks,
        ...needs,
      })
  }

  it('names a role without a prompt, and a situation without one', () => {
    expect(check((p) => void delete p.prompts['science-expert'])).toThrow(/the role "science-expert" has no text/)
    const noFeedback = (p: typeof builtInPack) => void delete p.prompts['code-expert'].feedback
    expect(check(noFeedback)).toThrow(/the role "code-expert" has no text for the situation "feedback"/)
    // with one round nothing comes back
    expect(check(noFeedback, { rounds: 1 })).not.toThrow()
    expect(check(noFeedback, { agents: [0, 2, 3] })).not.toThrow()
  })

  it('names a task that no text is for', () => {
    const mathOnly = (p: typeof builtInPack) =>
      void (p.prompts.summarizer.first = [{ when: { task: 'math' }, lines: p.prompts.summarizer.first as string[] }])
    expect(check(mathOnly)).toThrow(/prompts\.summarizer\.first: none of its conditions fits \(.*task c/)
    expect(check(mathOnly, { tasks: ['math'] })).not.toThrow()
  })

  it('names the slots of a prompt that reads other agents than the style has', () => {
    const twoSlots = (p: typeof builtInPack) =>
      void (p.prompts.summarizer.first = (p.prompts.summarizer.first as string[]).filter(
        (l) => !l.includes('slot:code'),
      ))
    expect(check(twoSlots)).toThrow(UserError)
    expect(check(twoSlots)).toThrow(
      /prompts\.summarizer\.first: it has 2 slots \(math, science\), but 3 slots are filled here \(from math-expert, code-expert, science-expert\): one is missing for code, outer_2s, code-expert, /,
    )
  })
})

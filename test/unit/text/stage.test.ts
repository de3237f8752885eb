import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { loadModelText } from '../../../src-main/engine/text/model-text'
import { cutAtMarkers, markersFor, type PromptPart } from '../../../src-main/engine/text/slots'
import { renderStage, type StageOptions } from '../../../src-main/engine/text/stage'
import { renderInnerRow } from '../../../src-main/engine/text/inner-row'
import { trainingText } from '../../../src-main/engine/training/training-texts'
import { laidOut } from './laid-out'
import { tinyModel } from './tiny-model'

const text = (t: string): PromptPart => ({ kind: 'text', text: t })
const slot = (name: string): PromptPart => ({ kind: 'slot', name })
const corrected: StageOptions = { mode: 'corrected' }
const bytes = (t: string) => [...Buffer.from(t)]
const [BOS, EOS, USER, BOT, SYS, THINK] = [256, 257, 259, 260, 261, 262]

describe('a stage', () => {
  it('has a prompt to start from and the same prompt with the target', async () => {
    const model = await loadModelText(await tinyModel())
    const prompt = { system: 'S', user: [text('a'), slot('plan'), text('b')] }
    const stage = await renderStage(model, prompt, 'xy', corrected)
    expect(stage.slots).toEqual(['plan'])
    expect(stage.prompt.texts).toEqual(['<s><sys>S<user>a', 'b<bot>'])
    expect(stage.prompt.ids).toEqual([
      [BOS, SYS, 83, USER, 97],
      [98, BOT],
    ])
    expect(stage.full!.ids[1]).toEqual([98, BOT, 120, 121, EOS])
    expect(stage.warnings).toEqual([])
    const layout = laidOut(stage, [3])
    expect(layout.tokens).toEqual([BOS, SYS, 83, USER, 97, -100, -100, -100, 98, BOT, 120, 121, EOS])
    expect(layout.promptLength).toBe(10)
    expect(layout.labels).toEqual([...Array<number>(10).fill(-100), 120, 121, EOS])
  })

  it('writes no system message where there is none', async () => {
    const model = await loadModelText(await tinyModel())
    const stage = await renderStage(model, { system: '', user: [text('a')] }, null, corrected)
    expect(stage.prompt.texts).toEqual(['<s><user>a<bot>'])
    expect(stage.full).toBeNull()
  })

  it('is not misled by a question that holds marker text, private characters included', async () => {
    const model = await loadModelText(await tinyModel())
    const evil = `<<LATENT_PLANNER_SLOT>> ${markersFor(2, []).join(' ')}`
    const prompt = { system: evil, user: [text(evil), slot('plan'), text(evil)] }
    const stage = await renderStage(model, prompt, evil, corrected)
    expect(stage.prompt.texts).toEqual([`<s><sys>${evil}<user>${evil}`, `${evil}<bot>`])
    expect(stage.full!.ids[1]).toEqual([...bytes(evil), BOT, ...bytes(evil), EOS])
  })

  it('keeps an empty slot as a gap between two pieces', async () => {
    const model = await loadModelText(await tinyModel())
    const stage = await renderStage(model, { system: '', user: [slot('a'), slot('b')] }, null, corrected)
    expect(stage.prompt.ids).toEqual([[BOS, USER], [], [BOT]])
  })

  it('refuses a template that leaves the message out or shows it twice', async () => {
    for (const chatTemplate of ['nothing', '{{ messages[-1].content }}{{ messages[-1].content }}']) {
      const model = await loadModelText(await tinyModel({ chatTemplate }))
      await expect(renderStage(model, { system: '', user: [slot('a')] }, null, corrected)).rejects.toThrow(UserError)
    }
  })

  it('refuses a model without a chat template', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate: null }))
    await expect(renderStage(model, { system: '', user: [text('a')] }, null, corrected)).rejects.toThrow(
      /no chat template/,
    )
  })

  it('tells that the system text was moved or thinking not given', async () => {
    const chatTemplate =
      "{% if messages[0].role == 'system' or enable_thinking is defined %}{{ raise_exception('no system, no enable_thinking') }}{% endif %}" +
      '{{ messages[0].content }}'
    const model = await loadModelText(await tinyModel({ chatTemplate }))
    const stage = await renderStage(model, { system: 'S', user: [text('a')] }, null, {
      mode: 'corrected',
      enableThinking: false,
    })
    expect(stage.prompt.texts).toEqual(['S\n\na'])
    expect(stage.warnings).toHaveLength(2)
  })
})

describe('a template whose generation prompt is no prefix of a finished turn', () => {
  const chatTemplate =
    "{% for m in messages %}{% if m.role == 'assistant' %}<bot>{{ m.content }}{{ eos_token }}{% else %}<user>{{ m.content }}{% endif %}{% endfor %}" +
    '{% if add_generation_prompt %}<bot><think>{% endif %}'
  const prompt = { system: '', user: [slot('plan'), text('q')] }

  it('loses target tokens in reference mode', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate }))
    const stage = await renderStage(model, prompt, 'xy', { mode: 'reference' })
    const layout = laidOut(stage, [2])
    expect(stage.prompt.ids[1].at(-1)).toBe(THINK)
    expect(layout.labels.slice(-2)).toEqual([121, EOS])
  })

  it('keeps the whole target in corrected mode, and warns', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate }))
    const stage = await renderStage(model, prompt, 'xy', corrected)
    const layout = laidOut(stage, [2])
    expect(layout.labels.filter((id) => id >= 0)).toEqual([120, 121, EOS])
    expect(layout.promptLength).toBe(5)
    expect(stage.warnings).toEqual([expect.stringContaining('the last 1 prompt tokens differ')])
  })

  it('keeps the target whole where the finished turn has another header, and shows the one that is asked', async () => {
    const odd =
      '{% if add_generation_prompt %}<user>{{ messages[0].content }}<bot>{% else %}<sys>{{ messages[0].content }}<bot>{{ messages[1].content }}{% endif %}'
    const model = await loadModelText(await tinyModel({ chatTemplate: odd }))
    const layout = laidOut(await renderStage(model, prompt, 'x', corrected), [2])
    expect(layout.tokens).toEqual([USER, -100, -100, 113, BOT, 120])
    expect(layout.promptLength).toBe(5)
    expect(layout.labels.filter((id) => id >= 0)).toEqual([120])
  })
})

describe('a template that writes the system text into the last message only', () => {
  // as Mistral's does: once there is an answer, the user message is not the last one any more
  const chatTemplate =
    "{{ bos_token }}{% set system = messages[0].content if messages[0].role == 'system' else '' %}" +
    "{% for m in messages if m.role != 'system' %}" +
    "{% if m.role == 'user' %}<user>{% if loop.last and system %}{{ system }}\n\n{% endif %}{{ m.content | trim }}<bot>" +
    '{% else %} {{ m.content | trim }}{{ eos_token }}{% endif %}{% endfor %}'
  const prompt = { system: 'S', user: [text('a'), slot('plan'), text('q ')] }

  it('reads in training what it reads in use, and learns the target alone', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate }))
    const stage = await renderStage(model, prompt, 'xy', corrected)
    expect(stage.prompt.texts).toEqual(['<s><user>S\n\na', 'q<bot>'])
    expect(stage.full!.texts).toEqual(['<s><user>S\n\na', 'q<bot> xy</s>'])
    const layout = laidOut(stage, [2])
    expect(layout.labels.filter((id) => id >= 0)).toEqual([32, 120, 121, EOS])
    expect(trainingText(stage)).toEqual({
      prompt: stage.prompt.ids,
      context: stage.prompt.ids,
      target: [32, 120, 121, EOS],
    })
    expect(stage.warnings).toEqual([expect.stringContaining('differently once they are answered')])
    const inner = await renderInnerRow(model, { system: 'S', user: [text('q')] }, 'xy', { ...corrected, maxLength: 50 })
    expect(inner).toMatchObject({ ids: [BOS, USER, 83, 10, 10, 113, BOT, 32, 120, 121, EOS], promptLength: 7 })
  })

  it('needs no other text where there is no system message', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate }))
    const stage = await renderStage(model, { ...prompt, system: '' }, 'xy', corrected)
    expect(stage.full!.texts).toEqual(['<s><user>a', 'q<bot> xy</s>'])
    expect(stage.warnings).toEqual([])
  })

  it('loses the question to the target in reference mode, as published', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate }))
    const stage = await renderStage(model, prompt, 'xy', { mode: 'reference' })
    expect(stage.full!.texts).toEqual(['<s><user>a', 'q<bot> xy</s>'])
    expect(stage.beforeTarget).toBe(stage.prompt.ids.flat().length)
  })

  it('is refused where the end of the user message cannot be told', async () => {
    const twice = chatTemplate.replace('{{ m.content | trim }}<bot>', '{{ m.content }}<bot>{{ m.content }}')
    const model = await loadModelText(await tinyModel({ chatTemplate: twice }))
    await expect(renderStage(model, { system: 'S', user: [text('q')] }, 'xy', corrected)).rejects.toThrow(UserError)
  })
})

describe('left truncation', () => {
  it('takes places away in order, those of slots too', async () => {
    const model = await loadModelText(await tinyModel())
    const stage = await renderStage(model, { system: '', user: [text('a'), slot('plan'), text('b')] }, 'x', corrected)
    // <s> <user> a | 4 places | b <bot> x </s>
    expect(laidOut(stage, [4], 6)).toEqual({
      dropped: 5,
      promptLength: 4,
      tokens: [-100, -100, 98, BOT, 120, EOS],
      labels: [-100, -100, -100, -100, 120, EOS],
    })
    expect(laidOut(stage, [4], 1)).toEqual({ dropped: 10, promptLength: 0, tokens: [EOS], labels: [EOS] })
  })
})

it('markers are found in order, each after the one before', () => {
  expect(cutAtMarkers('aXbYcX', ['X', 'Y'])).toEqual(['a', 'b', 'cX'])
  expect(() => cutAtMarkers('aYbX', ['X', 'Y'])).toThrow('slot marker not found: Y')
})

import { describe, expect, it } from 'vitest'
import { renderInnerRow } from '../../../src-main/engine/text/inner-row'
import { loadModelText } from '../../../src-main/engine/text/model-text'
import { tinyModel } from './tiny-model'

const prompt = { system: 'S', user: [{ kind: 'text', text: 'ab' }] } as const
const [BOS, EOS, USER, BOT, SYS] = [256, 257, 259, 260, 261]

describe('a row of inner training', () => {
  it('is prompt and target by the chat template', async () => {
    const model = await loadModelText(await tinyModel())
    const row = await renderInnerRow(model, prompt, 'xy', { mode: 'corrected', maxLength: 100 })
    expect(row.ids).toEqual([BOS, SYS, 83, USER, 97, 98, BOT, 120, 121, EOS])
    expect(row).toMatchObject({ promptLength: 7, latentEnd: 10 })
  })

  it('loses its end when it is too long', async () => {
    const model = await loadModelText(await tinyModel())
    const options = { mode: 'reference' } as const
    expect(await renderInnerRow(model, prompt, 'xy', { ...options, maxLength: 8 })).toMatchObject({
      promptLength: 7,
      latentEnd: 8,
    })
    expect(await renderInnerRow(model, prompt, 'xy', { ...options, maxLength: 3 })).toMatchObject({
      promptLength: 3,
      latentEnd: 3,
    })
  })

  it('stops teaching the link at a marker, with the line break before it', async () => {
    const model = await loadModelText(await tinyModel())
    const row = (target: string, maxLength = 100) =>
      renderInnerRow(model, prompt, target, { mode: 'corrected', maxLength, latentsEndAt: 'END' })
    expect(await row('xy\nEND z\nEND')).toMatchObject({ promptLength: 7, latentEnd: 9, warnings: [] })
    expect(await row('xyEND')).toMatchObject({ latentEnd: 9, warnings: [] })
    expect(await row('xy')).toMatchObject({ latentEnd: 10, warnings: [expect.stringContaining('"END"')] })
  })

  it('is plain text for a model without a chat template, with its special tokens and eos', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate: null }))
    const row = await renderInnerRow(model, prompt, 'xy', { mode: 'reference', maxLength: 100 })
    expect(row.ids).toEqual([BOS, 83, 10, 10, 97, 98, 120, 121, EOS])
    expect(row.promptLength).toBe(6)
    const corrected = await renderInnerRow(model, prompt, 'xy', { mode: 'corrected', maxLength: 100 })
    expect(corrected.ids).toEqual([BOS, 83, 10, 10, 97, 98, 10, 120, 121, EOS])
    expect(corrected).toMatchObject({ promptLength: 7, latentEnd: 10 })
    expect(corrected.warnings).toHaveLength(1)
  })

  it('takes no slot without text', async () => {
    const model = await loadModelText(await tinyModel())
    const open = { system: '', user: [{ kind: 'slot', name: 'plan' }] } as const
    await expect(renderInnerRow(model, open, 'x', { mode: 'corrected', maxLength: 9 })).rejects.toThrow(/slot plan/)
  })
})

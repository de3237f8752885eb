import { describe, expect, it } from 'vitest'
import type { SamplingOptions } from '../../../src-main/engine/agents/agent'
import { generationSpec } from '../../../src-main/engine/job-spec'
import { resolveGeneration } from '../../../src-main/engine/text/generation-settings'
import { loadModelText } from '../../../src-main/engine/text/model-text'
import { tinyModel } from './tiny-model'

const proposed = { eos_token_id: [257, 260], temperature: 0.7, top_k: 20, top_p: 0.8, do_sample: true }

describe('generation settings', () => {
  it('come from the run, then the checkpoint, then the defaults', async () => {
    const model = await loadModelText(await tinyModel({ files: { 'generation_config.json': proposed } }))
    const run = generationSpec.parse({ sample: true, maxNewTokens: 9, temperature: 0.6, topK: 0 })
    const settings: SamplingOptions = resolveGeneration(model, run, 'corrected')
    expect(settings).toEqual({
      maxNewTokens: 9,
      sample: true,
      temperature: 0.6,
      topK: 0,
      topP: 0.8,
      minP: 0,
      stopIds: [257, 260],
    })
    const unsaid = resolveGeneration(model, generationSpec.parse({ sample: true }), 'corrected')
    expect(unsaid).toMatchObject({ temperature: 0.7, topK: 20, topP: 0.8 })
  })

  it('take top-k 50 where neither says anything', async () => {
    const model = await loadModelText(await tinyModel())
    const settings = resolveGeneration(model, { sample: true, maxNewTokens: 1 }, 'corrected')
    expect(settings).toMatchObject({ temperature: 1, topK: 50, topP: 1, minP: 0, stopIds: [257] })
  })

  it('read a checkpoint that writes -1 or null', async () => {
    const off = await loadModelText(
      await tinyModel({ files: { 'generation_config.json': { top_k: -1, top_p: null } } }),
    )
    expect(resolveGeneration(off, { sample: true, maxNewTokens: 1 }, 'corrected')).toMatchObject({ topK: 0, topP: 1 })
  })
})

describe('proposals that cannot be followed', () => {
  const model = async (proposal: Record<string, unknown>) =>
    loadModelText(await tinyModel({ files: { 'generation_config.json': JSON.stringify(proposal) } }))
  const settings = async (proposal: Record<string, unknown>) =>
    resolveGeneration(await model(proposal), { sample: true, maxNewTokens: 1 }, 'corrected')
  const defaults = { temperature: 1, topK: 50, topP: 1, minP: 0 }

  it.each([
    { temperature: 0 },
    { temperature: -1 },
    { temperature: '0.7' },
    { top_p: 0 },
    { top_p: 1.5 },
    { top_k: -2 },
    { top_k: 2.5 },
    { min_p: -0.1 },
    { min_p: 2 },
  ])('%o is left out, with a warning', async (proposal) => {
    expect(await settings(proposal)).toMatchObject(defaults)
    const [[name, value]] = Object.entries(proposal)
    const { warnings } = (await model(proposal)).generation
    expect(warnings).toEqual([expect.stringContaining(`The ${name} that`)])
    expect(warnings[0]).toContain(`it is ${JSON.stringify(value)}, not`)
  })

  it('nothing is left out at the borders', async () => {
    const proposal = { temperature: 0.01, top_p: 1, top_k: 1, min_p: 0 }
    expect(await settings(proposal)).toMatchObject({ temperature: 0.01, topP: 1, topK: 1, minP: 0 })
    expect((await model({ ...proposal, min_p: 1, top_k: 0 })).generation.warnings).toEqual([])
  })
})

describe('stop ids', () => {
  const stop = async (files: Record<string, unknown>, mode: 'reference' | 'corrected', config = {}) =>
    resolveGeneration(await loadModelText(await tinyModel({ files, config })), { sample: false, maxNewTokens: 1 }, mode)
      .stopIds

  it("are the tokenizer's eos only in reference mode, and the checkpoint's too in corrected mode", async () => {
    const files = { 'generation_config.json': { eos_token_id: [260, 257, 262] } }
    expect(await stop(files, 'reference')).toEqual([257])
    expect(await stop(files, 'corrected')).toEqual([257, 260, 262])
    expect(await stop({ 'generation_config.json': { eos_token_id: 260 } }, 'corrected')).toEqual([257, 260])
  })

  it('come from config.json where there are no generation settings', async () => {
    expect(await stop({ 'config.json': { eos_token_id: 260 } }, 'corrected')).toEqual([257, 260])
    expect(await stop({ 'config.json': { text_config: { eos_token_id: [261] } } }, 'corrected')).toEqual([257, 261])
  })

  it('may come from the checkpoint alone', async () => {
    expect(await stop({ 'generation_config.json': { eos_token_id: 260 } }, 'corrected', { eos_token: null })).toEqual([
      260,
    ])
  })
})

import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { loadModelText, requireChat } from '../../../src-main/engine/text/model-text'
import { loadTokenizer } from '../../../src-main/engine/text/tokenizer'
import { SPECIAL, tinyModel, tokenizerJson } from './tiny-model'

describe('a tokenizer', () => {
  it('ignores the truncation that its file was saved with', async () => {
    const tokenizer = await loadTokenizer(await tinyModel())
    expect(await tokenizer.encode('0123456789')).toHaveLength(10)
    expect(await tokenizer.encodeAll(['0123456789', ''])).toEqual([[48, 49, 50, 51, 52, 53, 54, 55, 56, 57], []])
  })

  it('adds special tokens only when asked', async () => {
    const tokenizer = await loadTokenizer(await tinyModel())
    expect(await tokenizer.encode('A')).toEqual([65])
    expect(await tokenizer.encode('A', { special: true })).toEqual([256, 65])
    expect(await tokenizer.encode('A</s>')).toEqual([65, 257])
    expect(await tokenizer.decode([256, 65, 257])).toBe('<s>A</s>')
    expect(await tokenizer.decode([256, 65, 257], { skipSpecial: true })).toBe('A')
  })

  it('knows tokens by id and ids by token', async () => {
    const tokenizer = await loadTokenizer(await tinyModel())
    expect(tokenizer.vocabSize).toBe(256 + SPECIAL.length)
    expect(tokenizer.tokenToId('<user>')).toBe(259)
    expect(tokenizer.idToToken(259)).toBe('<user>')
    expect(tokenizer.tokenToId('nowhere')).toBeNull()
    expect(tokenizer.idToToken(99_999)).toBeNull()
  })

  it('pads with eos where no pad token is named', async () => {
    const tokenizer = await loadTokenizer(await tinyModel({ config: { pad_token: null } }))
    expect(tokenizer.pad).toEqual({ token: '</s>', id: 257 })
  })

  it('takes special tokens from objects and from special_tokens_map.json', async () => {
    const folder = await tinyModel({
      config: { bos_token: { content: '<s>', lstrip: false }, eos_token: undefined },
      files: { 'special_tokens_map.json': { eos_token: { content: '</s>' }, bos_token: '<pad>' } },
    })
    const tokenizer = await loadTokenizer(folder)
    expect(tokenizer.bos?.id).toBe(256)
    expect(tokenizer.eos?.id).toBe(257)
  })

  it.each([
    ['no tokenizer.json', { files: { 'tokenizer.json': null } }, /holds no tokenizer\.json/],
    [
      'a tokenizer.json cut short',
      { files: { 'tokenizer.json': JSON.stringify(tokenizerJson()).slice(0, 900) } },
      /tokenizer\.json/,
    ],
    ['neither pad nor eos', { config: { pad_token: null, eos_token: null } }, /neither a pad_token nor an eos_token/],
    ['an eos token that is not in the vocabulary', { config: { eos_token: '<end>' } }, /"<end>" as eos_token/],
    [
      'a broken tokenizer_config.json',
      { files: { 'tokenizer_config.json': '{"eos_token": ' } },
      /tokenizer_config\.json/,
    ],
    ['a field of another type', { config: { model_max_length: 'long' } }, /model_max_length/],
  ])('refuses %s', async (_, options, why) => {
    const folder = await tinyModel(options)
    const error = await loadTokenizer(folder).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(UserError)
    expect((error as UserError).why).toMatch(why)
    expect((error as UserError).message).toContain(folder)
  })
})

describe('the chat template of a folder', () => {
  const shown = async (options: Parameters<typeof tinyModel>[0]) => {
    const model = await loadModelText(await tinyModel(options))
    return requireChat(model).render([{ role: 'user', content: 'q' }], { generationPrompt: true, mode: 'corrected' })
      .text
  }

  it('comes from chat_template.jinja, tokenizer_config.json, chat_template.json, in this order', async () => {
    const json = { 'chat_template.json': { chat_template: 'json {{ messages[0].content }}' } }
    const jinja = { 'chat_template.jinja': 'jinja {{ messages[0].content }}' }
    expect(await shown({ files: { ...json, ...jinja } })).toBe('jinja q')
    expect(await shown({ files: json })).toBe('<s><user>q<bot>')
    expect(await shown({ chatTemplate: null, files: json })).toBe('json q')
  })

  it('is the one named default where there are several', async () => {
    const several = [
      { name: 'tool_use', template: 'tools' },
      { name: 'default', template: 'plain {{ messages[0].content }}' },
    ]
    expect(await shown({ chatTemplate: null, config: { chat_template: several } })).toBe('plain q')
  })

  it('may be missing, which only matters to those who need it', async () => {
    const model = await loadModelText(await tinyModel({ chatTemplate: null }))
    expect(model.chat).toBeNull()
    expect(() => requireChat(model)).toThrow(/has no chat template/)
  })

  it('is refused when it cannot be parsed', async () => {
    const error = await loadModelText(await tinyModel({ chatTemplate: '{% for m in messages %}' })).catch(
      (e: unknown) => e,
    )
    expect(error).toBeInstanceOf(UserError)
    expect((error as UserError).what).toMatch(/chat template/)
  })
})

/**
 * Two published backbones that come with another family's tokenizer class: DeepSeek-R1-Distill-Qwen (qwen2) and BioMistral (mistral).
 * Small random weights stand under configs of their shapes; their tokenizers are read as tokenizer.json says, whatever class
 * tokenizer_config.json names (golden/text: packages of the same kind, and what tokenizers and transformers give).
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Resources, type Model } from '../../src-main/engine/job-setup'
import { readConfig } from '../../src-main/engine/models/families'
import type { ChatMessage } from '../../src-main/engine/text/chat-template'
import { writeRandomModel } from '../unit/evaluation/byte-model'
import ownTemplates from './text/chat-templates.json'
import { tokenizerFolder } from './tokenizer-cache'

const golden = (name: string) => join(import.meta.dirname, name)
const { cases } = JSON.parse(readFileSync(golden('configs.json'), 'utf8')) as {
  cases: Record<string, { given: Record<string, unknown> }>
}
const rows = <T>(file: string): T[] =>
  readFileSync(golden(`text/${file}`), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T)

interface EncodeRow {
  tokenizer: string
  text: string
  ids: number[]
  ids_with_special: number[]
}
interface ChatRow {
  tokenizer: string
  case: string
  messages: ChatMessage[]
  add_generation_prompt: boolean
  enable_thinking: boolean | null
  text?: string
  merged_text?: string
}

const backbones = [
  {
    name: 'DeepSeek-R1-Distill-Qwen',
    config: 'qwen2.5 math 1.5B shape',
    vocabulary: 128_896,
    tokenizer: 'deepseek_v3',
    tokenizerClass: 'LlamaTokenizerFast',
    template: null,
    expected: { family: 'qwen2', qkvBias: true, windows: [0, 0] },
  },
  {
    name: 'BioMistral',
    config: 'mistral 7B v0.1 shape (BioMistral)',
    vocabulary: 32_000,
    tokenizer: 'llama2',
    tokenizerClass: 'LlamaTokenizer',
    template: 'own-alternating',
    expected: { family: 'mistral', qkvBias: false, windows: [4096, 4096] },
  },
] as const

describe.each(backbones)('$name', ({ config, vocabulary, tokenizer, tokenizerClass, template, expected }) => {
  const resources = new Resources({ device: 'cpu', threads: 1 }, () => undefined)
  let folder: string
  let model: Model

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'backbone-'))
    const files = await tokenizerFolder(tokenizer)
    copyFileSync(join(files, 'tokenizer.json'), join(folder, 'tokenizer.json'))
    const own = JSON.parse(readFileSync(join(files, 'tokenizer_config.json'), 'utf8')) as object
    const chat = template === null ? {} : { chat_template: ownTemplates[template].chat_template }
    writeFileSync(
      join(folder, 'tokenizer_config.json'),
      JSON.stringify({ ...own, ...chat, tokenizer_class: tokenizerClass }),
    )
    const small = { hidden_size: 32, intermediate_size: 48, num_hidden_layers: 2 }
    const heads = { num_attention_heads: 2, num_key_value_heads: 1 }
    const sizes = { ...small, ...heads, vocab_size: vocabulary, tie_word_embeddings: false }
    await writeRandomModel(folder, { ...(cases[config].given as { model_type: string }), ...sizes }, 1)
    model = await resources.model(folder)
  })
  afterAll(async () => {
    await resources.dispose()
    rmSync(folder, { recursive: true, force: true })
  })

  it('is its family', async () => {
    const read = await readConfig(folder)
    expect(read).toMatchObject(expected)
    expect(model.agent.vocabSize).toBe(vocabulary)
    const [logits] = await model.agent.logits([{ segments: [{ kind: 'tokens', ids: [1, 2, vocabulary - 1] }] }], [[2]])
    expect(logits).toHaveLength(vocabulary)
    expect(logits.every(Number.isFinite)).toBe(true)
  })

  it('reads text as tokenizer.json says', async () => {
    const all = rows<EncodeRow>('encode.jsonl').filter((r) => r.tokenizer === tokenizer)
    expect(all.length).toBeGreaterThan(200)
    const texts = all.map((r) => r.text)
    expect(await model.text.tokenizer.encodeAll(texts)).toEqual(all.map((r) => r.ids))
    expect(await model.text.tokenizer.encodeAll(texts, { special: true })).toEqual(all.map((r) => r.ids_with_special))
  })

  it('writes its prompts by its template', () => {
    const all = rows<ChatRow>('chat.jsonl').flatMap((r) => {
      // a template that takes no system role gets its text in front of the user's
      const text = r.text ?? r.merged_text
      return r.tokenizer === (template ?? tokenizer) && text ? [{ ...r, text }] : []
    })
    expect(all.length).toBeGreaterThan(30)
    for (const { text, ...r } of all) {
      const thinking = r.enable_thinking === null ? {} : { enableThinking: r.enable_thinking }
      const options = { generationPrompt: r.add_generation_prompt, mode: 'reference' as const, ...thinking }
      expect(model.text.chat!.render(r.messages, options).text, r.case).toBe(text)
    }
  })
})

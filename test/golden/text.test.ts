/** Tokenizers, streaming decode, chat templates and slots against what Python's libraries give (golden/text). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createChatTemplate, type ChatMessage, type ChatTemplate } from '../../src-main/engine/text/chat-template'
import { parseTemplate, TemplateRefusal } from '../../src-main/engine/text/jinja-template'
import { cutAtMarkers, encodePieces, type PromptPart } from '../../src-main/engine/text/slots'
import { renderStage, type Stage } from '../../src-main/engine/text/stage'
import { createStreamDecoder } from '../../src-main/engine/text/stream-decoder'
import { loadTokenizer, type TextTokenizer } from '../../src-main/engine/text/tokenizer'
import { UserError } from '../../src-main/engine/errors'
import ownTemplates from './text/chat-templates.json'
import sources from './text/sources.json'
import { laidOut } from '../unit/text/laid-out'
import { tokenizerFolder, tokenizerNames } from './tokenizer-cache'

const FOLDER = join(import.meta.dirname, 'text')

/** Read by hand: it holds lone surrogates, which an import of JSON refuses. */
const known = JSON.parse(readFileSync(join(FOLDER, 'known-differences.json'), 'utf8')) as {
  remaining_with_fixes: { file: string; line: number }[]
}

interface EncodeRow {
  tokenizer: string
  text: string
  ids: number[]
  ids_with_special: number[]
  decoded: string
  decoded_skip: string
}
interface EdgeRow {
  tokenizer: string
  kind: 'encode' | 'decode'
  case: string
  text?: string
  ids: number[]
  decoded?: string
  decoded_skip?: string
}
interface StreamRow {
  tokenizer: string
  ids: number[]
  skip_special_tokens: boolean
  decoded_steps: string[]
  chunks: string[]
  flush: string
}
interface ChatRow {
  tokenizer: string
  case: string
  messages: ChatMessage[]
  add_generation_prompt: boolean
  enable_thinking: boolean | null
  template_vars?: Record<string, string>
  text?: string
  ids?: number[]
  error?: string
  error_text?: string
  merged_messages?: ChatMessage[] | null
  merged_text?: string
  merged_ids?: number[]
  merged_error_text?: string
  without_enable_thinking_text?: string
}
interface SlotRow {
  tokenizer: string
  template: string
  case: string
  messages: ChatMessage[]
  target: string
  enable_thinking: boolean | null
  markers: string[]
  slot_lengths: number[]
  error?: string
  error_text?: string
  P: string
  F: string
  p_pieces: string[]
  f_pieces: string[]
  p_piece_ids: number[][]
  f_piece_ids: number[][]
  common_prefix_len: number
  is_common_prefix: boolean
  max_length: number | null
  dropped: number
  promptLen: number
  tokens: number[]
  labels: number[]
}
interface JinjaRow {
  template: string
  vars: Record<string, unknown>
  text?: string
  error_text?: string
}

function rows<T>(file: string): (T & { line: number })[] {
  const lines = readFileSync(join(FOLDER, `${file}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((l, i) => ({ ...(JSON.parse(l) as T), line: i + 1 }))
}

/** Numbers below 2^23 in a fixed order. */
function lcg(seed: number): () => number {
  let state = seed
  return () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >>> 8
}

/** What differs, as text for the report; every test expects an empty list. */
class Differences {
  readonly list: string[] = []
  checks = 0
  compare(what: string, actual: unknown, wanted: unknown): void {
    this.checks++
    const [a, w] = [JSON.stringify(actual), JSON.stringify(wanted)]
    if (a !== w) this.list.push(`${what}: got ${a?.slice(0, 300)}, wanted ${w?.slice(0, 300)}`)
  }
}

const all = {
  encode: rows<EncodeRow>('encode'),
  edge: rows<EdgeRow>('edge'),
  stream: rows<StreamRow>('incremental-decode'),
  chat: rows<ChatRow>('chat'),
  slots: rows<SlotRow>('slots'),
  jinja: rows<JinjaRow>('jinja'),
}
const own = ownTemplates as Record<string, { chat_template: string }>
const thinking = (value: boolean | null) => value ?? undefined

/** One conversation: what the template writes, or its own words, and what the fallbacks make of it. */
function checkChat(
  row: ChatRow & { line: number },
  source: string,
  special: Record<string, string>,
  differences: Differences,
) {
  const where = `chat line ${row.line} (${row.tokenizer}, ${row.case})`
  const chat = createChatTemplate(source, { special }, row.tokenizer)
  const options = { generationPrompt: row.add_generation_prompt, enableThinking: thinking(row.enable_thinking) }
  const attempt = () => {
    try {
      return chat.render(row.messages, { ...options, mode: 'reference' })
    } catch (error) {
      if (!(error instanceof UserError) || !(error.cause instanceof TemplateRefusal)) throw error
      if (!error.why.includes(error.cause.message))
        throw new Error(`${where}: the template's words are lost`, { cause: error })
      return { refused: error.cause.message }
    }
  }
  const result = attempt()
  if (!row.error) {
    differences.compare(where, result, { text: row.text, thinkingDropped: false, systemMerged: false })
    differences.compare(
      `${where} corrected`,
      chat.render(row.messages, { ...options, mode: 'corrected' }).text,
      row.text,
    )
    return
  }
  const raw = () => {
    const variables = { ...special, messages: row.messages, add_generation_prompt: row.add_generation_prompt }
    try {
      const told = row.enable_thinking === null ? {} : { enable_thinking: row.enable_thinking }
      return parseTemplate(source).render({ ...variables, ...told })
    } catch (error) {
      return { refused: (error as Error).message }
    }
  }
  differences.compare(`${where} first answer`, raw(), { refused: row.error_text })
  if (row.without_enable_thinking_text !== undefined)
    differences.compare(where, result, {
      text: row.without_enable_thinking_text,
      thinkingDropped: true,
      systemMerged: false,
    })
  else if (row.merged_text !== undefined)
    differences.compare(where, result, { text: row.merged_text, thinkingDropped: false, systemMerged: true })
  else differences.compare(where, result, { refused: row.merged_error_text ?? row.error_text })
}

describe('own chat templates', () => {
  it('render as in Python', () => {
    const differences = new Differences()
    for (const row of all.chat.filter((r) => own[r.tokenizer]))
      checkChat(row, own[row.tokenizer].chat_template, row.template_vars ?? {}, differences)
    expect(differences.list).toEqual([])
    expect(differences.checks).toBeGreaterThanOrEqual(4 * 48)
  })
})

describe('jinja', () => {
  it('differs only where the library lacks what no chat template here uses', () => {
    const excepted = known.remaining_with_fixes.filter((d) => d.file === 'jinja.jsonl').map((d) => d.line)
    const differing: number[] = []
    for (const row of all.jinja) {
      try {
        if (parseTemplate(row.template).render(row.vars) !== row.text) differing.push(row.line)
      } catch (error) {
        if (row.error_text === undefined) differing.push(row.line)
        else if (row.error_text.startsWith('TemplateError: '))
          expect(`TemplateError: ${(error as Error).message}`).toBe(row.error_text)
      }
    }
    expect(all.jinja).toHaveLength(64)
    expect(excepted).toHaveLength(22)
    expect(differing).toEqual(excepted)
  })
})

describe.each(tokenizerNames)('%s', (name) => {
  const source = sources.tokenizers.find((t) => t.tokenizer === name)!
  const of = <T extends { tokenizer: string }>(list: T[]) => list.filter((r) => r.tokenizer === name)
  let tokenizer: TextTokenizer
  let folder: string

  beforeAll(async () => {
    folder = await tokenizerFolder(name)
    tokenizer = await loadTokenizer(folder)
  }, 300_000)
  // One large vocabulary at a time.
  afterAll(() => {
    tokenizer = undefined as unknown as TextTokenizer
  })

  it('has the special tokens and the vocabulary of its files', () => {
    const tokenOf = (token: string | null) => token && { token, id: tokenizer.tokenToId(token) }
    expect(tokenizer.vocabSize).toBe(source.vocab_size_with_added)
    expect(tokenizer.bos).toEqual(tokenOf(source.bos_token))
    expect(tokenizer.eos).toEqual(tokenOf(source.eos_token))
    expect(tokenizer.pad).toEqual(tokenOf(source.pad_token ?? source.eos_token))
    for (const [token, id] of Object.entries(source.special_tokens)) {
      expect(tokenizer.tokenToId(token)).toBe(id)
      expect(tokenizer.idToToken(id!)).toBe(token)
    }
  })

  it('encodes and decodes every text', async () => {
    const differences = new Differences()
    const list = of(all.encode)
    for (const row of list) {
      const what = `encode line ${row.line}`
      differences.compare(`${what} ids`, await tokenizer.encode(row.text), row.ids)
      differences.compare(`${what} special`, await tokenizer.encode(row.text, { special: true }), row.ids_with_special)
      differences.compare(`${what} decoded`, await tokenizer.decode(row.ids), row.decoded)
      differences.compare(`${what} skip`, await tokenizer.decode(row.ids, { skipSpecial: true }), row.decoded_skip)
    }
    const texts = list.map((r) => r.text)
    differences.compare(
      'all at once',
      await tokenizer.encodeAll(texts),
      list.map((r) => r.ids),
    )
    expect(differences.list).toEqual([])
    expect(list).toHaveLength(236)
  })

  it('handles broken bytes, unknown ids, lone surrogates, new characters', async () => {
    const differences = new Differences()
    for (const row of of(all.edge)) {
      const what = `edge line ${row.line} (${row.case})`
      if (row.kind === 'encode') differences.compare(what, await tokenizer.encode(row.text!), row.ids)
      else {
        differences.compare(what, await tokenizer.decode(row.ids), row.decoded)
        differences.compare(`${what} skip`, await tokenizer.decode(row.ids, { skipSpecial: true }), row.decoded_skip)
      }
    }
    expect(differences.list).toEqual([])
    expect(differences.checks).toBe(15 * 2 + 7)
  })

  it('streams text as decoding every prefix would', async () => {
    const differences = new Differences()
    for (const row of of(all.stream)) {
      const what = `incremental-decode line ${row.line}`
      const stream = createStreamDecoder(tokenizer, { skipSpecial: row.skip_special_tokens })
      const chunks: string[] = []
      for (const [k, id] of row.ids.entries()) {
        chunks.push(await stream.push([id]))
        const prefix = row.ids.slice(0, k + 1)
        const decoded = await tokenizer.decode(prefix, { skipSpecial: row.skip_special_tokens })
        differences.compare(`${what} prefix ${k + 1}`, decoded, row.decoded_steps[k])
      }
      differences.compare(`${what} chunks`, chunks, row.chunks)
      differences.compare(`${what} flush`, await stream.flush(), row.flush)
    }
    expect(differences.list).toEqual([])
    expect(of(all.stream)).toHaveLength(35)
  })

  if (source.byte_fallback)
    it('does not split a run of bytes at a token that leaves no text', async () => {
      const ids = ['<0xC3>', '<0xA9>', source.eos_token!, '<0xFF>'].map((token) => tokenizer.tokenToId(token)!)
      const stream = createStreamDecoder(tokenizer, { skipSpecial: true })
      const chunks = [
        await stream.push([ids[0]]),
        await stream.push([ids[1]]),
        await stream.push([ids[2]]),
        await stream.push([ids[3]]),
      ]
      // Shown while the run was whole; the last byte spoils all of it, and what was shown cannot be taken back.
      expect(await tokenizer.decode(ids, { skipSpecial: true })).toBe('\ufffd\ufffd\ufffd')
      expect([...chunks, await stream.flush()]).toEqual(['', 'é', '', '', ''])
    })

  it('streams random ids as the rule says', async () => {
    const random = lcg(7)
    const bytes = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`)
    const byteIds = bytes.map((token) => tokenizer.tokenToId(token)).filter((id) => id !== null)
    const special = Object.values(source.special_tokens).filter((id) => id !== undefined)
    for (const skipSpecial of [false, true])
      for (let round = 0; round < 6; round++) {
        const ids = Array.from({ length: 60 }, () => {
          const kind = random() % 10
          if (kind === 0) return special[random() % special.length]
          // Runs of bytes, broken ones mostly, where the tokenizer falls back on them.
          if (kind < 5 && byteIds.length > 0) return byteIds[random() % 256]
          return random() % (source.vocab_size_with_added + 3)
        })
        const stream = createStreamDecoder(tokenizer, { skipSpecial })
        let shown = ''
        let last = ''
        for (let k = 1; k <= ids.length; k++) {
          last = await tokenizer.decode(ids.slice(0, k), { skipSpecial })
          const safe = last.replace(/\ufffd+$/, '')
          const wanted = safe.length > shown.length ? safe.slice(shown.length) : ''
          if (wanted !== '') shown = safe
          expect(await stream.push([ids[k - 1]]), `round ${round}, token ${k} of ${ids.join(' ')}`).toBe(wanted)
        }
        expect(await stream.flush()).toBe(last.startsWith(shown) ? last.slice(shown.length) : '')
      }
  })

  if (source.has_chat_template)
    it('renders its chat template and tokenises the result', async () => {
      const differences = new Differences()
      for (const row of of(all.chat)) {
        checkChat(row, tokenizer.config.chatTemplate!, tokenizer.config.special, differences)
        if (row.ids) differences.compare(`chat line ${row.line} ids`, await tokenizer.encode(row.text!), row.ids)
        if (row.merged_ids)
          differences.compare(`chat line ${row.line} merged`, await tokenizer.encode(row.merged_text!), row.merged_ids)
      }
      expect(differences.list).toEqual([])
      expect(of(all.chat)).toHaveLength(48)
    })

  describe('slots', () => {
    const chatOf = (row: SlotRow): ChatTemplate =>
      row.template === 'package'
        ? createChatTemplate(tokenizer.config.chatTemplate!, tokenizer.config, name)
        : createChatTemplate(
            own[row.template].chat_template,
            { special: { bos_token: tokenizer.bos?.token ?? '', eos_token: tokenizer.eos?.token ?? '' } },
            row.template,
          )

    /** Rendering, cutting and tokenising with the markers that the row names. */
    async function withNamedMarkers(row: SlotRow, chat: ChatTemplate): Promise<{ P: string; F: string; stage: Stage }> {
      const options = { enableThinking: thinking(row.enable_thinking), mode: 'reference' } as const
      const P = chat.render(row.messages, { ...options, generationPrompt: true }).text
      const finished: ChatMessage[] = [...row.messages, { role: 'assistant', content: row.target }]
      const F = chat.render(finished, { ...options, generationPrompt: false }).text
      const cut = async (text: string) => {
        const texts = cutAtMarkers(text, row.markers)
        return { texts, ids: await encodePieces(tokenizer, texts) }
      }
      const [prompt, full] = [await cut(P), await cut(F)]
      const beforeTarget = prompt.ids.flat().length
      return { P, F, stage: { slots: row.markers, prompt, full, beforeTarget, warnings: [] } }
    }

    /** The row's user message as parts: cut at the markers as the rendered text is. */
    function partsOf(row: SlotRow): { system: string; user: PromptPart[] } {
      const user = row.messages.at(-1)!
      const texts = cutAtMarkers(user.content, row.markers)
      const parts = texts.flatMap<PromptPart>((text, i) => [
        { kind: 'text', text },
        ...(i < row.markers.length ? [{ kind: 'slot', name: row.markers[i] } as const] : []),
      ])
      return { system: row.messages.length > 1 ? row.messages[0].content : '', user: parts }
    }

    function checkLayout(what: string, row: SlotRow, stage: Stage, differences: Differences) {
      const layout = laidOut(stage, row.slot_lengths, row.max_length ?? undefined)
      differences.compare(`${what} dropped`, layout.dropped, row.dropped)
      differences.compare(`${what} promptLen`, layout.promptLength, row.promptLen)
      differences.compare(`${what} tokens`, layout.tokens, row.tokens)
      differences.compare(`${what} labels`, layout.labels, row.labels)
    }

    it('are cut, tokenised, labelled and truncated as the reference does', async () => {
      const differences = new Differences()
      for (const row of of(all.slots)) {
        const what = `slots line ${row.line} (${row.case})`
        const chat = chatOf(row)
        if (row.error) {
          await expect(withNamedMarkers(row, chat)).rejects.toThrow(row.error_text)
          continue
        }
        const { P, F, stage } = await withNamedMarkers(row, chat)
        differences.compare(`${what} P`, P, row.P)
        differences.compare(`${what} F`, F, row.F)
        differences.compare(`${what} P pieces`, stage.prompt.texts, row.p_pieces)
        differences.compare(`${what} F pieces`, stage.full!.texts, row.f_pieces)
        differences.compare(`${what} P ids`, stage.prompt.ids, row.p_piece_ids)
        differences.compare(`${what} F ids`, stage.full!.ids, row.f_piece_ids)
        checkLayout(what, row, stage, differences)
      }
      expect(differences.list).toEqual([])
      expect(of(all.slots)).toHaveLength(30)
    })

    it('come out the same with private markers; corrected mode counts the common prefix and warns', async () => {
      const differences = new Differences()
      for (const row of of(all.slots).filter((r) => !r.error)) {
        const what = `slots line ${row.line} (${row.case})`
        const model = { tokenizer, chat: chatOf(row) }
        const enableThinking = thinking(row.enable_thinking)
        const reference = await renderStage(model, partsOf(row), row.target, { mode: 'reference', enableThinking })
        differences.compare(`${what} P ids`, reference.prompt.ids, row.p_piece_ids)
        differences.compare(`${what} F ids`, reference.full!.ids, row.f_piece_ids)
        checkLayout(what, row, reference, differences)
        const corrected = await renderStage(model, partsOf(row), row.target, { mode: 'corrected', enableThinking })
        const layout = laidOut(corrected, row.slot_lengths)
        differences.compare(`${what} prefix`, layout.promptLength, row.common_prefix_len)
        differences.compare(
          `${what} warns`,
          corrected.warnings.some((w) => w.includes('tokens differ')),
          !row.is_common_prefix,
        )
      }
      expect(differences.list).toEqual([])
    })
  })
})

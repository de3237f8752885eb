/** A model folder with a byte-level tokenizer (one token per byte, no merges) and a chat template, for tests. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** The byte-level alphabet: printable bytes stand for themselves, the others for characters from U+0100 on. */
function byteAlphabet(): string[] {
  const printable = (b: number) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255)
  let next = 256
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : next++))
}

export const SPECIAL = ['<s>', '</s>', '<pad>', '<user>', '<bot>', '<sys>', '<think>']

export const PLAIN_TEMPLATE =
  '{{ bos_token }}{% for m in messages %}' +
  "{% if m.role == 'system' %}<sys>{{ m.content }}{% elif m.role == 'user' %}<user>{{ m.content }}" +
  '{% else %}<bot>{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}' +
  '{% if add_generation_prompt %}<bot>{% endif %}'

export interface TinyModelOptions {
  /** null: no chat template. */
  chatTemplate?: string | null
  /** Further files by name, or replacements; null leaves the usual one out. */
  files?: Record<string, unknown>
  config?: Record<string, unknown>
}

export function tokenizerJson(special = SPECIAL): Record<string, unknown> {
  const alphabet = byteAlphabet()
  return {
    version: '1.0',
    truncation: { direction: 'Right', max_length: 8, strategy: 'LongestFirst', stride: 0 },
    padding: null,
    added_tokens: special.map((content, i) => ({
      id: 256 + i,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 0 } }],
      special_tokens: { '<s>': { id: '<s>', ids: [256], tokens: ['<s>'] } },
    },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries([...alphabet, ...special].map((token, id) => [token, id])),
      merges: [],
    },
  }
}

/** Writes the folder; it goes when the test ends. */
export async function tinyModel(options: TinyModelOptions = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tiny-model-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeTinyModel(folder, options)
  return folder
}

/** The same at a place that the caller chooses and clears away. */
export async function writeTinyModel(
  folder: string,
  { chatTemplate = PLAIN_TEMPLATE, files = {}, config = {} }: TinyModelOptions = {},
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const all: Record<string, unknown> = {
    'tokenizer.json': tokenizerJson(),
    'tokenizer_config.json': {
      bos_token: '<s>',
      eos_token: '</s>',
      pad_token: '<pad>',
      ...(chatTemplate === null ? {} : { chat_template: chatTemplate }),
      ...config,
    },
    ...files,
  }
  for (const [name, value] of Object.entries(all))
    if (value !== null) await writeFile(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value))
}

/**
 * A model's tokenizer, as its tokenizer.json says, through Hugging Face's own library. What its programming interface
 * adds around it (bos by configuration, space clean-up, a class name) is not followed: tokenizer.json is the truth.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Tokenizer as NativeTokenizer } from '@anush008/tokenizers'
import { UserError } from '../errors'
import { readTokenizerConfig, type TokenizerConfig } from './model-files'

export interface SpecialToken {
  readonly token: string
  readonly id: number
}

export interface TextTokenizer {
  readonly folder: string
  /** Ids the tokenizer knows, added tokens included (a model may have more rows in its embedding). */
  readonly vocabSize: number
  readonly bos: SpecialToken | null
  readonly eos: SpecialToken | null
  /** The padding token; the eos token where the model names none. */
  readonly pad: SpecialToken
  /** Special tokens, chat template and length limit as the model's files give them. */
  readonly config: TokenizerConfig
  /** Token ids of a text; `special` adds what the tokenizer puts around a text by itself (default false). */
  encode(text: string, options?: { special?: boolean }): Promise<number[]>
  /** `encode` for several texts, each by itself. */
  encodeAll(texts: readonly string[], options?: { special?: boolean }): Promise<number[][]>
  /** Text of token ids; ids outside the vocabulary give nothing. `skipSpecial` default false. */
  decode(ids: readonly number[], options?: { skipSpecial?: boolean }): Promise<string>
  tokenToId(token: string): number | null
  idToToken(id: number): string | null
}

function refuse(folder: string, why: string, next: string, cause?: unknown): UserError {
  return new UserError({ what: `The tokenizer of ${folder} cannot be used.`, why, next }, { cause })
}

function loadNative(folder: string): NativeTokenizer {
  const file = join(folder, 'tokenizer.json')
  if (!existsSync(file))
    throw refuse(
      folder,
      'The folder holds no tokenizer.json.',
      'Download the model again; a model that has only tokenizer.model needs a tokenizer.json made by Hugging Face transformers.',
    )
  try {
    const native = NativeTokenizer.fromFile(file)
    // A stored truncation or padding is a habit of whoever saved the file; lengths are decided here.
    native.disableTruncation()
    native.disablePadding()
    return native
  } catch (error) {
    throw refuse(folder, `tokenizer.json: ${(error as Error).message}.`, 'Download the model again.', error)
  }
}

/**
 * Loads the tokenizer of a folder in Hugging Face layout. Takes up to 2 s and 400 MB for the largest vocabularies (a
 * quarter of a million tokens), so load once per model.
 * UserError: no or broken tokenizer.json; a special token that is not in it; neither a padding nor an eos token.
 */
export async function loadTokenizer(folder: string): Promise<TextTokenizer> {
  const config = await readTokenizerConfig(folder)
  const native = loadNative(folder)

  const named = (name: 'bos_token' | 'eos_token' | 'pad_token'): SpecialToken | null => {
    const token = config.special[name]
    if (token === undefined) return null
    const id = native.tokenToId(token)
    if (id === null)
      throw refuse(
        folder,
        `tokenizer_config.json names ${JSON.stringify(token)} as ${name}, which tokenizer.json does not hold.`,
        'Download both files again from the same revision of the model.',
      )
    return { token, id }
  }
  const bos = named('bos_token')
  const eos = named('eos_token')
  const pad = named('pad_token') ?? eos
  if (!pad)
    throw refuse(
      folder,
      'tokenizer_config.json names neither a pad_token nor an eos_token.',
      'Add the eos_token of the model to its tokenizer_config.json.',
    )

  // Half of a surrogate pair is no text: it reads as U+FFFD, as in any other program.
  const wellFormed = (text: string) => text.toWellFormed()
  return {
    folder,
    vocabSize: native.getVocabSize(true),
    bos,
    eos,
    pad,
    config,
    async encode(text, { special = false } = {}) {
      return (await native.encode(wellFormed(text), null, { addSpecialTokens: special })).getIds()
    },
    async encodeAll(texts, { special = false } = {}) {
      const encodings = await native.encodeBatch(texts.map(wellFormed), { addSpecialTokens: special })
      return encodings.map((e) => e.getIds())
    },
    decode: (ids, { skipSpecial = false } = {}) => native.decode([...ids], skipSpecial),
    tokenToId: (token) => native.tokenToId(token),
    idToToken: (id) => native.idToToken(id),
  }
}

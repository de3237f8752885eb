/** The registry of model families: config.json's model_type -> how to read the rest. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../errors'
import { codeOf, formatBytes } from '../formats/disk-errors'
import { parseJson } from '../formats/json-text'
import type { DecoderConfig } from './config'
import { gemma3Config, gemma3TextConfig } from './gemma3'
import { llamaConfig } from './llama'
import { mistralConfig } from './mistral'
import { qwen2Config } from './qwen2'
import { qwen3Config } from './qwen3'
import { qwen3_5Config, qwen3_5TextConfig } from './qwen3_5'
import type { RawConfig } from './raw-config'

/** To add a family: one file that turns its config.json into a DecoderConfig, one line here. */
export const families: Readonly<Record<string, (raw: RawConfig) => DecoderConfig>> = {
  llama: llamaConfig,
  mistral: mistralConfig,
  qwen2: qwen2Config,
  qwen3: qwen3Config,
  gemma3: gemma3Config,
  gemma3_text: gemma3TextConfig,
  qwen3_5: qwen3_5Config,
  qwen3_5_text: qwen3_5TextConfig,
}

/** Resolves the content of a config.json; UserErrors name what is not supported. */
export function resolveConfig(raw: RawConfig): DecoderConfig {
  const type = raw.model_type
  const family = typeof type === 'string' && Object.hasOwn(families, type) ? families[type] : undefined
  if (!family) {
    throw new UserError({
      what:
        type === undefined
          ? 'The config.json names no model type.'
          : `Models of type "${String(type)}" are not supported.`,
      why: `Supported types are ${Object.keys(families).join(', ')}.`,
      next: 'Choose a model of one of these types.',
    })
  }
  return family(raw)
}

/** A config.json is small; a larger one is none, bytes. */
export const mostConfig = 4 << 20

/** Reads and resolves <folder>/config.json. */
export async function readConfig(folder: string): Promise<DecoderConfig> {
  const path = join(folder, 'config.json')
  let text: string
  try {
    const { size } = await stat(path)
    if (size > mostConfig)
      throw new UserError({
        what: 'The model folder cannot be read.',
        why: `${path} has ${formatBytes(size)}, which is too much for a config.`,
        next: 'Get the file again.',
      })
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof UserError) throw cause
    throw new UserError(
      {
        what: 'The model folder cannot be read.',
        why: whyUnread(folder, codeOf(cause)),
        next: 'Choose a folder that holds a model in Hugging Face layout (config.json, *.safetensors, tokenizer.json).',
      },
      { cause },
    )
  }
  let raw: unknown
  try {
    raw = parseJson(text)
  } catch (cause) {
    throw new UserError(
      {
        what: 'The model folder cannot be read.',
        why: `${path} is not JSON (${(cause as Error).message}).`,
        next: 'Get the file again.',
      },
      { cause },
    )
  }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw new UserError({
      what: 'The model folder cannot be read.',
      why: `${path} is not a JSON object.`,
      next: 'Get the file again.',
    })
  }
  return resolveConfig(raw as RawConfig)
}

function whyUnread(folder: string, code: string): string {
  if (code === 'ENOTDIR') return `${folder} is a file; the folder that it lies in may be the model's.`
  return `${join(folder, 'config.json')} ${code === 'ENOENT' ? 'does not exist' : 'cannot be opened'}.`
}

/**
 * The small text files of a model folder: tokenizer_config.json, special_tokens_map.json, the chat template's own file,
 * generation_config.json. What they say is checked here; nothing is ever written.
 */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../errors'
import { checkJson } from '../formats/schema-faults'

const specialToken = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish()

const specialTokens = {
  bos_token: specialToken,
  eos_token: specialToken,
  pad_token: specialToken,
  unk_token: specialToken,
}

const namedTemplate = z.looseObject({ name: z.string(), template: z.string() })

const tokenizerConfig = z.looseObject({
  ...specialTokens,
  chat_template: z.union([z.string(), z.array(namedTemplate)]).nullish(),
  model_max_length: z.number().nullish(),
})
const specialTokensMap = z.looseObject(specialTokens)
const templateFile = z.looseObject({ chat_template: z.string() })

const ids = z.union([z.number().int(), z.array(z.number().int())]).nullish()
const generationConfig = z.looseObject({
  eos_token_id: ids,
  temperature: z.unknown().optional(),
  top_k: z.unknown().optional(),
  top_p: z.unknown().optional(),
  min_p: z.unknown().optional(),
})
const modelConfig = z.looseObject({ eos_token_id: ids, text_config: z.looseObject({ eos_token_id: ids }).nullish() })

/** What a checkpoint proposes for generation; what it does not name, or names with a value that cannot be, is undefined. */
export interface CheckpointGeneration {
  readonly eosIds: readonly number[]
  readonly temperature?: number
  readonly topK?: number
  readonly topP?: number
  readonly minP?: number
  /** Sentences for the log: proposals that cannot be followed. */
  readonly warnings: readonly string[]
}

type SpecialName = keyof typeof specialTokens

export interface TokenizerConfig {
  /** Special tokens by their name in templates (bos_token, eos_token, pad_token, unk_token), absent ones left out. */
  readonly special: Readonly<Partial<Record<SpecialName, string>>>
  readonly chatTemplate: string | null
  /** null where the checkpoint names no limit (or an absurd one). */
  readonly maxLength: number | null
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new UserError(
      {
        what: `${basename(path)} cannot be read.`,
        why: `${path}: ${(error as Error).message}.`,
        next: 'Check that the file is whole and that you may read it.',
      },
      { cause: error },
    )
  }
}

/** A JSON file checked against a schema; null where there is no such file. UserError for broken or unfitting contents. */
async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readText(path)
  if (text === null) return null
  const checked = checkJson(schema, text)
  if (checked.ok) return checked.data
  throw new UserError({
    what: `${basename(path)} is not usable.`,
    why: `${path}: ${checked.why}.`,
    next: 'Download the model again, or repair the file.',
  })
}

const content = (token: z.infer<typeof specialToken>): string | undefined =>
  (typeof token === 'object' && token !== null ? token.content : token) || undefined

/** Lengths above this are how a checkpoint says "no limit". */
const NO_LIMIT = 1_000_000

/** Special tokens and chat template of a model folder. A missing tokenizer_config.json gives an empty answer. */
export async function readTokenizerConfig(folder: string): Promise<TokenizerConfig> {
  const config = await readJson(join(folder, 'tokenizer_config.json'), tokenizerConfig)
  const map = await readJson(join(folder, 'special_tokens_map.json'), specialTokensMap)
  const special: Partial<Record<SpecialName, string>> = {}
  for (const name of Object.keys(specialTokens) as SpecialName[]) {
    const token = content(config?.[name]) ?? content(map?.[name])
    if (token !== undefined) special[name] = token
  }
  const inConfig = config?.chat_template
  const chosen = Array.isArray(inConfig)
    ? (inConfig.find((t) => t.name === 'default') ?? inConfig[0])?.template
    : (inConfig ?? undefined)
  const chatTemplate =
    (await readText(join(folder, 'chat_template.jinja'))) ??
    chosen ??
    (await readJson(join(folder, 'chat_template.json'), templateFile))?.chat_template ??
    null
  const limit = config?.model_max_length ?? null
  return { special, chatTemplate, maxLength: limit !== null && limit <= NO_LIMIT ? limit : null }
}

const list = (value: z.infer<typeof ids>): number[] => (value === null || value === undefined ? [] : [value].flat())

const proposals = {
  temperature: { fits: (x: number) => x > 0, range: 'above 0' },
  top_k: { fits: (x: number) => Number.isInteger(x) && x >= -1, range: 'a whole number, 0 or -1 for off' },
  top_p: { fits: (x: number) => x > 0 && x <= 1, range: 'above 0 and at most 1' },
  min_p: { fits: (x: number) => x >= 0 && x <= 1, range: '0 to 1' },
}

/** generation_config.json; without that file the stop ids that config.json names. */
export async function readCheckpointGeneration(folder: string): Promise<CheckpointGeneration> {
  const config = await readJson(join(folder, 'generation_config.json'), generationConfig)
  if (config === null) {
    const model = await readJson(join(folder, 'config.json'), modelConfig)
    return { eosIds: list(model?.eos_token_id ?? model?.text_config?.eos_token_id), warnings: [] }
  }
  const warnings: string[] = []
  const proposed = (name: keyof typeof proposals): number | undefined => {
    const value = config[name]
    const { fits, range } = proposals[name]
    if (value === null || value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value) && fits(value)) return value
    warnings.push(
      `The ${name} that ${join(folder, 'generation_config.json')} proposes is left out: it is ${JSON.stringify(value)}, not ${range}.`,
    )
    return undefined
  }
  return {
    eosIds: list(config.eos_token_id),
    temperature: proposed('temperature'),
    topK: proposed('top_k'),
    topP: proposed('top_p'),
    minP: proposed('min_p'),
    warnings,
  }
}

/** Reading config.json: typed access to its fields with a family's defaults, and errors that name the field. */
import { UserError } from '../errors'
import type { RopeParameters } from './config'

export type RawConfig = Readonly<Record<string, unknown>>

/**
 * The largest sizes that are read, far above those of any model that is published: graphs are built of layers, tables of head widths and
 * taps, so that a wrong number here would take minutes and gigabytes before anything else could refuse it.
 */
const most: Readonly<Record<string, number>> = {
  num_hidden_layers: 256,
  num_attention_heads: 4096,
  num_key_value_heads: 4096,
  linear_num_key_heads: 4096,
  linear_num_value_heads: 4096,
  head_dim: 4096,
  linear_key_head_dim: 4096,
  linear_value_head_dim: 4096,
  linear_conv_kernel_dim: 64,
  hidden_size: 1_000_000,
  intermediate_size: 10_000_000,
  vocab_size: 100_000_000,
}
/** Of fields that nothing is built of. */
const mostElse = 1e9

export function wrongField(field: string, value: unknown, wanted: string): UserError {
  const shown = String(JSON.stringify(value))
  return new UserError({
    what: "The model's config.json cannot be used.",
    why: `Its field "${field}" is ${shown.length > 200 ? `${shown.slice(0, 200)}…` : shown}, but ${wanted} is needed.`,
    next: 'Get the file again from where the model was published.',
  })
}

/** A setting whose computation the engine does not have. */
export function refuse(field: string, value: unknown): UserError {
  return new UserError({
    what: `The model's setting "${field}" is not supported.`,
    why: `Its config.json has ${JSON.stringify(value)} there; the engine computes models of this family without it.`,
    next: 'Choose another model.',
  })
}

/** Settings of the text part of a model that has other parts beside it; empty where the file leaves all of them out. */
export function textConfig(raw: RawConfig): RawConfig {
  const text = raw.text_config ?? {}
  if (typeof text !== 'object' || Array.isArray(text)) throw wrongField('text_config', text, 'an object')
  return text as RawConfig
}

/** A positive whole number, no larger than such a field is in any model; null or absent gives the default. */
export function count(raw: RawConfig, field: string, fallback: number): number {
  const v = raw[field] ?? fallback
  if (typeof v !== 'number' || !Number.isInteger(v) || v < 1) throw wrongField(field, v, 'a positive whole number')
  return notAbove(field, v)
}

function notAbove(field: string, value: number): number {
  const limit = Object.hasOwn(most, field) ? most[field] : mostElse
  if (value > limit) throw wrongField(field, value, `at most ${limit.toLocaleString('en')}`)
  return value
}

export function real(raw: RawConfig, field: string, fallback: number): number {
  const v = raw[field] ?? fallback
  if (typeof v !== 'number' || !Number.isFinite(v)) throw wrongField(field, v, 'a number')
  return v
}

export function flag(raw: RawConfig, field: string, fallback: boolean): boolean {
  const v = raw[field] ?? fallback
  if (typeof v !== 'boolean') throw wrongField(field, v, 'true or false')
  return v
}

/** A token id or null; a field that is absent (not null) gives the default. */
export function tokenId(raw: RawConfig, field: string, fallback: number | null): number | null {
  const v = field in raw ? raw[field] : fallback
  if (v === null) return null
  const one = Array.isArray(v) ? v[0] : v
  if (typeof one !== 'number' || !Number.isInteger(one)) throw wrongField(field, v, 'a token id')
  return one
}

export function tokenIds(raw: RawConfig, field: string, fallback: number | null): number[] {
  const v = field in raw ? raw[field] : fallback
  if (v === null) return []
  const list = Array.isArray(v) ? v : [v]
  if (!list.every((x) => Number.isInteger(x))) throw wrongField(field, v, 'token ids')
  return list as number[]
}

/** Only the activation that the family's blocks compute. */
export function requireActivation(raw: RawConfig, field: string, wanted: string): void {
  const v = raw[field] ?? wanted
  if (v !== wanted) {
    throw new UserError({
      what: `The model's activation "${String(v)}" is not supported.`,
      why: `For this family the engine computes ${wanted}.`,
      next: 'Choose another model.',
    })
  }
}

/** Width of a head: stated, or hidden size over heads. */
export function headDim(raw: RawConfig, hiddenSize: number, heads: number, fallback: number | null = null): number {
  const v = raw.head_dim ?? fallback ?? hiddenSize / heads
  if (typeof v !== 'number' || !Number.isInteger(v) || v < 2 || v % 2 !== 0)
    throw wrongField('head_dim', v, 'an even whole number')
  return notAbove('head_dim', v)
}

export const ropeTypes = ['default', 'linear', 'llama3'] as const

/** Rope settings in the new form (rope_parameters) or the old one (rope_theta, rope_scaling; `type` for `rope_type`). */
export function rope(raw: RawConfig, defaultTheta: number): RopeParameters {
  const given = (raw.rope_parameters ?? raw.rope_scaling ?? {}) as RawConfig
  const theta = real({ rope_theta: given.rope_theta ?? raw.rope_theta }, 'rope_theta', defaultTheta)
  const type = given.rope_type ?? given.type ?? 'default'
  switch (type) {
    case 'default':
      return { type: 'default', theta }
    case 'linear':
      return { type: 'linear', theta, factor: stated(given, 'factor') }
    case 'llama3':
      return {
        type: 'llama3',
        theta,
        factor: stated(given, 'factor'),
        lowFreqFactor: stated(given, 'low_freq_factor'),
        highFreqFactor: stated(given, 'high_freq_factor'),
        originalMaxPositions: stated(given, 'original_max_position_embeddings'),
      }
    default:
      throw new UserError({
        what: `The model's rope type "${String(type)}" is not supported.`,
        why: `Supported types are ${ropeTypes.join(', ')}.`,
        next: 'Choose another model.',
      })
  }
}

function stated(raw: RawConfig, field: string): number {
  const v = raw[field]
  if (typeof v !== 'number' || !Number.isFinite(v) || v <= 0) throw wrongField(`rope ${field}`, v, 'a positive number')
  return v
}

/** Heads must divide evenly among key-value heads. */
export function checkHeads(heads: number, kvHeads: number): void {
  if (heads % kvHeads !== 0)
    throw wrongField('num_key_value_heads', kvHeads, `a divisor of the ${heads} attention heads`)
}

/** What each layer is, where config.json lists it; null where it does not. */
export function layerKinds<K extends string>(raw: RawConfig, layers: number, known: readonly K[]): K[] | null {
  const given = raw.layer_types ?? null
  if (given === null) return null
  if (!Array.isArray(given) || given.length !== layers || !given.every((k) => known.includes(k)))
    throw wrongField('layer_types', given, `a list of ${layers} of ${known.join(', ')}`)
  return given as K[]
}

/** One kind for every n-th layer, another for those between. */
export function everyNth<K extends string>(every: number, layers: number, nth: K, between: K): K[] {
  return Array.from({ length: layers }, (_, i) => ((i + 1) % every === 0 ? nth : between))
}

/** Windows by layer as qwen2 and qwen3 define them: layers from max_window_layers on, when switched on at all. */
export function layerWindows(raw: RawConfig, layers: number, defaultMaxWindowLayers: number): number[] {
  const on = flag(raw, 'use_sliding_window', false)
  const size = raw.sliding_window === null ? 0 : count(raw, 'sliding_window', 4096)
  if (!on || size === 0) return new Array<number>(layers).fill(0)
  const types = raw.layer_types
  const first = real(raw, 'max_window_layers', defaultMaxWindowLayers)
  return Array.from({ length: layers }, (_, i) =>
    (Array.isArray(types) ? types[i] === 'sliding_attention' : i >= first) ? size : 0,
  )
}

/**
 * Gemma 3: (1 + w) norms before and after attention and MLP, QK norm, tanh GELU, token embeddings times sqrt(H), and
 * layers with a window (five of six) that have their own rope. `gemma3` wraps the same text model beside a vision part.
 */
import type { DecoderConfig, RopeParameters } from './config'
import { llamaConfig } from './llama'
import {
  count,
  everyNth,
  flag,
  layerKinds,
  real,
  refuse,
  requireActivation,
  rope,
  textConfig,
  tokenId,
  tokenIds,
  wrongField,
  type RawConfig,
} from './raw-config'

const kinds = ['sliding_attention', 'full_attention'] as const

/** The text model alone. */
export function gemma3TextConfig(raw: RawConfig): DecoderConfig {
  requireActivation(raw, 'hidden_activation', 'gelu_pytorch_tanh')
  for (const field of ['attn_logit_softcapping', 'final_logit_softcapping'])
    if (raw[field] !== undefined && raw[field] !== null) throw refuse(field, raw[field])
  if (flag(raw, 'use_bidirectional_attention', false)) throw refuse('use_bidirectional_attention', true)
  const base = llamaConfig({
    ...raw,
    hidden_act: 'silu',
    vocab_size: raw.vocab_size ?? 262208,
    hidden_size: raw.hidden_size ?? 2304,
    intermediate_size: raw.intermediate_size ?? 9216,
    num_hidden_layers: raw.num_hidden_layers ?? 26,
    num_attention_heads: raw.num_attention_heads ?? 8,
    num_key_value_heads: raw.num_key_value_heads ?? 4,
    head_dim: raw.head_dim ?? 256,
    max_position_embeddings: raw.max_position_embeddings ?? 131072,
    tie_word_embeddings: raw.tie_word_embeddings ?? true,
    mlp_bias: false,
    rope_parameters: undefined,
    rope_scaling: undefined,
  })
  const queryScale = real(raw, 'query_pre_attn_scalar', 256)
  if (queryScale <= 0) throw wrongField('query_pre_attn_scalar', queryScale, 'a positive number')
  const window = count(raw, 'sliding_window', 4096)
  const types = layerKinds(raw, base.layers, kinds) ?? byPattern(raw, base.layers)
  return {
    ...base,
    family: 'gemma3_text',
    normOffset: 1,
    outputNorms: true,
    qkNorm: true,
    attentionScale: 1 / Math.sqrt(queryScale),
    activation: 'gelu_tanh',
    windows: types.map((type) => (type === 'sliding_attention' ? window : 0)),
    ...ropes(raw),
    embeddingScale: Math.sqrt(base.hiddenSize),
    halfType: 'bfloat16',
    bosTokenId: tokenId(raw, 'bos_token_id', 2),
    eosTokenIds: tokenIds(raw, 'eos_token_id', 1),
    padTokenId: tokenId(raw, 'pad_token_id', 0),
  }
}

/** The text part of the multimodal model. */
export function gemma3Config(raw: RawConfig): DecoderConfig {
  const text = textConfig(raw)
  const tied = text.tie_word_embeddings ?? raw.tie_word_embeddings
  return { ...gemma3TextConfig({ ...text, tie_word_embeddings: tied }), family: 'gemma3' }
}

/** Every n-th layer sees everything. */
function byPattern(raw: RawConfig, layers: number): (typeof kinds)[number][] {
  const every = count(
    { sliding_window_pattern: raw.sliding_window_pattern ?? raw._sliding_window_pattern },
    'sliding_window_pattern',
    6,
  )
  return everyNth(every, layers, 'full_attention', 'sliding_attention')
}

/** New form: rope_parameters by layer kind. Old form: rope_theta and rope_scaling for one kind, rope_local_base_freq for the other. */
function ropes(raw: RawConfig): { rope: RopeParameters; localRope: RopeParameters } {
  const given = (raw.rope_parameters ?? {}) as Readonly<Record<(typeof kinds)[number], RawConfig | null | undefined>>
  if (typeof given !== 'object' || 'rope_type' in given || 'rope_theta' in given)
    throw wrongField('rope_parameters', given, `a part for each of ${kinds.join(' and ')}`)
  const scaling = (raw.rope_scaling ?? {}) as RawConfig
  return {
    rope: rope({ rope_parameters: { ...given.full_attention, ...scaling }, rope_theta: raw.rope_theta }, 1e6),
    localRope: rope({ rope_parameters: given.sliding_attention ?? {}, rope_theta: raw.rope_local_base_freq }, 1e4),
  }
}

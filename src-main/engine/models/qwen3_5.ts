/**
 * Qwen 3.5: three of four layers are gated delta nets, the others gated attention with QK norm that rotates a part of each
 * head; (1 + w) norms. `qwen3_5` wraps the same text model beside a vision part. Its rope has an angle for each of three
 * axes of a picture; for text all three are the position, which makes it plain rope.
 */
import type { DecoderConfig } from './config'
import { llamaConfig } from './llama'
import {
  count,
  everyNth,
  flag,
  layerKinds,
  real,
  refuse,
  textConfig,
  tokenId,
  tokenIds,
  wrongField,
  type RawConfig,
} from './raw-config'

const kinds = ['linear_attention', 'full_attention'] as const

/** The text model alone. */
export function qwen3_5TextConfig(raw: RawConfig): DecoderConfig {
  if (!flag(raw, 'attn_output_gate', true)) throw refuse('attn_output_gate', false)
  const base = llamaConfig({
    ...raw,
    vocab_size: raw.vocab_size ?? 248320,
    intermediate_size: raw.intermediate_size ?? 12288,
    num_attention_heads: raw.num_attention_heads ?? 16,
    num_key_value_heads: raw.num_key_value_heads ?? 4,
    head_dim: raw.head_dim ?? 256,
    max_position_embeddings: raw.max_position_embeddings ?? 32768,
    mlp_bias: false,
  })
  const types =
    layerKinds(raw, base.layers, kinds) ??
    everyNth(count(raw, 'full_attention_interval', 4), base.layers, 'full_attention', 'linear_attention')
  const keyHeads = count(raw, 'linear_num_key_heads', 16)
  const valueHeads = count(raw, 'linear_num_value_heads', 32)
  if (valueHeads % keyHeads !== 0)
    throw wrongField('linear_num_key_heads', keyHeads, `a divisor of the ${valueHeads} value heads`)
  return {
    ...base,
    family: 'qwen3_5_text',
    normOffset: 1,
    qkNorm: true,
    rotaryDim: rotaryDim(raw, base.headDim),
    outputGate: true,
    delta: {
      layers: types.map((type) => type === 'linear_attention'),
      keyHeads,
      valueHeads,
      keyDim: count(raw, 'linear_key_head_dim', 128),
      valueDim: count(raw, 'linear_value_head_dim', 128),
      taps: count(raw, 'linear_conv_kernel_dim', 4),
    },
    halfType: 'bfloat16',
    bosTokenId: tokenId(raw, 'bos_token_id', null),
    eosTokenIds: tokenIds(raw, 'eos_token_id', null),
  }
}

/** The text part of the multimodal model. */
export function qwen3_5Config(raw: RawConfig): DecoderConfig {
  const text = textConfig(raw)
  const shared = {
    tie_word_embeddings: raw.tie_word_embeddings,
    ...('eos_token_id' in raw ? { eos_token_id: raw.eos_token_id } : {}),
  }
  return { ...qwen3_5TextConfig({ ...shared, ...text }), family: 'qwen3_5' }
}

function rotaryDim(raw: RawConfig, headDim: number): number {
  const { partial_rotary_factor: given } = (raw.rope_parameters ?? raw.rope_scaling ?? {}) as RawConfig
  const factor = real({ partial_rotary_factor: given ?? raw.partial_rotary_factor }, 'partial_rotary_factor', 0.25)
  const width = Math.trunc(headDim * factor)
  if (width < 2 || width > headDim || width % 2 !== 0)
    throw wrongField('partial_rotary_factor', factor, `a share of a head of ${headDim} that is an even whole number`)
  return width
}

/** Qwen2 and Qwen2.5 (DeepSeek-R1-Distill-Qwen too): biases on query, key and value, windows by layer. */
import type { DecoderConfig } from './config'
import { llamaConfig } from './llama'
import { count, layerWindows, tokenId, tokenIds, type RawConfig } from './raw-config'

export function qwen2Config(raw: RawConfig): DecoderConfig {
  const heads = count(raw, 'num_attention_heads', 32)
  const base = llamaConfig({
    ...raw,
    vocab_size: raw.vocab_size ?? 151936,
    intermediate_size: raw.intermediate_size ?? 22016,
    num_key_value_heads: raw.num_key_value_heads === undefined ? 32 : (raw.num_key_value_heads ?? heads),
    max_position_embeddings: raw.max_position_embeddings ?? 32768,
    attention_bias: false,
    mlp_bias: false,
  })
  return {
    ...base,
    family: 'qwen2',
    qkvBias: true,
    windows: layerWindows(raw, base.layers, 28),
    bosTokenId: tokenId(raw, 'bos_token_id', null),
    eosTokenIds: tokenIds(raw, 'eos_token_id', null),
  }
}

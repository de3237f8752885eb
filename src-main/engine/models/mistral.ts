/** Mistral: llama's block with a sliding window in every layer (none where the config says null). */
import type { DecoderConfig } from './config'
import { llamaConfig } from './llama'
import { count, type RawConfig } from './raw-config'

export function mistralConfig(raw: RawConfig): DecoderConfig {
  const base = llamaConfig({
    ...raw,
    intermediate_size: raw.intermediate_size ?? 14336,
    num_key_value_heads: raw.num_key_value_heads === undefined ? 8 : raw.num_key_value_heads,
    max_position_embeddings: raw.max_position_embeddings ?? 131072,
    attention_bias: false,
    mlp_bias: false,
  })
  const window = raw.sliding_window === null ? 0 : count(raw, 'sliding_window', 4096)
  return { ...base, family: 'mistral', windows: base.windows.map(() => window) }
}

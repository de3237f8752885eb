/** Qwen3: head width stated apart from the hidden size, RMSNorm on each query and key head. */
import type { DecoderConfig } from './config'
import { flag, type RawConfig } from './raw-config'
import { qwen2Config } from './qwen2'

export function qwen3Config(raw: RawConfig): DecoderConfig {
  const base = qwen2Config({ ...raw, head_dim: raw.head_dim ?? 128 })
  const bias = flag(raw, 'attention_bias', false)
  return { ...base, family: 'qwen3', qkvBias: bias, outputBias: bias, qkNorm: true }
}

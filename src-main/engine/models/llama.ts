/** Llama (and models published under its type): grouped attention, rotary with llama3 scaling, gated SiLU. */
import type { DecoderConfig } from './config'
import { checkHeads, count, flag, headDim, real, requireActivation, rope, tokenId, tokenIds, type RawConfig } from './raw-config'

export function llamaConfig(raw: RawConfig): DecoderConfig {
  requireActivation(raw, 'hidden_act', 'silu')
  const hiddenSize = count(raw, 'hidden_size', 4096)
  const heads = count(raw, 'num_attention_heads', 32)
  const kvHeads = count(raw, 'num_key_value_heads', heads)
  checkHeads(heads, kvHeads)
  const layers = count(raw, 'num_hidden_layers', 32)
  const width = headDim(raw, hiddenSize, heads)
  const bias = flag(raw, 'attention_bias', false)
  return {
    family: 'llama',
    vocabSize: count(raw, 'vocab_size', 32000),
    hiddenSize,
    intermediateSize: count(raw, 'intermediate_size', 11008),
    layers,
    heads,
    kvHeads,
    headDim: width,
    normEpsilon: real(raw, 'rms_norm_eps', 1e-6),
    normOffset: 0,
    outputNorms: false,
    qkvBias: bias,
    outputBias: bias,
    mlpBias: flag(raw, 'mlp_bias', false),
    qkNorm: false,
    rotaryDim: width,
    outputGate: false,
    attentionScale: 1 / Math.sqrt(width),
    activation: 'silu',
    windows: new Array<number>(layers).fill(0),
    rope: rope(raw, 10000),
    localRope: null,
    delta: null,
    embeddingScale: 1,
    halfType: 'float16',
    tiedEmbeddings: flag(raw, 'tie_word_embeddings', false),
    maxPositions: count(raw, 'max_position_embeddings', 2048),
    bosTokenId: tokenId(raw, 'bos_token_id', 1),
    eosTokenIds: tokenIds(raw, 'eos_token_id', 2),
    padTokenId: tokenId(raw, 'pad_token_id', null),
  }
}

/** config.json files as published, against what transformers makes of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ropeOf, type DecoderConfig, type RopeParameters } from '../../src-main/engine/models/config'
import { families, resolveConfig } from '../../src-main/engine/models/families'

type Raw = Record<string, unknown>
const { cases } = JSON.parse(readFileSync(join(import.meta.dirname, 'configs.json'), 'utf8')) as {
  cases: Record<string, { given: Raw; resolved: Raw }>
}
const ours = Object.entries(cases).filter(([, c]) => (c.given.model_type as string) in families)

/** Our fields under transformers' names. */
function published(c: DecoderConfig): Raw {
  return {
    vocab_size: c.vocabSize,
    hidden_size: c.hiddenSize,
    intermediate_size: c.intermediateSize,
    num_hidden_layers: c.layers,
    num_attention_heads: c.heads,
    num_key_value_heads: c.kvHeads,
    head_dim: c.headDim,
    rms_norm_eps: c.normEpsilon,
    tie_word_embeddings: c.tiedEmbeddings,
    max_position_embeddings: c.maxPositions,
    bos_token_id: c.bosTokenId,
    pad_token_id: c.padTokenId,
  }
}

function windows(resolved: Raw): number[] {
  const size = (resolved.sliding_window as number | null | undefined) ?? 0
  const types = resolved.layer_types as string[] | undefined
  const layers = resolved.num_hidden_layers as number
  return Array.from({ length: layers }, (_, i) => (types ? (types[i] === 'sliding_attention' ? size : 0) : size))
}

type PublishedRope = Record<string, number> & { rope_type: string }

/** Gemma's are by layer kind. */
function ropes(resolved: Raw): { rope: RopeParameters; localRope: RopeParameters | null } {
  const byKind = resolved.rope_parameters as { full_attention?: PublishedRope; sliding_attention: PublishedRope }
  if (!byKind.full_attention) return { rope: rope(resolved.rope_parameters as PublishedRope), localRope: null }
  return { rope: rope(byKind.full_attention), localRope: rope(byKind.sliding_attention) }
}

function rope(r: PublishedRope): RopeParameters {
  const base = { type: r.rope_type, theta: r.rope_theta }
  if (r.rope_type === 'linear') return { ...base, factor: r.factor } as RopeParameters
  if (r.rope_type === 'llama3') {
    return {
      ...base,
      factor: r.factor,
      lowFreqFactor: r.low_freq_factor,
      highFreqFactor: r.high_freq_factor,
      originalMaxPositions: r.original_max_position_embeddings,
    } as RopeParameters
  }
  return base as RopeParameters
}

const partial = (resolved: Raw) => (resolved.rope_parameters as Record<string, number>).partial_rotary_factor as number | undefined

function delta(resolved: Raw): DecoderConfig['delta'] {
  if (!('linear_num_key_heads' in resolved)) return null
  return {
    layers: (resolved.layer_types as string[]).map((type) => type === 'linear_attention'),
    keyHeads: resolved.linear_num_key_heads as number,
    valueHeads: resolved.linear_num_value_heads as number,
    keyDim: resolved.linear_key_head_dim as number,
    valueDim: resolved.linear_value_head_dim as number,
    taps: resolved.linear_conv_kernel_dim as number,
  }
}

describe('config.json as published', () => {
  it.each(ours)('%s', (_, { given, resolved }) => {
    const config = resolveConfig(given)
    const expected = Object.fromEntries(Object.keys(published(config)).map((k) => [k, resolved[k]]))
    expect(published(config)).toEqual(expected)
    expect(config.windows).toEqual(windows(resolved))
    expect({ rope: config.rope, localRope: config.localRope }).toEqual(ropes(resolved))
    expect(config.attentionScale).toBe(1 / Math.sqrt((resolved.query_pre_attn_scalar ?? resolved.head_dim) as number))
    expect(config.activation).toBe(resolved.hidden_activation === 'gelu_pytorch_tanh' ? 'gelu_tanh' : resolved.hidden_act)
    expect(config.rotaryDim).toBe((resolved.head_dim as number) * (partial(resolved) ?? 1))
    expect(config.outputGate).toBe(config.delta !== null)
    expect(config.delta).toEqual(delta(resolved))
    expect(config.outputBias).toBe(resolved.attention_bias ?? false)
    expect(config.mlpBias).toBe(resolved.mlp_bias ?? false)
    const eos = resolved.eos_token_id
    expect(config.eosTokenIds).toEqual(eos === null ? [] : [eos].flat())
  })

  it('covers every family', () => {
    expect(new Set(ours.map(([, c]) => c.given.model_type))).toEqual(new Set(Object.keys(families)))
  })

  it('reads Gemma of one layer kind list or pattern, ropes by kind or by field, alike', () => {
    const shape = { model_type: 'gemma3_text', num_hidden_layers: 7, sliding_window: 512 }
    const types = Array.from({ length: 7 }, (_, i) => (i % 3 === 2 ? 'full_attention' : 'sliding_attention'))
    const old = resolveConfig({
      ...shape,
      sliding_window_pattern: 3,
      rope_theta: 5e5,
      rope_local_base_freq: 2e4,
      rope_scaling: { rope_type: 'linear', factor: 4 },
    })
    expect(old.windows).toEqual([512, 512, 0, 512, 512, 0, 512])
    expect([ropeOf(old, 1), ropeOf(old, 2)]).toEqual([
      { type: 'default', theta: 2e4 },
      { type: 'linear', theta: 5e5, factor: 4 },
    ])
    const parts = {
      full_attention: { rope_type: 'linear', rope_theta: 5e5, factor: 4 },
      sliding_attention: { rope_type: 'default', rope_theta: 2e4 },
    }
    expect(resolveConfig({ ...shape, layer_types: types, rope_parameters: parts })).toEqual(old)
    expect(resolveConfig({ ...shape, _sliding_window_pattern: 3, rope_parameters: parts })).toEqual(old)
    const wrapped = { model_type: 'gemma3', text_config: { ...shape, layer_types: types, rope_parameters: parts } }
    expect(resolveConfig(wrapped)).toEqual({ ...old, family: 'gemma3' })
    expect(resolveConfig({ ...wrapped, tie_word_embeddings: false }).tiedEmbeddings).toBe(false)
    const { rope: whole, localRope } = resolveConfig({ ...shape, rope_parameters: { full_attention: { rope_type: 'default' } } })
    expect([whole, localRope]).toEqual([{ type: 'default', theta: 1e6 }, { type: 'default', theta: 1e4 }])
  })

  it.each([
    [{ model_type: 'gemma3_text', final_logit_softcapping: 30 }, /"final_logit_softcapping" is not supported.*30/],
    [{ model_type: 'gemma3_text', use_bidirectional_attention: true }, /"use_bidirectional_attention"/],
    [{ model_type: 'gemma3_text', hidden_activation: 'gelu' }, /activation "gelu"/],
    [{ model_type: 'gemma3_text', query_pre_attn_scalar: 0 }, /"query_pre_attn_scalar" is 0/],
    [{ model_type: 'gemma3_text', num_hidden_layers: 2, layer_types: ['full_attention'] }, /"layer_types".*list of 2/],
    [{ model_type: 'gemma3_text', num_hidden_layers: 1, layer_types: ['chunked_attention'] }, /"layer_types"/],
    [{ model_type: 'gemma3_text', rope_parameters: { rope_type: 'linear', factor: 8 } }, /"rope_parameters".*full_attention/],
    [{ model_type: 'gemma3_text', rope_parameters: 'linear' }, /"rope_parameters" is "linear"/],
    [{ model_type: 'gemma3', text_config: [] }, /"text_config"/],
    [{ model_type: 'gpt_neox' }, /gpt_neox.*Supported types are llama, mistral, qwen2, qwen3, gemma3, gemma3_text, qwen3_5, qwen3_5_text/],
    [{}, /names no model type.*Supported types/],
    [{ model_type: 'llama', rope_scaling: { rope_type: 'yarn', factor: 4 } }, /rope type "yarn".*default, linear, llama3/],
    [{ model_type: 'llama', hidden_size: -4 }, /"hidden_size" is -4/],
    [{ model_type: 'llama', hidden_act: 'gelu' }, /activation "gelu"/],
    [{ model_type: 'llama', num_attention_heads: 6, hidden_size: 96, num_key_value_heads: 4 }, /num_key_value_heads/],
    [{ model_type: 'llama', rope_scaling: { rope_type: 'linear' } }, /rope factor/],
    [{ model_type: 'qwen3_5_text', linear_num_key_heads: 3 }, /linear_num_key_heads/],
    [{ model_type: 'qwen3_5', text_config: { layer_types: ['sliding_attention'], num_hidden_layers: 1 } }, /layer_types.*linear_attention, full_attention/],
    [{ model_type: 'qwen3_5_text', rope_parameters: { partial_rotary_factor: 1.5 } }, /partial_rotary_factor/],
    [{ model_type: 'qwen3_5_text', attn_output_gate: false }, /attn_output_gate/],
  ])('refuses %j by name', (raw, message) => {
    expect(() => resolveConfig(raw)).toThrow(message)
  })
})

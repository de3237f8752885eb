/**
 * The three tiny models of the demo: one family and width each, so that links between them are not trivial.
 * Their config.json, the shapes of their weights (names as in published checkpoints) and the random start of training.
 */
import type { Random } from './random'
import { endId, padId, vocabulary } from './vocabulary'

export const roles = ['planner', 'critic', 'solver'] as const
export type Role = (typeof roles)[number]

interface Sizes {
  readonly model_type: 'llama' | 'qwen2' | 'qwen3'
  readonly architecture: string
  readonly hidden_size: number
  readonly intermediate_size: number
  readonly num_hidden_layers: number
  readonly num_attention_heads: number
  readonly num_key_value_heads: number
  readonly head_dim: number
}

const sizes: Readonly<Record<Role, Sizes>> = {
  planner: {
    model_type: 'llama',
    architecture: 'LlamaForCausalLM',
    hidden_size: 64,
    intermediate_size: 160,
    num_hidden_layers: 3,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 16,
  },
  critic: {
    model_type: 'qwen2',
    architecture: 'Qwen2ForCausalLM',
    hidden_size: 96,
    intermediate_size: 224,
    num_hidden_layers: 3,
    num_attention_heads: 6,
    num_key_value_heads: 2,
    head_dim: 16,
  },
  solver: {
    model_type: 'qwen3',
    architecture: 'Qwen3ForCausalLM',
    hidden_size: 80,
    intermediate_size: 192,
    num_hidden_layers: 3,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 32,
  },
}

/** Content of config.json. */
export function modelConfig(role: Role): Record<string, unknown> {
  const { architecture, ...shape } = sizes[role]
  return {
    architectures: [architecture],
    ...shape,
    ...(shape.model_type === 'qwen2' ? {} : { attention_bias: false }),
    vocab_size: vocabulary.length,
    hidden_act: 'silu',
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    rope_scaling: null,
    max_position_embeddings: 256,
    tie_word_embeddings: false,
    torch_dtype: 'float32',
    bos_token_id: null,
    eos_token_id: endId,
    pad_token_id: padId,
  }
}

/** Content of generation_config.json. */
export function generationConfig(): Record<string, unknown> {
  return { do_sample: false, eos_token_id: endId, pad_token_id: padId }
}

export interface WeightShape {
  readonly name: string
  readonly shape: readonly number[]
}

/** Every weight of a model, matrices as [out, in]. */
export function weightShapes(role: Role): WeightShape[] {
  const s = sizes[role]
  const [H, I, V] = [s.hidden_size, s.intermediate_size, vocabulary.length]
  const [q, kv] = [s.num_attention_heads * s.head_dim, s.num_key_value_heads * s.head_dim]
  const weights: WeightShape[] = [{ name: 'model.embed_tokens.weight', shape: [V, H] }]
  for (let layer = 0; layer < s.num_hidden_layers; layer++) {
    const add = (name: string, ...shape: number[]) => weights.push({ name: `model.layers.${layer}.${name}`, shape })
    add('input_layernorm.weight', H)
    for (const [name, out] of [
      ['q', q],
      ['k', kv],
      ['v', kv],
    ] as const) {
      add(`self_attn.${name}_proj.weight`, out, H)
      if (s.model_type === 'qwen2') add(`self_attn.${name}_proj.bias`, out)
    }
    if (s.model_type === 'qwen3') {
      add('self_attn.q_norm.weight', s.head_dim)
      add('self_attn.k_norm.weight', s.head_dim)
    }
    add('self_attn.o_proj.weight', H, q)
    add('post_attention_layernorm.weight', H)
    add('mlp.gate_proj.weight', I, H)
    add('mlp.up_proj.weight', I, H)
    add('mlp.down_proj.weight', H, I)
  }
  weights.push({ name: 'model.norm.weight', shape: [H] }, { name: 'lm_head.weight', shape: [V, H] })
  return weights
}

/**
 * Random start: norms 1, biases uniform within 1/sqrt(width), embedding normal with standard deviation 1, other
 * matrices normal with 0.7/sqrt(fan in). An embedding row then has norm about sqrt(H), which is also the norm of a
 * LayerNorm output: latents and embeddings share one scale from the start.
 */
export function initialWeights(role: Role, random: Random): Map<string, Float32Array> {
  const width = sizes[role].hidden_size
  return new Map(
    weightShapes(role).map(({ name, shape }) => {
      const values = new Float32Array(shape.reduce((a, b) => a * b, 1))
      if (name.endsWith('norm.weight')) values.fill(1)
      else if (name.endsWith('.bias'))
        values.forEach((_, i) => (values[i] = (2 * random.uniform() - 1) / Math.sqrt(width)))
      else {
        const deviation = name.includes('embed_tokens') ? 1 : 0.7 / Math.sqrt(shape[1])
        values.forEach((_, i) => (values[i] = deviation * random.normal()))
      }
      return [name, values]
    }),
  )
}

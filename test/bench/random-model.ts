/**
 * Weights folders of the baseline's layout without the baseline: a random model with tied embeddings, six links as torch would
 * draw them, and the inputs. A llama of 135 million parameters, of which torch draws other weights than these, and a Qwen 3.5 of
 * 84 million, which the baseline does not make but can read.
 */
import { join } from 'node:path'
import { writeFolderWhole, writeJsonWhole } from '../../src-main/engine/formats/atomic-files'
import { elementCount, type TensorValue } from '../../src-main/engine/formats/dtypes'
import { writeSafetensors } from '../../src-main/engine/formats/safetensors'
import { initInnerLink, initOuterLink } from '../../src-main/engine/nn/link-init'
import {
  innerParameterShapes,
  type LinkParameters,
  outerParameterShapes,
  type ParameterShape,
} from '../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../src-main/engine/nn/torch-generator'
import type { ModelName } from './cases'
import { makeInputs } from './inputs'

export const innerLinks = ['inner_1', 'inner_2', 'inner_3'] as const
export const outerLinks = ['outer_12', 'outer_23', 'outer_31'] as const

const llama = {
  model_type: 'llama',
  architectures: ['LlamaForCausalLM'],
  hidden_act: 'silu',
  rms_norm_eps: 1e-5,
  attention_bias: false,
  mlp_bias: false,
  tie_word_embeddings: true,
  dtype: 'float32',
  hidden_size: 576,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  head_dim: 64,
  intermediate_size: 1536,
  vocab_size: 49152,
  max_position_embeddings: 8192,
  initializer_range: 0.02,
  rope_theta: 100_000,
}

/** Three of four layers are gated delta nets; heads as wide as the published models have them. */
const deltaNet = {
  model_type: 'qwen3_5_text',
  architectures: ['Qwen3_5ForCausalLM'],
  hidden_act: 'silu',
  rms_norm_eps: 1e-6,
  attention_bias: false,
  tie_word_embeddings: true,
  dtype: 'float32',
  hidden_size: 512,
  num_hidden_layers: 16,
  full_attention_interval: 4,
  layer_types: Array.from({ length: 16 }, (_, i) => (i % 4 === 3 ? 'full_attention' : 'linear_attention')),
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 128,
  linear_num_key_heads: 4,
  linear_num_value_heads: 8,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
  intermediate_size: 1536,
  vocab_size: 32_768,
  max_position_embeddings: 8192,
  // with 0.02 a rollout is chaotic: in 48 steps a difference of 1e-9 grows 800-fold, with this 4-fold
  initializer_range: 0.01,
  bos_token_id: null,
  eos_token_id: null,
  rope_parameters: {
    rope_type: 'default',
    rope_theta: 10_000_000,
    partial_rotary_factor: 0.25,
    mrope_interleaved: true,
    mrope_section: [8, 4, 4],
  },
}

type NamedTensor = readonly [string, TensorValue]

const models = {
  llama: { config: llama, tensors: llamaTensors },
  'delta-net': { config: deltaNet, tensors: deltaNetTensors },
} as const

/** Everything follows from the seed. The folder appears when it is complete; it must not exist or be empty. */
export async function writeRandomModel(folder: string, model: ModelName, seed: number): Promise<void> {
  const { config, tensors } = models[model]
  const generator = new TorchGenerator(seed)
  const h = config.hidden_size
  await writeFolderWhole(folder, async (temporary) => {
    await writeSafetensors(join(temporary, 'model.safetensors'), tensors(generator), { format: 'pt' })
    for (const name of innerLinks) {
      const parameters = initInnerLink('ln_res_adapter', h, generator)
      await writeLink(join(temporary, `${name}.safetensors`), innerParameterShapes('ln_res_adapter', h), parameters)
    }
    for (const name of outerLinks) {
      const parameters = initOuterLink('outer_ln_res_adapter', h, h, generator)
      const shapes = outerParameterShapes('outer_ln_res_adapter', h, h)
      await writeLink(join(temporary, `${name}.safetensors`), shapes, parameters)
    }
    await writeJsonWhole(join(temporary, 'config.json'), config)
    await writeJsonWhole(join(temporary, 'inputs.json'), makeInputs(config.vocab_size))
  })
}

async function writeLink(file: string, shapes: readonly ParameterShape[], parameters: LinkParameters): Promise<void> {
  await writeSafetensors(
    file,
    shapes.map(({ name, shape }) => [name, { shape, data: parameters[name] }]),
  )
}

/** Draws tensors: matrices uniform with the given standard deviation, vectors uniform around `middle`. */
function draws(generator: TorchGenerator, deviation: number) {
  const bound = deviation * Math.sqrt(3)
  const uniform = (name: string, lo: number, hi: number, ...shape: number[]): NamedTensor => [
    name,
    { shape, data: generator.uniform(lo, hi, elementCount(shape)) },
  ]
  return {
    uniform,
    matrix: (name: string, ...shape: number[]) => uniform(`${name}.weight`, -bound, bound, ...shape),
    // not all alike, so that a mistake in them shows
    gains: (name: string, middle: number, size: number) => uniform(`${name}.weight`, middle - 0.2, middle + 0.2, size),
  }
}

function llamaTensors(generator: TorchGenerator): NamedTensor[] {
  const { hidden_size: h, intermediate_size: m, head_dim: d } = llama
  const { matrix, gains } = draws(generator, llama.initializer_range)
  const layer = (i: number) => {
    const at = `model.layers.${i}`
    const heads = llama.num_attention_heads * d
    const kvHeads = llama.num_key_value_heads * d
    return [
      gains(`${at}.input_layernorm`, 1, h),
      matrix(`${at}.self_attn.q_proj`, heads, h),
      matrix(`${at}.self_attn.k_proj`, kvHeads, h),
      matrix(`${at}.self_attn.v_proj`, kvHeads, h),
      matrix(`${at}.self_attn.o_proj`, h, heads),
      gains(`${at}.post_attention_layernorm`, 1, h),
      matrix(`${at}.mlp.gate_proj`, m, h),
      matrix(`${at}.mlp.up_proj`, m, h),
      matrix(`${at}.mlp.down_proj`, h, m),
    ]
  }
  return [
    matrix('model.embed_tokens', llama.vocab_size, h),
    ...Array.from({ length: llama.num_hidden_layers }, (_, i) => layer(i)).flat(),
    gains('model.norm', 1, h),
  ]
}

/** Norms hold w of (1 + w), but for those behind the delta nets; decay and step size as transformers initialises them. */
function deltaNetTensors(generator: TorchGenerator): NamedTensor[] {
  const { hidden_size: h, intermediate_size: m, head_dim: d } = deltaNet
  const { uniform, matrix, gains } = draws(generator, deltaNet.initializer_range)
  const heads = deltaNet.num_attention_heads * d
  const kvHeads = deltaNet.num_key_value_heads * d
  const values = deltaNet.linear_num_value_heads * deltaNet.linear_value_head_dim
  const channels = 2 * deltaNet.linear_num_key_heads * deltaNet.linear_key_head_dim + values
  const steps = deltaNet.linear_num_value_heads
  const attention = (at: string) => [
    matrix(`${at}.q_proj`, 2 * heads, h),
    matrix(`${at}.k_proj`, kvHeads, h),
    matrix(`${at}.v_proj`, kvHeads, h),
    matrix(`${at}.o_proj`, h, heads),
    gains(`${at}.q_norm`, 0, d),
    gains(`${at}.k_norm`, 0, d),
  ]
  const delta = (at: string) => {
    const [name, { shape, data }] = uniform(`${at}.A_log`, 0.01, 16, steps)
    return [
      [name, { shape, data: Float32Array.from(data as Float32Array, Math.log) }] as const,
      uniform(`${at}.dt_bias`, 0.8, 1.2, steps),
      uniform(`${at}.conv1d.weight`, -0.5, 0.5, channels, 1, deltaNet.linear_conv_kernel_dim),
      matrix(`${at}.in_proj_qkv`, channels, h),
      matrix(`${at}.in_proj_z`, values, h),
      matrix(`${at}.in_proj_a`, steps, h),
      matrix(`${at}.in_proj_b`, steps, h),
      gains(`${at}.norm`, 1, deltaNet.linear_value_head_dim),
      matrix(`${at}.out_proj`, h, values),
    ]
  }
  const layer = (type: string, i: number) => {
    const at = `model.layers.${i}`
    return [
      gains(`${at}.input_layernorm`, 0, h),
      ...(type === 'full_attention' ? attention(`${at}.self_attn`) : delta(`${at}.linear_attn`)),
      gains(`${at}.post_attention_layernorm`, 0, h),
      matrix(`${at}.mlp.gate_proj`, m, h),
      matrix(`${at}.mlp.up_proj`, m, h),
      matrix(`${at}.mlp.down_proj`, h, m),
    ]
  }
  return [
    matrix('model.embed_tokens', deltaNet.vocab_size, h),
    ...deltaNet.layer_types.flatMap(layer),
    gains('model.norm', 0, h),
  ]
}

/**
 * A weights folder of the baseline's shape without the baseline: a random llama of 135 million parameters with tied
 * embeddings, six links as torch would draw them, and the inputs. For times alone: torch draws other model weights.
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
import { makeInputs } from './inputs'

export const innerLinks = ['inner_1', 'inner_2', 'inner_3'] as const
export const outerLinks = ['outer_12', 'outer_23', 'outer_31'] as const

const config = {
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

/** Everything follows from the seed. The folder appears when it is complete; it must not exist or be empty. */
export async function writeRandomModel(folder: string, seed: number): Promise<void> {
  const generator = new TorchGenerator(seed)
  const h = config.hidden_size
  await writeFolderWhole(folder, async (temporary) => {
    await writeSafetensors(join(temporary, 'model.safetensors'), modelTensors(generator), { format: 'pt' })
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

/** Matrices uniform with the standard deviation `initializer_range`, norm gains near 1 so that a mistake in them shows. */
function modelTensors(generator: TorchGenerator): (readonly [string, TensorValue])[] {
  const { hidden_size: h, intermediate_size: m, head_dim: d } = config
  const bound = config.initializer_range * Math.sqrt(3)
  const matrix = (name: string, ...shape: number[]): readonly [string, TensorValue] => [
    `${name}.weight`,
    { shape, data: generator.uniform(-bound, bound, elementCount(shape)) },
  ]
  const gains = (name: string): readonly [string, TensorValue] => [
    `${name}.weight`,
    { shape: [h], data: generator.uniform(0.8, 1.2, h) },
  ]
  const layer = (i: number) => {
    const at = `model.layers.${i}`
    const heads = config.num_attention_heads * d
    const kvHeads = config.num_key_value_heads * d
    return [
      gains(`${at}.input_layernorm`),
      matrix(`${at}.self_attn.q_proj`, heads, h),
      matrix(`${at}.self_attn.k_proj`, kvHeads, h),
      matrix(`${at}.self_attn.v_proj`, kvHeads, h),
      matrix(`${at}.self_attn.o_proj`, h, heads),
      gains(`${at}.post_attention_layernorm`),
      matrix(`${at}.mlp.gate_proj`, m, h),
      matrix(`${at}.mlp.up_proj`, m, h),
      matrix(`${at}.mlp.down_proj`, h, m),
    ]
  }
  return [
    matrix('model.embed_tokens', config.vocab_size, h),
    ...Array.from({ length: config.num_hidden_layers }, (_, i) => layer(i)).flat(),
    gains('model.norm'),
  ]
}

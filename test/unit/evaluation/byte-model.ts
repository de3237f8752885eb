/** A small random llama with a tokenizer of one token per byte: it reads any text, knows nothing, and seldom stops. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { elementCount, type TensorValue } from '../../../src-main/engine/formats/dtypes'
import { writeSafetensors } from '../../../src-main/engine/formats/safetensors'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { tinyModel, writeTinyModel } from '../text/tiny-model'

/** Bytes and the tiny tokenizer's special tokens, rounded up. */
const vocabulary = 264
const headSize = 16

/** Writes the folder, everything in it by the seed; it goes when the test ends. `width` is a multiple of 16. */
export async function byteModel(seed: number, width: number): Promise<string> {
  return fill(await tinyModel(), seed, width)
}

/** The same at a place that the caller chooses and clears away. */
export async function writeByteModel(folder: string, seed: number, width: number): Promise<string> {
  await writeTinyModel(folder)
  return fill(folder, seed, width)
}

async function fill(folder: string, seed: number, width: number): Promise<string> {
  const inner = 2 * width
  const config = {
    model_type: 'llama',
    hidden_act: 'silu',
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    hidden_size: width,
    num_hidden_layers: 2,
    num_attention_heads: width / headSize,
    num_key_value_heads: 1,
    head_dim: headSize,
    intermediate_size: inner,
    vocab_size: vocabulary,
    max_position_embeddings: 8192,
    rope_theta: 10_000,
    eos_token_id: 257,
  }
  await writeRandomModel(folder, config, seed)
  return folder
}

/** The sizes of a llama, mistral or qwen2 model. */
interface Sizes {
  readonly model_type: string
  readonly hidden_size: number
  readonly num_hidden_layers: number
  readonly num_attention_heads: number
  readonly num_key_value_heads: number
  readonly intermediate_size: number
  readonly vocab_size: number
  readonly tie_word_embeddings: boolean
}

/** config.json and model.safetensors with the tensors that it implies, drawn from the seed. */
export async function writeRandomModel(folder: string, config: Sizes, seed: number): Promise<void> {
  await writeFile(join(folder, 'config.json'), JSON.stringify(config))
  const { hidden_size: width, intermediate_size: inner, vocab_size: vocabulary } = config
  const keys = (width / config.num_attention_heads) * config.num_key_value_heads
  const generator = new TorchGenerator(seed)
  const matrix = (name: string, ...shape: number[]): readonly [string, TensorValue] => [
    `${name}.weight`,
    { shape, data: generator.uniform(-0.3, 0.3, elementCount(shape)) },
  ]
  const gains = (name: string): readonly [string, TensorValue] => [
    `${name}.weight`,
    { shape: [width], data: generator.uniform(0.8, 1.2, width) },
  ]
  const bias = (name: string, size: number): readonly [string, TensorValue] => [
    `${name}.bias`,
    { shape: [size], data: generator.uniform(-0.3, 0.3, size) },
  ]
  const layer = (at: string) => [
    gains(`${at}.input_layernorm`),
    matrix(`${at}.self_attn.q_proj`, width, width),
    matrix(`${at}.self_attn.k_proj`, keys, width),
    matrix(`${at}.self_attn.v_proj`, keys, width),
    matrix(`${at}.self_attn.o_proj`, width, width),
    gains(`${at}.post_attention_layernorm`),
    matrix(`${at}.mlp.gate_proj`, inner, width),
    matrix(`${at}.mlp.up_proj`, inner, width),
    matrix(`${at}.mlp.down_proj`, width, inner),
    ...(config.model_type === 'qwen2'
      ? [
          bias(`${at}.self_attn.q_proj`, width),
          bias(`${at}.self_attn.k_proj`, keys),
          bias(`${at}.self_attn.v_proj`, keys),
        ]
      : []),
  ]
  await writeSafetensors(
    join(folder, 'model.safetensors'),
    [
      matrix('model.embed_tokens', vocabulary, width),
      ...Array.from({ length: config.num_hidden_layers }, (_, i) => layer(`model.layers.${i}`)).flat(),
      gains('model.norm'),
      ...(config.tie_word_embeddings ? [] : [matrix('lm_head', vocabulary, width)]),
    ],
    { format: 'pt' },
  )
}

/**
 * The decoder of every family: embedding, blocks, final norm, head. One definition serves all passes; a pass differs
 * only in where its positions come from and how its layers attend (`Pass.attend`).
 * Activations are [N, H] with N = B*T; float32 throughout, matrix products in the weights' compute type.
 */
import { gatedSilu } from '../nn/activations'
import { linear } from '../nn/linear'
import { rmsNorm } from '../nn/norms'
import { rotary, type RotaryTable } from '../nn/rotary'
import type { Dim, Graph, Value } from '../onnx/graph'
import { dimProduct } from '../onnx/graph'
import * as op from '../onnx/ops'
import { checkpoint } from '../autodiff/checkpoint'
import type { DecoderConfig } from './config'
import type { WeightSource } from './weights'

export interface Pass {
  readonly g: Graph
  readonly batch: Dim
  readonly time: Dim
  readonly rope: RotaryTable
  /** Queries [B, T, heads*d], keys and values [B, T, kvHeads*d], rotated -> [B, T, heads*d]. */
  readonly attend: (layer: number, q: Value, k: Value, v: Value) => Value
  /** Recompute each block in the backward pass instead of keeping its activations. */
  readonly checkpointBlocks?: boolean
}

const layerName = (i: number, rest: string) => `model.layers.${i}.${rest}`

/** Embedding matrix [V, H]. */
export function embeddingMatrix(config: DecoderConfig, weights: WeightSource): Value {
  return weights.matrix('model.embed_tokens.weight', config.vocabSize, config.hiddenSize)
}

/** Output head [V, H]: its own matrix, or the embedding where they are tied. */
export function headMatrix(config: DecoderConfig, weights: WeightSource): Value {
  return config.tiedEmbeddings ? embeddingMatrix(config, weights) : weights.matrix('lm_head.weight', config.vocabSize, config.hiddenSize)
}

/** Token embeddings: ids int64 of any shape -> [.., H]. */
export function embedTokens(g: Graph, config: DecoderConfig, weights: WeightSource, ids: Value): Value {
  return op.cast(g, op.gather(g, embeddingMatrix(config, weights), ids), 'float32')
}

export function finalNorm(g: Graph, config: DecoderConfig, weights: WeightSource, x: Value): Value {
  return rmsNorm(g, x, weights.vector('model.norm.weight', config.hiddenSize), config.normEpsilon)
}

/**
 * All blocks: x [N, H] -> [N, H] before the final norm; with `places` (int64 [K]) only those rows, [K, H]: what the last
 * block does after its attention is done for them alone.
 */
export function decoderBlocks(pass: Pass, config: DecoderConfig, weights: WeightSource, x: Value, places: Value | null = null): Value {
  let state = x
  for (let i = 0; i < config.layers; i++) {
    const wanted = i === config.layers - 1 ? places : null
    const block = (inputs: readonly Value[]) => [decoderBlock(pass, config, weights, i, inputs[0], wanted)]
    state = (pass.checkpointBlocks ? checkpoint(pass.g, [state], block) : block([state]))[0]
  }
  return state
}

function decoderBlock(pass: Pass, c: DecoderConfig, w: WeightSource, i: number, x: Value, places: Value | null): Value {
  const g = pass.g
  const norm = (name: string, v: Value) => rmsNorm(g, v, w.vector(layerName(i, name), c.hiddenSize), c.normEpsilon)
  const rows = (v: Value) => (places ? op.gather(g, v, places) : v)
  const mixed = rows(attention(pass, c, w, i, norm('input_layernorm.weight', x)))
  const attended = op.add(g, rows(x), project(pass, w, layerName(i, 'self_attn.o_proj'), c.hiddenSize, c.outputBias, mixed))
  return op.add(g, attended, mlp(pass, c, w, i, norm('post_attention_layernorm.weight', attended)))
}

/** x [N, in] -> [N, out] by the weights of that name. */
function project(pass: Pass, w: WeightSource, name: string, out: number, bias: boolean, x: Value): Value {
  const weight = w.matrix(`${name}.weight`, out, x.shape[1] as number)
  return linear(pass.g, x, weight, bias ? w.vector(`${name}.bias`, out) : null)
}

/** Heads' mixtures before the output projection, [N, heads*d]. */
function attention(pass: Pass, c: DecoderConfig, w: WeightSource, i: number, x: Value): Value {
  const g = pass.g
  const width = c.heads * c.headDim
  const kvWidth = c.kvHeads * c.headDim
  const part = (name: string, out: number) => project(pass, w, layerName(i, `self_attn.${name}`), out, c.qkvBias, x)
  const places = (v: Value, size: number) => op.reshape(g, v, [pass.batch, pass.time, size])
  const headNorm = (name: string, v: Value, heads: number) => {
    if (!c.qkNorm) return places(v, heads * c.headDim)
    const rows = dimProduct(pass.batch, pass.time, heads)
    const weight = w.vector(layerName(i, `self_attn.${name}.weight`), c.headDim)
    return places(rmsNorm(g, op.reshape(g, v, [rows, c.headDim]), weight, c.normEpsilon), heads * c.headDim)
  }
  const q = headNorm('q_norm', part('q_proj', width), c.heads)
  const k = headNorm('k_norm', part('k_proj', kvWidth), c.kvHeads)
  const v = places(part('v_proj', kvWidth), kvWidth)
  const mixed = pass.attend(i, rotary(g, q, pass.rope, c.heads), rotary(g, k, pass.rope, c.kvHeads), v)
  return op.reshape(g, mixed, [dimProduct(pass.batch, pass.time), width])
}

function mlp(pass: Pass, c: DecoderConfig, w: WeightSource, i: number, x: Value): Value {
  const part = (name: string, out: number, v: Value) => project(pass, w, layerName(i, `mlp.${name}`), out, c.mlpBias, v)
  const gated = gatedSilu(pass.g, part('gate_proj', c.intermediateSize, x), part('up_proj', c.intermediateSize, x))
  return part('down_proj', c.hiddenSize, gated)
}

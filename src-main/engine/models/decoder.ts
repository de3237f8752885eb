/**
 * The decoder of every family: embedding, blocks, final norm, head. One definition serves all passes; a pass differs
 * only in where its positions come from and how its layers look back (`Pass.attend`, `Pass.recur`).
 * Activations are [N, H] with N = B*T; float32 throughout, matrix products in the weights' compute type.
 */
import { gatedGelu, gatedSilu } from '../nn/activations'
import type { HeadLayout } from '../nn/attention'
import { deltaChannels, deltaNet, emptyMemory, type DeltaInputs, type DeltaNetLayout } from '../nn/delta-net'
import { linear } from '../nn/linear'
import { rmsNorm } from '../nn/norms'
import { rotary, rotaryTable, type RotaryTable } from '../nn/rotary'
import type { Dim, Graph, Value } from '../onnx/graph'
import { dimProduct } from '../onnx/graph'
import * as op from '../onnx/ops'
import { checkpoint } from '../autodiff/checkpoint'
import { inverseFrequencies, ropeOf, type DecoderConfig, type RopeParameters } from './config'
import type { ComputeType, WeightSource } from './weights'

export interface Pass {
  readonly g: Graph
  readonly batch: Dim
  readonly time: Dim
  readonly rope: LayerRope
  /** Queries [B, T, heads*d], keys and values [B, T, kvHeads*d], rotated -> [B, T, heads*d]. */
  readonly attend: (layer: number, q: Value, k: Value, v: Value) => Value
  /** What a gated delta-net layer mixes -> [B, T, valueHeads*dv]. */
  readonly recur: (layer: number, x: DeltaInputs) => Value
  /** Sees each linear layer's result, in order, or gives it in its place; `multiply` computes it. */
  readonly product?: (x: Value, weight: Value, multiply: () => Value) => Value
  /** Recompute each block in the backward pass instead of keeping its activations. */
  readonly checkpointBlocks?: boolean
}

/** Angles of the pass's places, by layer. */
export type LayerRope = (layer: number) => RotaryTable

const layerName = (i: number, rest: string) => `model.layers.${i}.${rest}`

/** Embedding matrix [V, H]. */
export function embeddingMatrix(config: DecoderConfig, weights: WeightSource): Value {
  return weights.matrix('model.embed_tokens.weight', config.vocabSize, config.hiddenSize)
}

/** Output head [V, H]: its own matrix, or the embedding where they are tied. */
export function headMatrix(config: DecoderConfig, weights: WeightSource): Value {
  return config.tiedEmbeddings ? embeddingMatrix(config, weights) : weights.matrix('lm_head.weight', config.vocabSize, config.hiddenSize)
}

/** Angles for positions int64 [B, T], `flat` being B*T; layers of the same rope share a table. */
export function layerRope(g: Graph, config: DecoderConfig, positions: Value, flat: Dim): LayerRope {
  const tables = new Map<RopeParameters, RotaryTable>()
  const byLayer = config.windows.map((_, i) => {
    const rope = ropeOf(config, i)
    const table = tables.get(rope) ?? rotaryTable(g, positions, inverseFrequencies(rope, config.rotaryDim), flat)
    tables.set(rope, table)
    return table
  })
  return (layer) => byLayer[layer]
}

/** How the attention of every layer is laid out. */
export function headLayout(config: DecoderConfig, compute: ComputeType): HeadLayout {
  return { heads: config.heads, kvHeads: config.kvHeads, headDim: config.headDim, scale: config.attentionScale, compute }
}

/** How every gated delta-net layer is laid out, in a family that has them. */
export function deltaLayout(config: DecoderConfig, compute: ComputeType): DeltaNetLayout {
  if (!config.delta) throw new Error(`models of family ${config.family} have no gated delta-net layers`)
  const { keyHeads, valueHeads, keyDim, valueDim, taps } = config.delta
  return { keyHeads, valueHeads, keyDim, valueDim, taps, compute }
}

/** `Pass.recur` for rows with nothing before them. */
export function recurFromStart(g: Graph, config: DecoderConfig, batch: Dim, compute: ComputeType): Pass['recur'] {
  return (_, x) => {
    const layout = deltaLayout(config, compute)
    return deltaNet(g, x, emptyMemory(g, batch, layout), null, layout).output
  }
}

/** Token embeddings: ids int64 of any shape -> [.., H]. */
export function embedTokens(g: Graph, config: DecoderConfig, weights: WeightSource, ids: Value): Value {
  const rows = op.cast(g, op.gather(g, embeddingMatrix(config, weights), ids), 'float32')
  return config.embeddingScale === 1 ? rows : op.scale(g, rows, config.embeddingScale)
}

export function finalNorm(g: Graph, config: DecoderConfig, weights: WeightSource, x: Value): Value {
  return norm(g, config, weights, 'model.norm.weight', x)
}

/** RMSNorm over the last axis of x, whose size is known, by the weight of that name. */
function norm(g: Graph, config: DecoderConfig, weights: WeightSource, name: string, x: Value): Value {
  return rmsNorm(g, x, weights.vector(name, x.shape.at(-1) as number, config.normOffset), config.normEpsilon)
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
  const normed = (name: string, v: Value) => norm(g, c, w, layerName(i, `${name}.weight`), v)
  const output = (name: string, v: Value) => (c.outputNorms ? normed(name, v) : v)
  const rows = (v: Value) => (places ? op.gather(g, v, places) : v)
  const before = normed('input_layernorm', x)
  const recurrent = c.delta?.layers[i] ?? false
  const mixed = rows(recurrent ? gatedDelta(pass, c, w, i, before) : attention(pass, c, w, i, before))
  const projection = layerName(i, recurrent ? 'linear_attn.out_proj' : 'self_attn.o_proj')
  const projected = project(pass, w, projection, c.hiddenSize, !recurrent && c.outputBias, mixed)
  const attended = op.add(g, rows(x), output('post_attention_layernorm', projected))
  // without output norms the name is the one of the norm before the MLP
  const inner = normed(c.outputNorms ? 'pre_feedforward_layernorm' : 'post_attention_layernorm', attended)
  return op.add(g, attended, output('post_feedforward_layernorm', mlp(pass, c, w, i, inner)))
}

/** x [N, in] -> [N, out] by the weights of that name. */
function project(pass: Pass, w: WeightSource, name: string, out: number, bias: boolean, x: Value): Value {
  const weight = w.matrix(`${name}.weight`, out, x.shape[1] as number)
  const multiply = () => linear(pass.g, x, weight, bias ? w.vector(`${name}.bias`, out) : null)
  return pass.product ? pass.product(x, weight, multiply) : multiply()
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
    const split = op.reshape(g, v, [rows, c.headDim])
    return places(norm(g, c, w, layerName(i, `self_attn.${name}.weight`), split), heads * c.headDim)
  }
  const [queries, gate] = c.outputGate ? withGate(g, c, part('q_proj', 2 * width)) : [part('q_proj', width), null]
  const q = headNorm('q_norm', queries, c.heads)
  const k = headNorm('k_norm', part('k_proj', kvWidth), c.kvHeads)
  const v = places(part('v_proj', kvWidth), kvWidth)
  const angles = pass.rope(i)
  const mixed = pass.attend(i, rotary(g, q, angles, c.heads), rotary(g, k, angles, c.kvHeads), v)
  const flat = op.reshape(g, mixed, [dimProduct(pass.batch, pass.time), width])
  return gate ? op.mul(g, flat, op.sigmoid(g, gate)) : flat
}

/** A projection whose heads hold queries and then gates, [N, heads*2d] -> both, [N, heads*d]. */
function withGate(g: Graph, c: DecoderConfig, x: Value): readonly [Value, Value] {
  const [queries, gates] = op.split(g, op.reshape(g, x, [x.shape[0], c.heads, 2 * c.headDim]), [c.headDim, c.headDim], 2)
  const flat = (v: Value) => op.reshape(g, v, [x.shape[0], c.heads * c.headDim])
  return [flat(queries), flat(gates)]
}

/** The gated delta net's mixture before the output projection, normalised by head and gated, [N, valueHeads*dv]. */
function gatedDelta(pass: Pass, c: DecoderConfig, w: WeightSource, i: number, x: Value): Value {
  const g = pass.g
  const h = deltaLayout(c, 'float32')
  const name = (rest: string) => layerName(i, `linear_attn.${rest}`)
  const part = (rest: string, out: number) => project(pass, w, name(rest), out, false, x)
  const places = (v: Value) => op.reshape(g, v, [pass.batch, pass.time, v.shape[1]])
  const channels = deltaChannels(h)
  // log decay: -exp(A) softplus(a + bias)
  const pace = op.neg(g, op.exp(g, w.vector(name('A_log'), h.valueHeads)))
  const steps = op.softplus(g, op.add(g, part('in_proj_a', h.valueHeads), w.vector(name('dt_bias'), h.valueHeads)))
  const mixed = pass.recur(i, {
    qkv: places(part('in_proj_qkv', channels)),
    decay: places(op.mul(g, steps, pace)),
    beta: places(op.sigmoid(g, part('in_proj_b', h.valueHeads))),
    filter: w.tensor(name('conv1d.weight'), [channels, 1, h.taps]),
  })
  const heads = [dimProduct(pass.batch, pass.time, h.valueHeads), h.valueDim]
  const normed = rmsNorm(g, op.reshape(g, mixed, heads), w.vector(name('norm.weight'), h.valueDim), c.normEpsilon)
  const gate = part('in_proj_z', h.valueHeads * h.valueDim)
  return op.reshape(g, gatedSilu(g, op.reshape(g, gate, heads), normed), gate.shape)
}

function mlp(pass: Pass, c: DecoderConfig, w: WeightSource, i: number, x: Value): Value {
  const part = (name: string, out: number, v: Value) => project(pass, w, layerName(i, `mlp.${name}`), out, c.mlpBias, v)
  const activate = c.activation === 'silu' ? gatedSilu : gatedGelu
  const gated = activate(pass.g, part('gate_proj', c.intermediateSize, x), part('up_proj', c.intermediateSize, x))
  return part('down_proj', c.hiddenSize, gated)
}

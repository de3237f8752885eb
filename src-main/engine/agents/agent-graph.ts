/**
 * One graph for everything an agent does, so that one session holds its weights once. Inputs are the same for every
 * task; `If` runs only what the task needs:
 *
 *   rows (ids with latents laid over them, cached past)
 *   ├─ tasks VJP, RECORD: forward and reverse with kept activations -> states, losses, gradient; where passes are kept,
 *   │  in two parts, the results of the linear layers (which RECORD gives out and a later VJP takes in) and the rest
 *   └─ else: forward (fused kernel without a past, masked attention with one)
 *        ├─ STATES / LOGITS / LOSS at chosen places
 *        ├─ PREFIX: the caches and memories
 *        └─ ROLLOUT / GENERATE: the state at each row's end, from which a loop goes on
 *
 * The loop stands in the outermost graph (with no steps for the other tasks): the runtime rearranges weights only of a graph
 * directly below the one that holds them.
 *
 * B rows, T places each (padded on the right), P places of cached past, S = P + T, K places asked for (the targets' for a
 * loss, each row's last for rollout and text), C targets, M latent vectors, H hidden size, V vocabulary. Layers that attend
 * have keys and values in the cache, recurrent ones a memory of fixed size per row.
 */
import type { DecoderConfig } from '../models/config'
import type { WeightSource } from '../models/weights'
import { Graph, type Shape } from '../onnx/graph'
import * as op from '../onnx/ops'
import { forward } from './forward-pass'
import { differentiate, recordOrDifferentiate } from './gradient-pass'
import {
  type AgentGraphOptions,
  cacheSlabs,
  carriedShapes,
  declareInputs,
  keptOutput,
  outputNames,
  passOutputs,
  passShapes,
  task,
} from './graph-io'
import { prepare } from './graph-shared'
import { autoregress } from './step-loop'

/** Weight gathers have to come from `root`: the weights are its initializers. */
export function buildAgentGraph(
  root: Graph,
  config: DecoderConfig,
  weights: WeightSource,
  options: AgentGraphOptions,
): void {
  const inputs = declareInputs(root, config, options)
  const shared = prepare(root, config, weights, options, inputs)
  const empty = (g: Graph, shapes: readonly Shape[]) => shapes.map((shape) => op.zeros(g, 'float32', shape))
  const parts: Shape[] = inputs.kept.map(() => [0])
  const results = op.ifElse(
    root,
    options.keepsPasses ? op.or(root, shared.isTask(task.vjp), shared.isTask(task.record)) : shared.isTask(task.vjp),
    (g) => [
      ...(options.keepsPasses ? recordOrDifferentiate(g, shared) : differentiate(g, shared)),
      ...empty(g, carriedShapes(config, 0, 0)),
    ],
    (g) => {
      const [made, carried] = forward(g, shared)
      return [...made, ...empty(g, parts), ...carried]
    },
    [...passShapes(config), ...parts.map(() => ['y']), ...carriedShapes(config, 'b', 's')],
  )
  const made = results.slice(0, passOutputs.length)
  const kept = results.slice(made.length, made.length + parts.length)
  const rest = results.slice(made.length + parts.length)
  const ends = { ...made[passOutputs.indexOf('ends')], shape: ['B', config.hiddenSize] }
  const carried = carriedShapes(config, 'B', 'P+T').map((shape, i) => ({ ...rest[i], shape }))
  const stepped = autoregress(
    root,
    shared,
    ends,
    carried.slice(0, cacheSlabs(config)),
    carried.slice(cacheSlabs(config)),
  )
  for (const [i, v] of [...made, ...stepped].entries()) root.output(v, outputNames[i])
  for (const [i, v] of kept.entries()) root.output(v, keptOutput(i))
}

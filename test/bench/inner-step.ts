/** One training step of an inner link, made of the parts that an inner job's step is made of. */
import { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import type { LinkParameters } from '../../src-main/engine/nn/link-types'
import { type PairRow, pairsOf } from '../../src-main/engine/training/inner-pairs'
import { innerStep } from '../../src-main/engine/training/inner-step'
import { AdamW, clipGradients, innerParameters } from '../../src-main/engine/training/optimiser'
import { StateCollection } from '../../src-main/engine/training/state-store'
import {
  firstUse,
  flatten,
  number,
  type ReadyWork,
  readLink,
  readyAgent,
  type Results,
  vector,
  type WorkContext,
} from './work'

/** `second`: the step measured is the second on the same rows, whose frozen states the first has kept in memory. */
export async function innerTraining(context: WorkContext, second: boolean): Promise<ReadyWork> {
  const spec = context.inputs.inner
  const { agent, session } = await readyAgent(context)
  const links = new LinkSessions({ threads: context.threads })
  const graph = links.link({ kind: 'inner', type: 'ln_res_adapter', width: agent.hiddenSize })
  const row = new Float32Array(agent.hiddenSize).fill(1)
  const weights = { cosine: 1, mse: 0 }
  const start = await readLink(context, 'inner_1')
  const linkSession = await firstUse('inner link loss', () => graph.loss(start, row, row, weights))
  const rows = spec.ids.map((ids): PairRow => ({ ids, promptLength: spec.prompt_length, latentEnd: ids.length }))

  let parameters: LinkParameters = {}
  let optimiser = new AdamW([], { weightDecay: 0 })
  let kept = new StateCollection(null)

  async function step(): Promise<Results> {
    const pairs = await pairsOf(agent, rows, kept)
    const { losses, gradients } = await innerStep(graph, parameters, [pairs], {
      cosineWeight: weights.cosine,
      mseWeight: weights.mse,
      divisor: 1,
    })
    const norm = clipGradients(gradients.values(), spec.max_grad_norm)
    optimiser.step(gradients, spec.learning_rate)
    return {
      loss: number(losses[0]),
      gradient_norm: number(norm),
      gradient: vector(flatten(graph.shapes.map((s) => gradients.get(s.name)!))),
      parameters: vector(flatten(graph.shapes.map((s) => parameters[s.name]))),
    }
  }

  return {
    sessions: [session, linkSession],
    async reset() {
      parameters = await readLink(context, 'inner_1')
      optimiser = new AdamW(innerParameters(parameters), {
        weightDecay: spec.weight_decay,
        beta1: spec.betas[0],
        beta2: spec.betas[1],
        epsilon: spec.eps,
      })
      if (second) await step()
      else kept = new StateCollection(null)
    },
    run: step,
    async dispose() {
      await links.dispose()
      await agent.dispose()
    },
  }
}

/** One optimiser step of an inner link: pairs of one or more micro-batches to a loss and a gradient. */
import type { LinkGraph } from '../nn/link-graphs'
import type { LinkParameters } from '../nn/link-types'
import { addInPlace, scaleInPlace } from '../nn/rows'
import type { Pairs } from './inner-pairs'

export interface InnerStepOptions {
  readonly cosineWeight: number
  readonly mseWeight: number
  /** Each micro-batch's gradient is divided by this many. */
  readonly divisor: number
}

export interface InnerStepResult {
  /** Loss of each micro-batch. */
  readonly losses: number[]
  /** By parameter name; empty when no micro-batch had a pair. */
  readonly gradients: Map<string, Float32Array>
}

/** A micro-batch without any pair has loss 0 and no gradient. */
export async function innerStep(
  link: LinkGraph,
  parameters: LinkParameters,
  microBatches: readonly Pairs[],
  options: InnerStepOptions,
): Promise<InnerStepResult> {
  const losses: number[] = []
  const gradients = new Map<string, Float32Array>()
  for (const pairs of microBatches) {
    if (pairs.count === 0) {
      losses.push(0)
      continue
    }
    const r = await link.loss(parameters, pairs.states, pairs.targets, {
      cosine: options.cosineWeight,
      mse: options.mseWeight,
    })
    losses.push(r.loss)
    for (const [name, gradient] of Object.entries(r.gradients)) {
      if (options.divisor !== 1) scaleInPlace(gradient, 1 / options.divisor)
      const sum = gradients.get(name)
      if (sum) addInPlace(sum, gradient)
      else gradients.set(name, gradient)
    }
  }
  return { losses, gradients }
}

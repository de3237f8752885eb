/** Trains one tiny model on its own text task, from a seed: AdamW on all weights, warm-up and cosine, clipped gradients. */
import { resolveConfig } from '../engine/models/families'
import { AdamW, clipGradients } from '../engine/training/optimiser'
import { learningRateAt } from '../engine/training/schedule'
import { FullWeightGraph } from './full-weights'
import { drawTask } from './own-tasks'
import { createRandom } from './random'
import { initialWeights, modelConfig, weightShapes, type Role } from './tiny-models'
import type { Problem } from './vel'

export interface ModelTraining {
  readonly steps: number
  readonly batchSize: number
  readonly learningRate: number
  readonly warmupSteps: number
  readonly weightDecay: number
  readonly maxGradNorm: number
}

export const fullTraining: Readonly<Record<Role, ModelTraining>> = {
  planner: settings(1800),
  critic: settings(900),
  solver: settings(1600),
}

function settings(steps: number): ModelTraining {
  return { steps, batchSize: 64, learningRate: 3e-3, warmupSteps: 50, weightDecay: 0.01, maxGradNorm: 1 }
}

export interface TrainModelOptions {
  readonly seed: number
  readonly training: ModelTraining
  /** Training questions by depth. */
  readonly problems: readonly (readonly Problem[])[]
  readonly threads: number
  /** After each step, from 1: the loss of its batch. */
  readonly onStep?: (step: number, loss: number) => void
}

/** Weights by name, as the checkpoint holds them. */
export async function trainModel(role: Role, options: TrainModelOptions): Promise<Map<string, Float32Array>> {
  const { seed, training, problems } = options
  const weights = initialWeights(role, createRandom(seed, `weights ${role}`))
  const random = createRandom(seed, `tasks ${role}`)
  const parameters = weightShapes(role).map(({ name, shape }) => ({
    name,
    values: weights.get(name)!,
    decay: shape.length > 1,
  }))
  const optimiser = new AdamW(parameters, { weightDecay: training.weightDecay })
  const graph = await FullWeightGraph.open(resolveConfig(modelConfig(role)), options.threads)
  try {
    for (let step = 0; step < training.steps; step++) {
      const { loss, gradients } = await graph.run(weights, drawTask(role, problems, training.batchSize, random))
      clipGradients(gradients.values(), training.maxGradNorm)
      optimiser.step(gradients, learningRateAt(step, { ...training, mode: 'corrected', schedule: 'cosine' }))
      options.onStep?.(step + 1, loss)
    }
  } finally {
    await graph.dispose()
  }
  return weights
}

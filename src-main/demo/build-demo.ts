/**
 * Makes everything of native-assets/demo from a seed, with this engine alone: the data, the three trained models with
 * their tokenizers, the prompt pack, the pipelines.
 */
import path from 'node:path'
import { writeFileWhole, writeFolderWhole, writeJsonWhole } from '../engine/formats/atomic-files'
import { writeSafetensors } from '../engine/formats/safetensors'
import { makeProblems, partSizes } from './data'
import { dataFiles } from './data-files'
import { demoPipeline } from './pipeline-files'
import { demoPack } from './prompts'
import { generationConfig, modelConfig, roles, weightShapes, type Role } from './tiny-models'
import { fullTraining, trainModel, type ModelTraining } from './train-model'
import { tokenizerFiles } from './vocabulary'

/** Seed of the embedded demo. Settings were chosen with other seeds and on validation rows: nothing on its held-out rows. */
export const demoSeed = 3

export interface BuildOptions {
  readonly folder: string
  readonly seed: number
  /** How long each model is trained; default: until it knows its task. */
  readonly training?: Readonly<Record<Role, ModelTraining>>
  /** Models to train; default: all. The files of the others stay as they are. */
  readonly only?: readonly Role[]
  /** Rounding, and so the weights, depend on it. */
  readonly threads: number
  /** After each training step of a model, from 1: the loss of its batch. */
  readonly onStep?: (role: Role, step: number, steps: number, loss: number) => void
}

/** Every file appears when it is complete; a model's folder is replaced as a whole when its training ends. */
export async function buildDemo(options: BuildOptions): Promise<void> {
  const { folder, seed, training = fullTraining } = options
  const problems = makeProblems(seed, partSizes)
  for (const [name, content] of Object.entries(dataFiles(problems)))
    await writeFileWhole(path.join(folder, name), content)
  await writeJsonWhole(path.join(folder, 'prompt-pack.json'), demoPack)
  await writeJsonWhole(path.join(folder, 'pipeline.json'), demoPipeline('full'))
  await writeJsonWhole(path.join(folder, 'pipeline.short.json'), demoPipeline('short'))
  for (const role of options.only ?? roles) {
    const { steps } = training[role]
    const weights = await trainModel(role, {
      seed,
      training: training[role],
      problems: problems.train,
      threads: options.threads,
      onStep: (step, loss) => options.onStep?.(role, step, steps, loss),
    })
    await writeModel(path.join(folder, 'models', role), role, weights)
  }
}

/** A model folder in Hugging Face layout. */
export async function writeModel(
  folder: string,
  role: Role,
  weights: ReadonlyMap<string, Float32Array>,
): Promise<void> {
  await writeFolderWhole(folder, async (temporary) => {
    const tensors = weightShapes(role).map(({ name, shape }) => [name, { shape, data: weights.get(name)! }] as const)
    await writeSafetensors(path.join(temporary, 'model.safetensors'), tensors, { format: 'pt' })
    const files = {
      'config.json': modelConfig(role),
      'generation_config.json': generationConfig(),
      ...tokenizerFiles(),
    }
    for (const [name, value] of Object.entries(files)) await writeJsonWhole(path.join(temporary, name), value)
  })
}

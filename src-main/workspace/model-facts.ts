/** What a model's files say of it: config.json, the headers of its weights, its chat template. Nothing is loaded. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { StudioError } from '../bridge/contract'
import { UserError } from '../engine/errors'
import type { MemoryEstimate } from '../engine/memory/estimate'
import { elements, modelMemoryOf, storedAs, tensorsOf } from '../engine/memory/model-memory'
import { readConfig } from '../engine/models/families'
import { findTensor, openTextWeights } from '../engine/models/weights'
import { readTokenizerConfig } from '../engine/text/model-files'
import { exists } from './files'
import { problemOf } from './problem-of'

export interface ModelFacts {
  readonly modelType: string | null
  readonly hiddenSize: number | null
  readonly layers: number | null
  readonly parameters: number | null
  readonly vocabulary: number | null
  readonly maxPositions: number | null
  readonly dtypes: readonly string[]
  readonly hasChatTemplate: boolean | null
  readonly memory: MemoryEstimate | null
  /** Why it cannot be used; null where it can. */
  readonly problem: StudioError | null
}

export const unknownFacts: ModelFacts = {
  modelType: null,
  hiddenSize: null,
  layers: null,
  parameters: null,
  vocabulary: null,
  maxPositions: null,
  dtypes: [],
  hasChatTemplate: null,
  memory: null,
  problem: null,
}

/** Facts of folders, read again only where config, weights or tokenizer changed. */
export class ModelFactsReader {
  private readonly known = new Map<string, { state: string; facts: ModelFacts }>()

  /** `onDefect` hears of errors that are neither the files' nor the disk's. */
  constructor(private readonly onDefect: (error: unknown) => void) {}

  async read(folder: string): Promise<ModelFacts> {
    const state = await stateOf(folder)
    const known = this.known.get(folder)
    if (known?.state === state) return known.facts
    const facts = await readFacts(folder, this.onDefect)
    this.known.set(folder, { state, facts })
    return facts
  }
}

/** As far as they can be read; the first fault is the problem. */
async function readFacts(folder: string, onDefect: (error: unknown) => void): Promise<ModelFacts> {
  let facts = unknownFacts
  try {
    const config = await readConfig(folder)
    facts = {
      ...facts,
      modelType: config.family,
      hiddenSize: config.hiddenSize,
      layers: config.layers,
      vocabulary: config.vocabSize,
      maxPositions: config.maxPositions,
    }
    const weights = await openTextWeights(folder)
    const used = tensorsOf(config).tensors.map(({ name, shape }) => findTensor(weights, name, shape))
    facts = {
      ...facts,
      parameters: used.reduce((n, { shape }) => n + elements(shape), 0),
      dtypes: [...new Set(used.map(({ dtype }) => dtype))].sort(),
      memory: modelMemoryOf(config, (name) => storedAs(weights.tensors.get(name)?.dtype)),
    }
    facts = { ...facts, hasChatTemplate: (await readTokenizerConfig(folder)).chatTemplate !== null }
    if (!(await exists(path.join(folder, 'tokenizer.json'))))
      throw new UserError({
        what: 'The model cannot be used.',
        why: `${folder} has no tokenizer.json.`,
        next: 'Get that file, or choose another model.',
      })
    return facts
  } catch (error) {
    return { ...facts, problem: problemOf(error, `The model in ${folder} cannot be read.`, onDefect) }
  }
}

const files = [
  'config.json',
  'model.safetensors',
  'model.safetensors.index.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
]

async function stateOf(folder: string): Promise<string> {
  const states = await Promise.all(
    ['.', ...files].map((name) =>
      stat(path.join(folder, name)).then(
        ({ size, mtimeMs }) => `${size} ${mtimeMs}`,
        () => '-',
      ),
    ),
  )
  return states.join(', ')
}

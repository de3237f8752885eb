/** What a model of the hub is and whether it would run here, by its config.json of that commit and the list of its files. */
import type { RepositoryView } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { parseJson } from '../engine/formats/json-text'
import { elements, modelMemoryOf, tensorsOf, typeOnHub } from '../engine/memory/model-memory'
import { mostConfig, resolveConfig } from '../engine/models/families'
import { fileAddress } from '../hub/address'
import type { Hub } from '../hub/connection'
import { neededFiles } from '../hub/needed-files'
import type { Repository, RepositoryFile } from '../hub/repository'
import { memoryFit } from './memory-fit'

type ModelOnHub = NonNullable<RepositoryView['model']>
type Problem = NonNullable<ModelOnHub['problem']>

const nothing = { modelType: null, hiddenSize: null, layers: null, parameters: null, fit: null }

export async function modelOnHub(hub: Hub, { kind, name, commit, revision, files }: Repository): Promise<ModelOnHub> {
  const missing = missingOf(files)
  const config = files.find(({ path }) => path === 'config.json')
  if (!config) return { ...nothing, supported: false, problem: missing }
  if (config.size > mostConfig)
    return { ...nothing, supported: false, problem: doesNotRun('Its config.json is too large to be one.') }
  let text: string
  try {
    const url = fileAddress(hub.endpoint, kind, name, commit, 'config.json')
    text = await (await hub.fetchFor({ kind, name, revision, file: 'config.json' })(url)).text()
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const { what, why, next } = error
    return { ...nothing, supported: null, problem: { what, why, next } }
  }
  let modelType: string | null = null
  try {
    const raw = parseJson(text) as Record<string, unknown> | null
    if (typeof raw !== 'object' || raw === null)
      return { ...nothing, supported: false, problem: doesNotRun('Its config.json holds no settings.') }
    modelType = typeof raw.model_type === 'string' ? raw.model_type : null
    const resolved = resolveConfig(raw)
    const bytes = neededFiles(kind, files)
      .filter(({ path }) => path.endsWith('.safetensors'))
      .reduce((n, { size }) => n + size, 0)
    const stored = typeOnHub(raw, resolved, bytes)
    return {
      modelType,
      supported: missing === null,
      problem: missing,
      hiddenSize: resolved.hiddenSize,
      layers: resolved.layers,
      parameters: tensorsOf(resolved).tensors.reduce((n, { shape }) => n + elements(shape), 0),
      fit: memoryFit(modelMemoryOf(resolved, () => stored)),
    }
  } catch (error) {
    if (error instanceof UserError)
      return {
        ...{ ...nothing, modelType, supported: false },
        problem: doesNotRun(`${error.what} ${error.why}`, error.next),
      }
    if (error instanceof SyntaxError)
      return { ...nothing, modelType, supported: false, problem: doesNotRun('Its config.json is not JSON.') }
    throw error
  }
}

/** Forms of weights that are not read, by the names of their files. */
const otherForms = [
  [/\.gguf$/i, 'GGUF'],
  [/^pytorch_model.*\.bin$/i, 'PyTorch'],
  [/\.onnx$/i, 'ONNX'],
  [/\.h5$/i, 'TensorFlow'],
  [/\.msgpack$/i, 'Flax'],
] as const

/** Which files that a run needs are not there; null where all are. */
function missingOf(files: readonly RepositoryFile[]): Problem | null {
  const needed = neededFiles('model', files).map(({ path }) => path)
  const has = (path: string): boolean => needed.includes(path)
  const weights = needed.some((path) => path.endsWith('.safetensors'))
  const lacks = [
    ...(has('config.json') ? [] : ['config.json']),
    ...(weights ? [] : ['.safetensors file']),
    ...(has('tokenizer.json') ? [] : ['tokenizer.json']),
  ]
  if (lacks.length === 0) return null
  if (!has('config.json') && needed.some((path) => path.endsWith('.pt')))
    return {
      what: 'It holds links, not a model.',
      why: `It has no ${list(lacks)}, but link files.`,
      next: 'It is used beside the models of its system.',
    }
  const forms = otherForms.filter(([name]) => files.some(({ path }) => name.test(path))).map(([, form]) => form)
  const instead =
    weights || forms.length === 0 ? '' : `; its weights are ${list(forms, 'and')} files, which are not read`
  return doesNotRun(`It has no ${list(lacks)}${instead}.`)
}

function list(words: readonly string[], last = 'and no'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}

function doesNotRun(
  why: string,
  next = 'Choose a repository with config.json, tokenizer.json and .safetensors files; often the one that this was made from.',
): Problem {
  return { what: 'This model does not run here.', why, next }
}

/** Which files of a repository a run needs: one form of the weights, config, tokenizer and links; of a data set, its rows. */
import type { RepositoryKind } from './address'
import type { RepositoryFile } from './repository'

const index = 'model.safetensors.index.json'

/** What is read beside the weights of a model, at the top of its repository. */
const small = new Set([
  ...['config.json', 'generation_config.json'],
  ...['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'added_tokens.json'],
  ...['tokenizer.model', 'spiece.model', 'vocab.json', 'vocab.txt', 'merges.txt'],
  ...['chat_template.jinja', 'chat_template.json'],
])
/** Rows of data that can be read. */
const rows = /\.(parquet|jsonl?|csv)$/i
/** About a data set, not of it. */
const aboutData = /(^|\/)(dataset_infos?|dataset_dict|state|croissant|metadata)\.json$/i
/** State of somebody's training, which nobody runs. */
const trainingState =
  /(^|\/)(optimizer|optim|scheduler|scaler|rng_state[^/]*|training_args|trainer_state|checkpoint[^/]*\/.*)(\.(pt|pth|bin|json))?$/i

export function neededFiles(kind: RepositoryKind, files: readonly RepositoryFile[]): RepositoryFile[] {
  return kind === 'dataset' ? neededOfData(files) : neededOfModel(files)
}

function neededOfData(files: readonly RepositoryFile[]): RepositoryFile[] {
  return files.filter(({ path }) => rows.test(path) && !aboutData.test(path) && !path.startsWith('.'))
}

function neededOfModel(files: readonly RepositoryFile[]): RepositoryFile[] {
  const paths = new Set(files.map((file) => file.path))
  const links = files.filter(({ path }) => /\.pt$/i.test(path) && !trainingState.test(path)).map(({ path }) => path)
  const linkFolders = new Set(links.map(folderOf))
  const weights = weightsOf(paths)
  const wanted = (path: string): boolean =>
    small.has(path) ||
    weights(path) ||
    links.includes(path) ||
    ourLinks(path, paths) ||
    (path.endsWith('.json') &&
      linkFolders.has(folderOf(path)) &&
      (folderOf(path) !== '' || !indexOfWeights.test(path)) &&
      !trainingState.test(path))
  return files.filter(({ path }) => wanted(path))
}

const indexOfWeights = /\.index\.json$/

/** One file, or shards with their index; other forms only where there are no safetensors. */
function weightsOf(paths: ReadonlySet<string>): (path: string) => boolean {
  if (paths.has('model.safetensors')) return (path) => path === 'model.safetensors'
  if (paths.has(index)) return (path) => path === index || /^model-\d+-of-\d+\.safetensors$/.test(path)
  const other = [...paths].filter((path) => /^[^/]+\.safetensors$/.test(path) && !/^(consolidated|adapter_)/.test(path))
  if (other.length > 0) return (path) => other.includes(path) || /^[^/]+\.safetensors\.index\.json$/.test(path)
  return (path) => /^pytorch_model(-\d+-of-\d+)?\.bin(\.index\.json)?$/.test(path)
}

/** Link checkpoints of this program: a manifest with safetensors beside it, in a folder of their own. */
function ourLinks(path: string, paths: ReadonlySet<string>): boolean {
  const folder = folderOf(path)
  return folder !== '' && paths.has(`${folder}/manifest.json`) && /\.(safetensors|json)$/.test(path)
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

/** The weights of a model folder in Hugging Face layout: one `model.safetensors`, or shards with an index. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../errors'
import { asReadError } from './disk-errors'
import { parseJson } from './json-text'
import { readSafetensorsHeader, type TensorLocation } from './safetensors-header'

export interface WeightIndex {
  /** Real paths of the files. */
  readonly files: readonly string[]
  readonly tensors: ReadonlyMap<string, TensorLocation>
  /** Bytes of all tensors. */
  readonly bytes: number
}

const single = 'model.safetensors'
const index = 'model.safetensors.index.json'

/** Locates all tensors of a model without reading them. UserErrors name the file, shard or tensor that is wrong. */
export async function openModelWeights(folder: string): Promise<WeightIndex> {
  if (await isFile(join(folder, single))) {
    const { tensors } = await readSafetensorsHeader(join(folder, single))
    return indexed(tensors)
  }
  if (await isFile(join(folder, index))) return indexed(await readShards(folder))
  throw await noWeights(folder)
}

async function readShards(folder: string): Promise<Map<string, TensorLocation>> {
  const map = await readWeightMap(join(folder, index))
  const shards = [...new Set(map.values())].sort()
  const missing: string[] = []
  for (const shard of shards) if (!(await isFile(join(folder, shard)))) missing.push(shard)
  if (missing.length > 0)
    throw new UserError({
      what: 'The model is incomplete.',
      why: `${folder} lacks ${missing.length} of ${shards.length} weight files: ${missing.join(', ')}.`,
      next: 'Get the missing files.',
    })
  const headers = new Map<string, ReadonlyMap<string, TensorLocation>>()
  for (const shard of shards) headers.set(shard, (await readSafetensorsHeader(join(folder, shard))).tensors)
  const tensors = new Map<string, TensorLocation>()
  for (const [name, shard] of map) {
    const location = headers.get(shard)?.get(name)
    if (!location) throw brokenIndex(join(folder, index), `tensor "${name}" is not in ${shard}`)
    tensors.set(name, location)
  }
  return tensors
}

/** Tensor name -> shard file name; names must be plain, so that no index can point out of its folder. */
async function readWeightMap(path: string): Promise<Map<string, string>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw asReadError(error, path, 'weights index')
  })
  let parsed: unknown
  try {
    parsed = parseJson(text)
  } catch (error) {
    throw brokenIndex(path, `it is not JSON (${(error as Error).message})`)
  }
  const map = (parsed as { weight_map?: unknown } | null)?.weight_map
  if (typeof map !== 'object' || map === null) throw brokenIndex(path, 'it has no weight_map')
  for (const [name, file] of Object.entries(map))
    if (typeof file !== 'string' || !/^[^/\\]+\.safetensors$/.test(file))
      throw brokenIndex(
        path,
        `tensor "${name}" is said to be in ${JSON.stringify(file)}, which is not the name of a safetensors file`,
      )
  return new Map(Object.entries(map as Record<string, string>))
}

/** The index of these tensors alone. */
export function indexed(tensors: ReadonlyMap<string, TensorLocation>): WeightIndex {
  const locations = [...tensors.values()]
  return {
    files: [...new Set(locations.map((t) => t.file))],
    tensors,
    bytes: locations.reduce((n, t) => n + t.length, 0),
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (s) => s.isFile(),
    () => false,
  )
}

async function noWeights(folder: string): Promise<unknown> {
  const names = await readdir(folder).catch((error: unknown) => asReadError(error, folder, 'model folder'))
  if (!Array.isArray(names)) return names
  const other = names.filter((n) => /\.(bin|pt|pth|gguf|h5|msgpack|onnx)$/.test(n))
  const partial = names.filter((n) => /\.safetensors/.test(n))
  return new UserError({
    what: 'The model has no weights that can be read.',
    why:
      `${folder} has neither ${single} nor ${index}` +
      (partial.length > 0
        ? `, though it has ${partial.join(', ')}.`
        : other.length > 0
          ? `; it has ${other.join(', ')}.`
          : '.'),
    next:
      other.length > 0
        ? 'Get the model in safetensors format.'
        : 'Choose a folder with a model in Hugging Face layout.',
  })
}

function brokenIndex(path: string, why: string): UserError {
  return new UserError({ what: 'The weights index is damaged.', why: `${path}: ${why}.`, next: 'Get the file again.' })
}

/**
 * Finding links in folders as the published system lays them out (method specification, inference 1.3 and 1.4): an inner
 * link beside its model, outer links in a folder of their own, both possibly one per task.
 */
import { lstat, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../errors'
import { asReadError, codeOf } from '../formats/disk-errors'
import { checkJson } from '../formats/schema-faults'
import { refuseRunFolder } from './checkpoint-folders'
import { fileInside } from './link-files-paths'

export const innerConfigName = 'innerlink_config.json'
export const adapterConfigName = 'adapter_config.json'
export const outerConfigName = 'outerlink_config.json'
export const outerAdapterConfigName = 'outer_adapter_config.json'
export const adapterName = 'adapter.pt'

/** Bytes; these descriptions take a few thousand. */
const longestConfig = 2 ** 20

/** The name of a file that serves one task: `adapter(math).pt`. */
export const taskScoped = (name: string, task: string): string => name.replace(/\.pt$/, `(${task}).pt`)

const innerConfig = z.object({ tasks: z.record(z.string(), z.record(z.string(), z.unknown())).default({}) })
const adapterConfig = z.object({ adapter_type: z.string().optional() })
const adapters = z.array(
  z.object({ legacy_key: z.string(), filename: z.string(), adapter_type: z.string().optional() }),
)
const outerConfig = z.object({
  paradigm: z.string().optional(),
  adapters: adapters.optional(),
  tasks: z.record(z.string(), z.object({ adapters })).optional(),
})

/** The layouts know the tasks math and code; questions with choices use the links of math. */
export function layoutTask<T extends string | undefined>(task: T): T | 'math' {
  return task === 'choice' ? 'math' : task
}

/** The file of a folder's inner link. A UserError says what was looked for, or that a name leads out of the folder. */
export async function findReferenceInner(folder: string, task?: string): Promise<string> {
  const name = layoutTask(task)
  const config = await readConfig(folder, innerConfigName, innerConfig)
  if (config && name !== undefined && Object.hasOwn(config.tasks, name)) {
    const file = config.tasks[name][adapterName] ?? adapterName
    if (typeof file !== 'string')
      throw wrongConfig(join(folder, innerConfigName), `the file of task ${name} is not a text`)
    return fileInside(folder, file)
  }
  const candidates = name === undefined ? [adapterName] : [taskScoped(adapterName, name), adapterName]
  for (const candidate of candidates) if (await exists(join(folder, candidate))) return fileInside(folder, candidate)
  await refuseRunFolder(folder)
  throw new UserError({
    what: 'There is no inner link here.',
    why: `${folder} has neither manifest.json nor ${candidates.join(' nor ')}.`,
    next: 'Choose a link checkpoint, a folder with adapter.pt, a .safetensors or a .pt file.',
  })
}

/** `adapter_type` of the adapter_config.json of a folder; null where there is none. */
export async function readAdapterType(folder: string): Promise<string | null> {
  return (await readConfig(folder, adapterConfigName, adapterConfig))?.adapter_type ?? null
}

/** An outer link with the roles that it joins, where they are known. */
export interface NamedLink {
  readonly key: string
  readonly from?: string
  readonly to?: string
}

export function linkWords({ key, from, to }: NamedLink): string {
  return from === undefined || to === undefined ? key : `${key} (from ${from} to ${to})`
}

/** Outer link key -> file and named type. Without an outerlink_config.json the files `<key>.pt` are taken. */
export async function findReferenceOuter(
  folder: string,
  task: string | undefined,
  links: readonly NamedLink[],
): Promise<Map<string, { file: string; type: string | null }>> {
  const config = await readConfig(folder, outerConfigName, outerConfig)
  const found = new Map<string, { file: string; type: string | null }>()
  if (!config) {
    for (const { key } of links)
      if (await exists(join(folder, `${key}.pt`)))
        found.set(key, { file: await fileInside(folder, `${key}.pt`), type: null })
    if (found.size === 0) await refuseRunFolder(folder)
    if (found.size === 0)
      throw new UserError({
        what: 'There are no outer links here.',
        why: `${folder} has neither manifest.json nor ${outerConfigName} nor ${links.map(({ key }) => `${key}.pt`).join(', ')}.`,
        next: 'Choose a checkpoint of outer links.',
      })
    return found
  }
  const path = join(folder, outerConfigName)
  for (const entry of chooseAdapters(config, path, layoutTask(task))) {
    if (found.has(entry.legacy_key)) throw wrongConfig(path, `it lists ${entry.legacy_key} twice`)
    const link = links.find(({ key }) => key === entry.legacy_key) ?? { key: entry.legacy_key }
    const file = await fileInside(folder, entry.filename, `outer link ${linkWords(link)}`)
    found.set(entry.legacy_key, { file, type: entry.adapter_type ?? null })
  }
  return found
}

/** What the descriptions of an outer-link folder tell of the system that its links are from; null: not told. */
export interface ReferenceOrigin {
  /** Our name of the style. */
  readonly style: string | null
  readonly task: string | null
  readonly rounds: number | null
  /** In the style's order, as they were typed; empty where they are not told. */
  readonly models: readonly string[]
}

const shapes: ReadonlyMap<unknown, string> = new Map([
  ['chain', 'sequential'],
  ['hie', 'mixture'],
  ['distill', 'distillation'],
  ['deliberation', 'deliberation'],
])

/** Reads `ReferenceOrigin`; `agents`: how a style's agents are called in outer_adapter_config.json. */
export async function readReferenceOrigin(
  folder: string,
  agents: Readonly<Record<string, readonly string[]>>,
): Promise<ReferenceOrigin> {
  const { paradigm } = (await readConfig(folder, outerConfigName, outerConfig)) ?? {}
  const facts = (await readConfig(folder, outerAdapterConfigName, z.record(z.string(), z.unknown()))) ?? {}
  const style = paradigm ?? shapes.get(facts.mas_shape) ?? null
  const models = (style !== null && Object.hasOwn(agents, style) ? agents[style] : []).map(
    (agent) => facts[`${agent}_model_name_or_path`],
  )
  const { mas_task: task, num_recursive_rounds: rounds } = facts
  return {
    style,
    task: typeof task === 'string' ? task : null,
    rounds: Number.isInteger(rounds) ? (rounds as number) : null,
    models: models.every((m) => typeof m === 'string') ? (models as string[]) : [],
  }
}

/** Types by key from outer_adapter_config.json (`<key>_type`); empty where there is none. */
export async function readOuterTypes(folder: string): Promise<Map<string, string>> {
  const config = await readConfig(folder, outerAdapterConfigName, z.record(z.string(), z.unknown()))
  const types = new Map<string, string>()
  for (const [name, value] of Object.entries(config ?? {}))
    if (name.endsWith('_type') && typeof value === 'string') types.set(name.slice(0, -'_type'.length), value)
  return types
}

function chooseAdapters(
  config: z.infer<typeof outerConfig>,
  path: string,
  task: string | undefined,
): z.infer<typeof adapters> {
  if (!config.tasks) {
    if (!config.adapters?.length) throw wrongConfig(path, 'it lists no adapters')
    return config.adapters
  }
  const known = Object.keys(config.tasks)
  if (task === undefined)
    throw wrongConfig(path, `it has links for the tasks ${known.join(', ')}, and no task was chosen`)
  if (!Object.hasOwn(config.tasks, task))
    throw wrongConfig(path, `it has links for the tasks ${known.join(', ')}, not for ${task}`)
  return config.tasks[task].adapters
}

async function readConfig<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T | null> {
  if (!(await exists(join(folder, name)))) return null
  const path = await fileInside(folder, name)
  const { size } = await stat(path)
  if (size > longestConfig) throw wrongConfig(path, `it has ${size} bytes, far too many for a description of links`)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw asReadError(error, path, 'description of the links')
  })
  const parsed = checkJson(schema, text)
  if (parsed.ok) return parsed.data
  throw wrongConfig(path, parsed.why)
}

/** Also where a symbolic link leads nowhere: that is a fault to tell, not a file that is not there. */
async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return false
      throw asReadError(error, path, 'link folder')
    },
  )
}

function wrongConfig(path: string, why: string): UserError {
  return new UserError({
    what: 'The description of the links cannot be used.',
    why: `${path}: ${why}.`,
    next: 'Correct the file or choose another folder.',
  })
}

/**
 * Writing links in the published system's layouts, so that it can use what was trained here (method specification,
 * training 4.7 and 12). Files are added to the folder one by one, each whole; nothing else in it is touched.
 */
import { join } from 'node:path'
import { writeFileWhole } from '../formats/atomic-files'
import { type FloatStorage, narrowExactly } from '../formats/half-precision'
import { writeTorchTensors } from '../formats/torch-writer'
import { type InnerLinkRecord, type LinkRecord, type OuterLinkRecord, recordTensors } from './link-files-record'
import {
  adapterConfigName,
  adapterName,
  innerConfigName,
  outerAdapterConfigName,
  outerConfigName,
  taskScoped,
} from './link-files-reference'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }
export type TrainArgs = Readonly<Record<string, Json>>

export type ExportedInner = Omit<InnerLinkRecord, 'kind'> & Stored
export type ExportedOuter = Omit<OuterLinkRecord, 'kind'> & Stored

interface Stored {
  /** Element type of the file; default float32. One that does not hold every value exactly gives way to float32. */
  readonly storage?: FloatStorage
}

export interface ReferenceInnerOptions {
  /** The run's settings under the reference's flag names, for train_args.json. */
  readonly trainArgs?: TrainArgs
}

/** Writes adapter.pt, adapter_config.json and, when given, train_args.json. */
export async function exportReferenceInner(
  folder: string,
  link: ExportedInner,
  { trainArgs }: ReferenceInnerOptions = {},
): Promise<void> {
  await writeLink(join(folder, adapterName), { ...link, kind: 'inner' })
  await writeSorted(folder, adapterConfigName, { adapter_type: link.type })
  if (trainArgs) await writeSorted(folder, 'train_args.json', trainArgs)
}

/** Inner links of one model and type for several tasks: `adapter(TASK).pt` each, innerlink_config.json, adapter_config.json. */
export async function exportReferenceInnerByTask(
  folder: string,
  links: ReadonlyMap<string, ExportedInner>,
): Promise<void> {
  const [type, other] = new Set([...links.values()].map((l) => l.type))
  if (other !== undefined) throw new Error(`inner links of the types ${type} and ${other} in one folder`)
  for (const [task, link] of links)
    await writeLink(join(folder, taskScoped(adapterName, task)), { ...link, kind: 'inner' })
  await writeSorted(folder, adapterConfigName, { adapter_type: type })
  await writeSorted(folder, innerConfigName, {
    format_version: 1,
    tasks: Object.fromEntries([...links.keys()].map((t) => [t, { [adapterName]: taskScoped(adapterName, t) }])),
  })
}

async function writeLink(path: string, link: LinkRecord & Stored): Promise<void> {
  const tensors = recordTensors(link)
  const { storage = 'F32' } = link
  const fits = storage === 'F32' || tensors.every(([, { data }]) => narrowExactly(data, storage))
  await writeTorchTensors(path, tensors, fits ? storage : 'F32')
}

/** What differs between the styles in these files. */
const styles = {
  sequential: { paradigm: 'sequential', shape: 'chain', agents: ['agent1', 'agent2', 'agent3'], thinking: true },
  mixture: { paradigm: 'mixture', shape: 'hie', agents: ['agent1', 'agent2', 'agent3', 'agent4'], thinking: false },
  deliberation: {
    paradigm: 'deliberation',
    shape: 'deliberation',
    agents: ['reflector', 'toolcaller'],
    thinking: false,
  },
  distillation: { paradigm: 'distillation', shape: 'distill', agents: ['expert', 'learner'], thinking: false },
} as const

export type ReferenceStyle = keyof typeof styles
export const referenceStyles = Object.keys(styles) as ReferenceStyle[]

/** How a style's agents are called in outer_adapter_config.json, in the style's order. */
export const referenceAgents: Readonly<Record<ReferenceStyle, readonly string[]>> = {
  sequential: styles.sequential.agents,
  mixture: styles.mixture.agents,
  deliberation: styles.deliberation.agents,
  distillation: styles.distillation.agents,
}

export interface ReferenceOuterOptions {
  readonly style: ReferenceStyle
  /** In the style's order: the model and the inner link as the other program shall find them. */
  readonly agents: readonly { readonly model: string; readonly innerLink: string }[]
  readonly task: 'math' | 'code' | 'choice'
  readonly rounds: number
  readonly superviseFinalOnly: boolean
  readonly earlierRoundsWeight: number
  readonly enableThinking: boolean
  readonly trainArgs?: TrainArgs
}

/** Writes `<key>.pt` for every link, outer_adapter_config.json, outerlink_config.json and, when given, train_args.json. */
export async function exportReferenceOuter(
  folder: string,
  links: readonly ExportedOuter[],
  options: ReferenceOuterOptions,
): Promise<void> {
  const written = await writeOuter(folder, links, (file) => file)
  await writeSorted(folder, outerAdapterConfigName, outerAdapterConfig(links, options))
  if (options.trainArgs) await writeSorted(folder, 'train_args.json', options.trainArgs)
  await writeSorted(folder, outerConfigName, { ...outerHead(options.style), adapters: written })
}

/**
 * Outer links of one team for several tasks: `<key>(TASK).pt` each, outerlink_config.json with `tasks`. outer_adapter_config.json has
 * no place for tasks: it describes the first.
 */
export async function exportReferenceOuterByTask(
  folder: string,
  sets: ReadonlyMap<string, readonly ExportedOuter[]>,
  options: ReferenceOuterOptions,
): Promise<void> {
  const tasks: Record<string, { adapters: Json }> = {}
  for (const [task, links] of sets)
    tasks[task] = { adapters: await writeOuter(folder, links, (file) => taskScoped(file, task)) }
  const [first] = sets.values()
  await writeSorted(folder, outerAdapterConfigName, outerAdapterConfig(first, options))
  await writeSorted(folder, outerConfigName, { ...outerHead(options.style), tasks })
}

/** The links' files, and their entries for outerlink_config.json. */
async function writeOuter(
  folder: string,
  links: readonly ExportedOuter[],
  named: (file: string) => string,
): Promise<Record<string, Json>[]> {
  const entries = []
  for (const link of links) {
    const { key, type, inWidth, outWidth } = link
    const filename = named(`${key}.pt`)
    await writeLink(join(folder, filename), { ...link, kind: 'outer' })
    entries.push({ legacy_key: key, filename, adapter_type: type, in_dim: inWidth, out_dim: outWidth })
  }
  return entries
}

function outerHead(style: ReferenceStyle): Record<string, Json> {
  return { format_version: 1, paradigm: styles[style].paradigm, legacy_config_filename: outerAdapterConfigName }
}

function outerAdapterConfig(links: readonly ExportedOuter[], options: ReferenceOuterOptions): Record<string, Json> {
  const { shape, agents, thinking } = styles[options.style]
  if (options.agents.length !== agents.length) throw new Error(`style ${options.style} has ${agents.length} agents`)
  const config: Record<string, Json> = {
    mas_shape: shape,
    // The sequential layout knows no choice task; its math prompts serve both.
    mas_task: options.style === 'sequential' && options.task === 'choice' ? 'math' : options.task,
    num_recursive_rounds: options.rounds,
    supervise_final_only: options.superviseFinalOnly ? 1 : 0,
    non_last_loss_weight: options.earlierRoundsWeight,
  }
  if (thinking) config.enable_thinking = options.enableThinking ? 1 : 0
  for (const [i, agent] of agents.entries()) {
    config[`${agent}_model_name_or_path`] = options.agents[i].model
    config[`${agent}_inner_aligner_path`] = options.agents[i].innerLink
  }
  for (const { key, type, inWidth, outWidth } of links) {
    config[`${key}_type`] = type
    config[`${key}_in_dim`] = inWidth
    config[`${key}_out_dim`] = outWidth
  }
  return config
}

/** JSON as the reference writes it: indent 2, keys sorted at every depth. */
async function writeSorted(folder: string, name: string, value: Json): Promise<void> {
  await writeFileWhole(join(folder, name), JSON.stringify(sortKeys(value), null, 2))
}

function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, entry]) => [name, sortKeys(entry as Json)]),
  )
}

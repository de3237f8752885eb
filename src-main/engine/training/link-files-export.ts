/**
 * Writing links in the published system's layouts, so that it can use what was trained here (method specification,
 * training 4.7 and 12). Files are added to the folder one by one, each whole; nothing else in it is touched.
 */
import { join } from 'node:path'
import { writeFileWhole } from '../formats/atomic-files'
import { writeTorchTensors } from '../formats/torch-writer'
import { type InnerLinkRecord, type OuterLinkRecord, recordTensors } from './link-files-record'
import { adapterConfigName, adapterName, outerAdapterConfigName, outerConfigName } from './link-files-reference'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

export interface ReferenceInnerOptions {
  /** The run's settings under the reference's flag names, for train_args.json. */
  readonly trainArgs?: Readonly<Record<string, Json>>
}

/** Writes adapter.pt, adapter_config.json and, when given, train_args.json. */
export async function exportReferenceInner(
  folder: string,
  link: Omit<InnerLinkRecord, 'kind'>,
  { trainArgs }: ReferenceInnerOptions = {},
): Promise<void> {
  await writeTorchTensors(join(folder, adapterName), recordTensors({ ...link, kind: 'inner' }))
  await writeSorted(folder, adapterConfigName, { adapter_type: link.type })
  if (trainArgs) await writeSorted(folder, 'train_args.json', trainArgs)
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

export interface ReferenceOuterOptions {
  readonly style: ReferenceStyle
  /** In the style's order: the model and the inner link as the other program shall find them. */
  readonly agents: readonly { readonly model: string; readonly innerLink: string }[]
  readonly task: 'math' | 'code' | 'choice'
  readonly rounds: number
  readonly superviseFinalOnly: boolean
  readonly earlierRoundsWeight: number
  readonly enableThinking: boolean
  readonly trainArgs?: Readonly<Record<string, Json>>
}

/** Writes `<key>.pt` for every link, outer_adapter_config.json, outerlink_config.json and, when given, train_args.json. */
export async function exportReferenceOuter(
  folder: string,
  links: readonly Omit<OuterLinkRecord, 'kind'>[],
  options: ReferenceOuterOptions,
): Promise<void> {
  const style = styles[options.style]
  if (options.agents.length !== style.agents.length)
    throw new Error(`style ${options.style} has ${style.agents.length} agents`)
  for (const link of links)
    await writeTorchTensors(join(folder, `${link.key}.pt`), recordTensors({ ...link, kind: 'outer' }))
  await writeSorted(folder, outerAdapterConfigName, outerAdapterConfig(links, options))
  if (options.trainArgs) await writeSorted(folder, 'train_args.json', options.trainArgs)
  await writeSorted(folder, outerConfigName, {
    format_version: 1,
    paradigm: style.paradigm,
    legacy_config_filename: outerAdapterConfigName,
    adapters: links.map(({ key, type, inWidth, outWidth }) => ({
      legacy_key: key,
      filename: `${key}.pt`,
      adapter_type: type,
      in_dim: inWidth,
      out_dim: outWidth,
    })),
  })
}

function outerAdapterConfig(
  links: readonly Omit<OuterLinkRecord, 'kind'>[],
  options: ReferenceOuterOptions,
): Record<string, Json> {
  const { shape, agents, thinking } = styles[options.style]
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

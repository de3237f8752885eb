/** The run that a data set is looked at for: style, what for, model, and the columns of its fields. */
import type { FieldMapping, OpenedDataset, RunUse, StyleView } from '../../src-main/bridge/contract'
import { usableMapping } from '../lib/field-columns'
import { runUses } from '../lib/run-uses'
import { ask } from './bridge'
import { DatasetMemory, isRecordOf } from './dataset-memory'
import { modelsManager } from './models-manager.svelte'
import { projectManager } from './project-manager.svelte'
import { Resource } from './resource.svelte'
import { isText, settingsManager } from './settings-manager.svelte'

export interface RunChoice {
  readonly style: string
  readonly use: RunUse
  readonly model: string
  readonly role: string
  readonly task: 'math' | 'code' | 'choice'
  readonly thinking: boolean
  readonly latentSteps: number
  readonly rounds: number
  /** Whose prompts: a project's name, '' the built-in ones; null: those of the project that the set belongs to. */
  readonly pack: string | null
  /** Most positions; null: what such a run takes by itself. */
  readonly maxLength: number | null
}

const key = 'datasets/run'
const mappings = new DatasetMemory<FieldMapping>('datasets/fields', (value) => isRecordOf(value, isText))
const start: RunChoice = {
  style: 'sequential',
  use: 'outer',
  model: '',
  role: '',
  task: 'math',
  thinking: false,
  latentSteps: 32,
  rounds: 3,
  pack: null,
  maxLength: null,
}

class RunAsked {
  #styles = new Resource<readonly StyleView[]>()
  #choice = $state.raw<RunChoice>(start)
  /** Those that were chosen since the start. */
  #mappings = $state.raw<Readonly<Record<string, FieldMapping>>>({})
  #recalled = false

  get styles(): readonly StyleView[] | undefined {
    return this.#styles.value
  }

  get error() {
    return this.#styles.error
  }

  get choice(): RunChoice {
    return this.#choice
  }

  get style(): StyleView | undefined {
    return this.styles?.find(({ name }) => name === this.#choice.style) ?? this.styles?.[0]
  }

  /** The role that is chosen, else the style's first. */
  get role(): string {
    const agents = this.style?.agents ?? []
    return (agents.find(({ role }) => role === this.#choice.role) ?? agents[0])?.role ?? ''
  }

  get models() {
    return (modelsManager.list ?? []).filter((model) => model.state === 'ready')
  }

  /** The model that is chosen; without a choice one that is named after the role, else the first. */
  get model(): string | null {
    const { models, role } = this
    const found =
      models.find(({ id }) => id === this.#choice.model) ?? models.find(({ id }) => id.endsWith(role)) ?? models[0]
    return found?.id ?? null
  }

  /** Asks for the styles, once, and takes up the last choice. */
  start(): void {
    if (!this.#recalled) this.#choice = { ...start, ...settingsManager.recall(key, {}, isChoice) }
    this.#recalled = true
    if (!this.styles) void this.#styles.load(async () => (await ask('styles/list', {})).styles)
  }

  choose(change: Partial<RunChoice>): void {
    this.#choice = { ...this.#choice, ...change }
    settingsManager.remember(key, this.#choice)
  }

  mapping(opened: OpenedDataset): FieldMapping {
    return usableMapping(this.#mappings[opened.id] ?? mappings.recall(opened.id) ?? {}, opened.columns)
  }

  setMapping(opened: OpenedDataset, mapping: FieldMapping): void {
    this.#mappings = { ...this.#mappings, [opened.id]: mapping }
    mappings.remember(opened.id, Object.keys(mapping).length === 0 ? undefined : mapping)
  }

  /** Projects with prompts of their own. */
  get packs() {
    return projectManager.projects.filter(({ demo }) => demo)
  }

  /** Whose prompts the set is looked at with; '': the built-in ones. */
  packOf(opened: OpenedDataset): string {
    const { pack } = this.#choice
    const wanted = pack ?? opened.id.split('/')[0]
    return this.packs.some(({ name }) => name === wanted) ? wanted : ''
  }

  /** What requests about prompts carry. */
  params(opened: OpenedDataset) {
    const { use, task, thinking, latentSteps, rounds, maxLength } = this.#choice
    return {
      handle: opened.handle,
      style: this.style?.name ?? this.#choice.style,
      mapping: { ...this.mapping(opened) },
      use,
      task,
      enableThinking: thinking,
      latentSteps,
      rounds,
      maxLength,
      pack: this.packOf(opened) || null,
    }
  }
}

export const runAsked = new RunAsked()

function isChoice(value: unknown): value is Partial<RunChoice> {
  if (typeof value !== 'object' || value === null) return false
  const { style, use, model, role, task, thinking, latentSteps, rounds, pack, maxLength } = value as Record<
    string,
    unknown
  >
  return (
    [style, model, role].every((text) => typeof text === 'string') &&
    runUses.some((known) => known.value === use) &&
    (task === 'math' || task === 'code' || task === 'choice') &&
    typeof thinking === 'boolean' &&
    [latentSteps, rounds].every((count) => Number.isInteger(count)) &&
    (pack === null || typeof pack === 'string') &&
    (maxLength === null || Number.isInteger(maxLength))
  )
}

/** New systems: the wizard's choices checked against the library, and made into a project. */
import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { DraftReport, MappingReport, StepMemory, SystemDraft } from '../bridge/contract'
import { projectName } from '../bridge/views'
import { UserError } from '../engine/errors'
import { freeBytes } from '../engine/formats/disk-errors'
import { makeFolder } from '../engine/formats/make-folder'
import { modelMemory } from '../engine/memory/model-memory'
import { modelPaths } from '../engine/spec-paths'
import { styleByName } from '../engine/styles/registry'
import type { DatasetDesk } from './dataset-desk'
import { checkDraft, type DraftFacts } from './draft-check'
import { type DataChoice, type DraftPaths, draftPipeline, isComplete } from './draft-pipeline'
import { exists } from './files'
import { modelsFit } from './memory-fit'
import type { ModelLibrary } from './model-library'
import type { Pipeline } from './pipeline'
import type { Places } from './places'
import type { Project, ProjectStore } from './project-store'

export interface MakerOptions {
  readonly places: Places
  readonly projects: ProjectStore
  readonly models: ModelLibrary
  readonly datasets: DatasetDesk
}

/** What a set's rows come to is looked at once for each state of the file. */
const mostReports = 50

export class SystemMaker {
  private readonly reports = new Map<string, Promise<MappingReport>>()

  constructor(private readonly options: MakerOptions) {}

  async check(draft: SystemDraft): Promise<DraftReport> {
    const style = styleByName(draft.style)
    // absolute paths: there is no project yet that they could count from
    const pipeline = isComplete(draft, style) ? await this.pipelineOf(draft, (file) => file).catch(noneWhereGone) : null
    return checkDraft(draft, style, pipeline, this.factsOf(draft))
  }

  /** Throws UserError where the check has an error, with the first of them. */
  async create(draft: SystemDraft): Promise<Project> {
    const { problems } = await this.check(draft)
    const wrong = problems.find(({ level }) => level === 'error')
    if (wrong) throw new UserError(wrong.error)
    const { places, projects } = this.options
    const name = await freeProjectName(draft.title, async (wish) => exists(places.project(wish)))
    const assets = places.assets(name)
    // relative, so that the workspace may move
    const pipeline = await this.pipelineOf(draft, (file) => path.relative(assets, file) || '.')
    makeFolder(assets)
    return projects.create(name, {
      version: 1,
      title: draft.title,
      description: pipeline.description,
      created: Date.now(),
      demo: false,
      pipeline,
      draft,
    })
  }

  /** Throws UserError where a model or a data set is not there. */
  private async pipelineOf(draft: SystemDraft, pathOf: (file: string) => string): Promise<Pipeline> {
    const style = styleByName(draft.style)
    if (!isComplete(draft, style)) throw new Error('the draft is not complete')
    const models = new Map<string, string>()
    for (const id of Object.values(draft.models)) models.set(id, (await this.options.models.get(id)).folder)
    const files = new Map<DataChoice, string>()
    for (const choice of [draft.data.train, draft.data.validation, draft.data.evaluation])
      if (choice) files.set(choice, (await this.options.datasets.library.file(choice.dataset, choice.file)).path)
    const pack = draft.pack === null ? undefined : await this.options.datasets.packOf(draft.pack)
    const paths: DraftPaths = {
      model: (id) => pathOf(models.get(id)!),
      data: (choice) => pathOf(files.get(choice)!),
      pack: pack === undefined || pack === null ? undefined : pathOf(pack),
    }
    return draftPipeline(draft, style, paths)
  }

  private factsOf(draft: SystemDraft): DraftFacts {
    // the library is read, and models are estimated, once for all steps
    const listed = this.options.models.list()
    listed.catch(() => undefined)
    const estimates = new Map<string, Promise<StepMemory>>()
    return {
      model: async (id) => (await listed).find((model) => model.id === id),
      rows: (choice, use) => this.rowsOf(draft, choice, use),
      memory: (spec) => {
        const folders = [...new Set(modelPaths(spec).map(({ path: folder }) => folder))]
        const key = JSON.stringify(folders)
        const found = estimates.get(key) ?? modelsAlone(folders)
        estimates.set(key, found)
        return found
      },
      taken: async (title) => {
        const { projects } = await this.options.projects.list()
        return projects.some((one) => one.title.trim().toLowerCase() === title.trim().toLowerCase())
      },
      freeDisk: () => freeBytes(this.options.places.projects),
    }
  }

  private async rowsOf(
    draft: SystemDraft,
    choice: DataChoice,
    use: 'inner' | 'outer' | 'evaluate',
  ): Promise<MappingReport> {
    const { path: file } = await this.options.datasets.library.file(choice.dataset, choice.file)
    const { size, mtimeMs } = await stat(file)
    const { style, pack, training } = draft
    const key = JSON.stringify([
      file,
      size,
      mtimeMs,
      choice.field,
      choice.mapping,
      style,
      pack,
      training.task,
      training.rounds,
      use,
    ])
    const known = this.reports.get(key)
    if (known) return known
    const found = this.look(draft, choice, use)
    this.reports.set(key, found)
    found.catch(() => this.reports.delete(key))
    for (const oldest of this.reports.keys()) {
      if (this.reports.size <= mostReports) break
      this.reports.delete(oldest)
    }
    return found
  }

  private async look(
    { style, pack, training }: SystemDraft,
    choice: DataChoice,
    use: 'inner' | 'outer' | 'evaluate',
  ): Promise<MappingReport> {
    const { datasets } = this.options
    const { dataset: id, file, field, mapping } = choice
    const { handle } = await datasets.open({ id, file, field, encoding: null, ticket: randomUUID() })
    try {
      return await datasets.check({
        ...{
          handle,
          style,
          mapping,
          use,
          pack,
          task: training.task,
          latentSteps: training.latentSteps,
          rounds: training.rounds,
        },
        ...{ model: null, role: null, enableThinking: false, maxLength: null, ticket: randomUUID() },
      })
    } finally {
      await datasets.close(handle)
    }
  }
}

/** What batches and links take is estimated when the job starts. */
async function modelsAlone(folders: readonly string[]): Promise<StepMemory> {
  return modelsFit(await Promise.all(folders.map((folder) => modelMemory(folder))))
}

/** What is gone is said by the check, choice by choice. */
function noneWhereGone(error: unknown): null {
  if (error instanceof UserError) return null
  throw error
}

/** A folder's name for a project of this title, numbered where it is taken. */
async function freeProjectName(title: string, taken: (name: string) => Promise<boolean>): Promise<string> {
  const plain = title
    .normalize('NFKD')
    .replace(/[^\w .-]+/g, '')
    .replace(/\s+/g, ' ')
    .replace(/^[^A-Za-z0-9]+|[ .]+$/g, '')
    .slice(0, 60)
    .trim()
  const start = projectName.safeParse(plain).success ? plain : 'System'
  for (let n = 1; ; n++) {
    const name = n === 1 ? start : `${start} ${n}`
    if (!(await taken(name))) return name
  }
}

/**
 * The app without its window: projects, runs, results and the queue behind one object, and every event that they give rise to.
 * Knows nothing of Electron, so that tests drive all of it under plain Node.
 */
import path from 'node:path'
import type {
  CheckpointView,
  ComparisonTable,
  DatasetEntry,
  LogSlice,
  MetricHistory,
  PipelineView,
  ProjectView,
  RunDetail,
  RunSummary,
  SystemDraft,
} from './bridge/contract'
import { RunPublisher, type Send } from './bridge/publish'
import type { ToData } from './data-process/messages'
import { prepareJobData } from './datasets/job-data'
import { UserError } from './engine/errors'
import { removeFolderWhole } from './engine/formats/atomic-files'
import { makeFolder } from './engine/formats/make-folder'
import type { JobEvent } from './engine/job-events'
import type { JobSpec } from './engine/job-spec'
import type { Spawn } from './jobs/child'
import { JobQueue, type Prepared } from './jobs/job-queue'
import type { SpawnEngine } from './jobs/engine-messages'
import { checkSpec } from './jobs/read-spec'
import { linkPaths, modelPaths } from './engine/spec-paths'
import type { Secrets } from './secrets/secrets'
import { checkpointsOf } from './workspace/checkpoints'
import { DatasetDesk } from './workspace/dataset-desk'
import { DownloadQueue } from './workspace/download-queue'
import { HubDesk } from './workspace/hub-desk'
import { ModelDesk } from './workspace/model-desk'
import { demoName, openDemo } from './workspace/demo'
import { exists, folderBytes } from './workspace/files'
import { exportLinks, exportName } from './workspace/link-exchange'
import { logSlice } from './workspace/log-slice'
import { metricHistory } from './workspace/metric-history'
import { resolveStep, type PipelineStep, type StepOutcome } from './workspace/pipeline'
import {
  doneRunOf,
  isGoing,
  isStepDone,
  nextStep,
  pipelineView,
  runOfStep,
  stepStates,
} from './workspace/pipeline-view'
import { Places } from './workspace/places'
import { ProjectStore, summaryOf, type Project } from './workspace/project-store'
import { comparisonTable } from './workspace/results'
import { metricPointOf, validationPointOf } from './workspace/run-journal'
import { stateOf } from './workspace/run-record'
import { RunStore, type Run, type RunKey } from './workspace/run-store'
import { SystemMaker } from './workspace/system-maker'
import { isResumable, runDetail, runSummary } from './workspace/run-views'

export interface StudioOptions {
  /** The workspace folder; made when it is not there. */
  readonly workspace: string
  /** native-assets/demo, and which of its pipelines. */
  readonly demo: { readonly folder: string; readonly pipeline: string }
  readonly spawn: SpawnEngine
  readonly secrets: Secrets
  /** The address of the hub by the settings; undefined: the usual one. */
  readonly hubEndpoint: () => string | undefined
  /** Starts the process that reads data sets. */
  readonly spawnData: Spawn<ToData>
  readonly send: Send
  /** Nothing runs and nothing waits any more. */
  readonly onIdle: () => void
  readonly onProblem: (error: unknown) => void
  /** What the process that reads data sets wrote on its outputs. */
  readonly onOutput?: (text: string) => void
  /** Milliseconds between asking a run to stop and ending its process. */
  readonly grace?: number
  /** Milliseconds between looks at runs whose engines belong to an app that is gone. */
  readonly lookEvery?: number
}

export type StepChoice = { kind: 'all' } | { kind: 'next' } | { kind: 'one'; step: string }

export class Studio {
  readonly places: Places
  readonly projects: ProjectStore
  readonly runs: RunStore
  readonly queue: JobQueue
  readonly datasets: DatasetDesk
  readonly models: ModelDesk
  readonly systems: SystemMaker
  readonly hub: HubDesk
  readonly downloads: DownloadQueue
  private readonly publisher: RunPublisher
  /** Work on a project that must not overlap: two presses of a button are one after the other. */
  private readonly turns = new Map<string, Promise<unknown>>()
  private looking: NodeJS.Timeout | undefined

  constructor(private readonly options: StudioOptions) {
    this.places = new Places(options.workspace)
    this.projects = new ProjectStore(this.places)
    this.runs = new RunStore(this.places, options.onProblem, (run) => this.stateChanged(run))
    this.publisher = new RunPublisher(options.send)
    const { send, onProblem } = options
    this.models = new ModelDesk({ places: this.places, projects: this.projects, send, onProblem })
    this.datasets = new DatasetDesk({
      places: this.places,
      projects: this.projects,
      spawn: options.spawnData,
      send: options.send,
      modelFolder: (id) => this.models.library.folder(id),
      onOutput: (text) => options.onOutput?.(text),
    })
    this.systems = new SystemMaker({
      places: this.places,
      projects: this.projects,
      models: this.models.library,
      datasets: this.datasets,
    })
    this.hub = new HubDesk({
      places: this.places,
      secrets: options.secrets,
      endpoint: options.hubEndpoint,
      entryOf: async (kind, endpoint, name) => {
        const all = kind === 'model' ? await this.models.library.list() : await this.datasets.library.list()
        const holds = ({ state, source }: (typeof all)[number]): boolean =>
          state !== 'incomplete' && source.kind === 'hub' && source.endpoint === endpoint && source.name === name
        return all.find(holds)?.id ?? null
      },
    })
    this.downloads = new DownloadQueue({
      places: this.places,
      hub: () => this.hub.hub(),
      send: options.send,
      onProblem: options.onProblem,
    })
    this.queue = new JobQueue({
      store: this.runs,
      spawn: options.spawn,
      prepare: (run) => this.prepare(run),
      grace: options.grace,
      listener: {
        state: (run) => this.stateChanged(run),
        event: (run, event) => this.eventCame(run, event),
        log: ({ project, id }, from, text) => this.publisher.log(project, id, from, text),
        idle: options.onIdle,
        problem: options.onProblem,
      },
    })
  }

  /** Makes the workspace and puts right what the last session left. Throws UserError where the folder cannot be used. */
  async start(): Promise<void> {
    try {
      makeFolder(this.places.projects)
    } catch (error) {
      throw new UserError(
        {
          what: 'The workspace cannot be used.',
          why: `${(error as Error).message}.`,
          next: 'Choose another folder in the settings.',
        },
        { cause: error },
      )
    }
    await this.downloads.start()
    const { projects } = await this.projects.list()
    for (const { name } of projects) await this.runs.releaseQueued(name)
    const look = (): void => void this.runs.settleForeign().catch(this.options.onProblem)
    this.looking = setInterval(look, this.options.lookEvery ?? 3000)
    this.looking.unref()
  }

  /** Stops everything for the end of the app. */
  async shutdown(grace: number): Promise<void> {
    clearInterval(this.looking)
    this.datasets.stop()
    await Promise.all([this.queue.shutdown(grace), this.downloads.shutdown()])
  }

  openDemo(): Promise<ProjectView> {
    return this.inTurn(demoName, () => this.makeDemo())
  }

  private async makeDemo(): Promise<ProjectView> {
    const { folder, pipeline } = this.options.demo
    const known = await this.projects.list()
    const { places, projects } = this
    const project = await openDemo({ places, projects, source: folder, pipelineFile: pipeline, now: Date.now() })
    if (!known.projects.some(({ name }) => name === project.name)) this.options.send('projects/changed', {})
    return this.projectView(project)
  }

  /** A project of the wizard's choices. Throws UserError where they will not do. */
  createSystem(draft: SystemDraft): Promise<ProjectView> {
    return this.inTurn('new system', async () => {
      const project = await this.systems.create(draft)
      this.libraryUsed()
      this.options.send('projects/changed', {})
      return this.projectView(project)
    })
  }

  /** With its runs and results; bytes freed. Throws UserError while one of them goes on. */
  deleteProject(name: string): Promise<number> {
    return this.inTurn(name, async () => {
      const project = await this.projects.get(name)
      const refuse = (why: string, next: string) =>
        new UserError({ what: `The project "${project.title}" cannot be deleted.`, why, next })
      if (project.demo) throw refuse('It comes with the app.', 'Leave it; it takes little space.')
      const runs = await this.runs.list(name)
      const going = runs.find(({ record }) => isGoing(stateOf(record)))
      if (going) throw refuse(`Its run "${going.record.title}" is ${stateOf(going.record)}.`, 'Stop it first.')
      const folder = this.places.project(name)
      const bytes = await folderBytes(folder)
      await removeFolderWhole(folder)
      this.runs.forget(name)
      for (const run of runs) this.publisher.forget(name, run.id)
      this.libraryUsed()
      this.options.send('projects/changed', {})
      return bytes
    })
  }

  /** Who uses what has changed. */
  private libraryUsed(): void {
    this.options.send('models/changed', {})
    this.options.send('datasets/changed', {})
  }

  async openProject(name: string): Promise<ProjectView> {
    return this.projectView(await this.projects.get(name))
  }

  async pipeline(name: string): Promise<PipelineView> {
    return this.pipelineOf(await this.projects.get(name))
  }

  /** Queues what the choice names: fresh runs, or what is left of stopped ones. Throws UserError. */
  startSteps(name: string, choice: StepChoice): Promise<PipelineView> {
    return this.inTurn(name, () => this.queueSteps(name, choice))
  }

  private async queueSteps(name: string, choice: StepChoice): Promise<PipelineView> {
    const project = await this.projects.get(name)
    const runs = await this.runs.list(name)
    for (const step of chooseSteps(project, runs, choice)) {
      const stopped = runOfStep(runs, step.id)
      if (stopped && isResumable(stopped)) await this.queue.resume(stopped)
      else await this.queueRun(project, step)
    }
    return this.pipelineOf(project)
  }

  /** Asks everything to stop; asked again while it stops, ends it at once. */
  async stopPipeline(name: string): Promise<PipelineView> {
    const project = await this.projects.get(name)
    const going = (await this.runs.list(name)).filter((run) => isGoing(stateOf(run.record)))
    const fresh = going.filter((run) => stateOf(run.record) !== 'stopping')
    await this.queue.cancelAll(fresh.length > 0 ? fresh : going)
    return this.pipelineOf(project)
  }

  async listRuns(name: string): Promise<RunSummary[]> {
    await this.projects.get(name)
    return (await this.runs.list(name)).map((run) => this.summary(run))
  }

  async runDetail(key: RunKey): Promise<RunDetail> {
    const run = await this.runs.get(key)
    return runDetail(run, Date.now(), this.queue.position(run))
  }

  /** A new run of a step whatever came of earlier ones. Throws UserError where what it requires is not done. */
  startRun(name: string, stepId: string): Promise<RunSummary> {
    return this.inTurn(name, async () => {
      const project = await this.projects.get(name)
      const runs = await this.runs.list(name)
      const [step] = chooseSteps(project, runs, { kind: 'one', step: stepId })
      return this.summary(await this.queueRun(project, step))
    })
  }

  async cancelRun(key: RunKey): Promise<RunSummary> {
    return this.summary(await this.queue.cancel(key))
  }

  resumeRun(key: RunKey): Promise<RunSummary> {
    return this.inTurn(key.project, async () => this.summary(await this.queue.resume(key)))
  }

  /** Runs that were given links of this one, newest first. */
  async dependents(key: RunKey): Promise<{ run: string; title: string; state: RunSummary['state'] }[]> {
    const { folder } = await this.runs.get(key)
    return (await this.runs.list(key.project))
      .filter(({ id, record }) => id !== key.id && linkPaths(record.spec).some((file) => isInside(folder, file)))
      .map(({ id, record }) => ({ run: id, title: record.title, state: stateOf(record) }))
  }

  /** Bytes freed. Throws UserError while the run goes on. */
  async deleteRun(key: RunKey): Promise<number> {
    const run = await this.runs.get(key)
    if (isGoing(stateOf(run.record)))
      throw new UserError({
        what: 'The run cannot be deleted.',
        why: `It is ${stateOf(run.record)}.`,
        next: 'Stop it first.',
      })
    const bytes = await this.runs.remove(run)
    const { project, id } = run
    this.publisher.forget(project, id)
    this.options.send('run/removed', { project, run: id })
    if (run.record.kind === 'evaluate') this.options.send('results/changed', { project })
    this.publishPipeline(project)
    return bytes
  }

  async runLog(key: RunKey, from: number | null, limit: number): Promise<LogSlice> {
    return logSlice(path.join((await this.runs.get(key)).folder, 'log.txt'), from, limit)
  }

  async runMetrics(key: RunKey, points: number): Promise<MetricHistory> {
    return metricHistory((await this.runs.get(key)).folder, points)
  }

  async comparison(name: string): Promise<ComparisonTable> {
    const project = await this.projects.get(name)
    return comparisonTable(project.pipeline, await this.runs.list(name))
  }

  async checkpoints(name: string): Promise<CheckpointView[]> {
    await this.projects.get(name)
    return checkpointsOf(await this.runs.list(name))
  }

  /** Writes a checkpoint as files of the published system into a new folder below `to`. Throws UserError. */
  async exportCheckpoint(key: RunKey, step: number, to: string): Promise<{ folder: string; files: string[] }> {
    const { record, journal } = await this.runs.get(key)
    const checkpoint = journal.checkpoints.find((c) => c.step === step)
    if (!checkpoint)
      throw new UserError({
        what: 'The checkpoint cannot be exported.',
        why: `The run "${record.title}" has none at step ${step}.`,
        next: 'Choose a checkpoint from the list.',
      })
    return exportLinks(checkpoint.folder, path.join(to, exportName(record.step ?? record.title, step)))
  }

  /** Lists a file of this computer. Throws UserError. */
  async addDataset(file: string): Promise<DatasetEntry> {
    const entry = await this.datasets.library.addFile(file)
    this.options.send('datasets/changed', {})
    return entry
  }

  /** A new set of the library. Throws UserError. */
  async makeDataset(make: (desk: DatasetDesk) => Promise<DatasetEntry>): Promise<DatasetEntry> {
    const entry = await make(this.datasets)
    this.options.send('datasets/changed', {})
    return entry
  }

  /** Bytes freed. Throws UserError while a project uses it. */
  async deleteDataset(id: string): Promise<number> {
    const bytes = await this.datasets.library.remove(id)
    this.options.send('datasets/changed', {})
    return bytes
  }

  private inTurn<T>(project: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.turns.get(project) ?? Promise.resolve()).then(work)
    this.turns.set(
      project,
      turn.catch(() => undefined),
    )
    return turn
  }

  private async queueRun(project: Project, step: PipelineStep): Promise<Run> {
    const { id, title, kind, spec } = step
    const run = await this.runs.create(project.name, { title, kind, step: id, label: id, spec: { ...spec, kind } })
    this.queue.add(run)
    this.stateChanged(this.runs.known(run))
    return run
  }

  /**
   * A run that has something to go on from keeps the spec that it started with. Any other, and one whose links are no longer there,
   * starts anew and gets its earlier steps' links now that it is its turn: with other links it would be another run.
   */
  private async prepare(run: Run): Promise<Prepared> {
    const { record, folder, journal } = run
    const ran = record.history.some((entry) => entry.state === 'running')
    const lost = ran ? await firstMissing(linkPaths(record.spec)) : undefined
    const begun = journal.checkpoints.length > 0 || journal.answers.size > 0
    if (ran && begun && lost === undefined)
      return {
        kind: 'ready',
        ...(await this.dataOf(checkSpec({ ...record.spec, output: folder }, `The run "${record.title}"`))),
        resume: true,
      }
    const project = await this.projects.get(run.project)
    const step = project.pipeline.steps.find(({ id }) => id === record.step)
    if (!step)
      throw new UserError({
        what: 'The run cannot start.',
        why: `Its project has no step "${record.step}" any more.`,
        next: 'Delete the run.',
      })
    const runs = await this.runs.list(run.project)
    const missing = step.requires.find((id) => !isStepDone(runs, id))
    if (missing !== undefined) return { kind: 'waiting', why: `The step "${missing}" that it needs is not done.` }
    const detail = lost === undefined ? undefined : `Starts anew with other links: ${lost} is not there any more.`
    return { kind: 'ready', ...(await this.dataOf(this.specOf(project, step, runs, folder))), resume: false, detail }
  }

  /** What has to be converted is, by the process that reads data: it takes long for large files. */
  private dataOf(spec: JobSpec): ReturnType<typeof prepareJobData> {
    return prepareJobData(spec, { convert: (file, field, target) => this.datasets.convert(file, field, target) })
  }

  private specOf(project: Project, step: PipelineStep, runs: readonly Run[], output: string): JobSpec {
    const outcome = (id: string): StepOutcome | undefined => {
      const journal = doneRunOf(runs, id)?.journal
      const checkpoint = journal?.finished?.checkpoint
      if (!journal || checkpoint === undefined) return undefined
      return { checkpoint, best: journal.checkpoints.find(({ best }) => best)?.folder ?? null }
    }
    return resolveStep(step, { base: this.places.assets(project.name), output, outcome })
  }

  private summary(run: Run): RunSummary {
    return runSummary(this.runs.known(run), Date.now(), this.queue.position(run))
  }

  private async projectView(project: Project): Promise<ProjectView> {
    const models = new Map<string, Set<string>>()
    for (const { path: model, as } of project.pipeline.steps.flatMap(({ spec }) => modelPaths(spec))) {
      const folder = path.resolve(this.places.assets(project.name), model)
      models.set(folder, (models.get(folder) ?? new Set()).add(as))
    }
    return {
      ...summaryOf(project),
      pipeline: await this.pipelineOf(project),
      models: await Promise.all(
        [...models].map(async ([folder, roles]) => ({
          name: path.basename(folder),
          bytes: await folderBytes(folder),
          roles: [...roles],
        })),
      ),
      bytesOnDisk: await folderBytes(this.places.project(project.name)),
    }
  }

  private async pipelineOf(project: Project): Promise<PipelineView> {
    const { name, pipeline } = project
    const runs = await this.runs.list(name)
    return pipelineView(
      { project: name, pipeline, runs, now: Date.now(), queuePosition: (run) => this.queue.position(run) },
      this.places.assets(name),
    )
  }

  private stateChanged(run: Run): void {
    const { project, id } = run
    this.publisher.changed(project, id, () => this.summary(run), true)
    this.publishPipeline(project)
    if (run.record.kind === 'evaluate' && stateOf(run.record) === 'done')
      this.options.send('results/changed', { project })
  }

  private eventCame(run: Run, event: JobEvent): void {
    const { project, id } = run
    if (event.kind === 'metrics') this.publisher.metrics(project, id, metricPointOf(event))
    if (event.kind === 'validation')
      this.options.send('run/validation', { project, run: id, validation: validationPointOf(event) })
    this.publisher.changed(project, id, () => this.summary(run), false)
  }

  private publishPipeline(project: string): void {
    this.pipeline(project).then(
      (pipeline) => this.options.send('pipeline/changed', { pipeline }),
      this.options.onProblem,
    )
  }
}

function isInside(folder: string, file: string): boolean {
  return path.resolve(file).startsWith(path.resolve(folder) + path.sep)
}

async function firstMissing(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) if (!(await exists(file))) return file
  return undefined
}

/** In pipeline order. Throws UserError where there is nothing to start or a required step is missing. */
function chooseSteps(project: Project, runs: readonly Run[], choice: StepChoice): PipelineStep[] {
  const { pipeline } = project
  const states = stepStates(pipeline, runs)
  switch (choice.kind) {
    case 'all':
      return pipeline.steps.filter(({ id }) => states.get(id) !== 'done' && !isGoing(states.get(id)!))
    case 'next': {
      const next = nextStep(pipeline, states, runs)
      return pipeline.steps.filter(({ id }) => id === next)
    }
    case 'one': {
      const step = pipeline.steps.find(({ id }) => id === choice.step)
      if (!step)
        throw new UserError({
          what: 'There is no such step.',
          why: `The pipeline of "${project.name}" has no step "${choice.step}".`,
          next: 'Choose a step from the list.',
        })
      if (isGoing(states.get(step.id)!))
        throw new UserError({
          what: `The step "${step.title}" cannot be started.`,
          why: `It is ${states.get(step.id)} already.`,
          next: 'Wait until it ends or stop it first.',
        })
      const missing = step.requires.find((id) => !isStepDone(runs, id))
      if (missing === undefined) return [step]
      throw new UserError({
        what: `The step "${step.title}" cannot start yet.`,
        why: `The step "${pipeline.steps.find(({ id }) => id === missing)?.title ?? missing}" that it needs is not done.`,
        next: 'Run that step first, or run the whole pipeline.',
      })
    }
  }
}

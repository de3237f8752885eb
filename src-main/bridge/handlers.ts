/** Every request of the contract and what answers it. The shell is what only Electron can do; tests give a stand-in. */
import { pairedDifference } from '../workspace/paired-difference'
import { listQuestions, readQuestion, verdicts } from '../workspace/questions'
import { resultDetail, resultsOf, resultSummary } from '../workspace/results'
import type { Studio } from '../studio'
import type { Appearance, AppInfo, SettingsView, StudioError, SystemInfo } from './contract'
import { datasetHandlers } from './dataset-handlers'
import { hubHandlers } from './hub-handlers'
import { modelHandlers } from './model-handlers'
import type { Handlers } from './serve'
import { systemHandlers } from './system-handlers'

export interface Shell {
  info(): AppInfo
  dismissProblem(problem: StudioError): void
  /** Opens a folder in the file manager. */
  reveal(folder: string): Promise<void>
  /** Opens a page of the hub in the person's browser. */
  openPage(address: string): Promise<void>
  settings(): SettingsView
  setAppearance(appearance: Appearance): SettingsView
  /** Throws UserError for what is no address. */
  setHub(endpoint: string | null): SettingsView
  remember(key: string, value: string | null): void
  /** Lets the person choose where something goes; null where they do not. */
  chooseFolder(title: string): Promise<string | null>
  /** Lets the person choose a file; null where they do not. */
  chooseFile(title: string, kinds: { name: string; extensions: string[] }): Promise<string | null>
  /** Lets the person choose where a file goes, and agree where one is replaced; null where they do not. */
  chooseNewFile(title: string, name: string, kinds: { name: string; extensions: string[] }): Promise<string | null>
  /** Lets the person choose; the settings afterwards. */
  chooseWorkspace(): Promise<SettingsView>
  system(): Promise<SystemInfo>
  report(message: string, stack: string): void
}

/** `studio`: the one of the workspace that is open now. */
export function createHandlers(studio: () => Studio, shell: Shell): Handlers {
  const runKey = ({ project, run }: { project: string; run: string }) => ({ project, id: run })
  const resultRun = ({ project, result }: { project: string; result: string }) =>
    studio().runs.get({ project, id: result })
  return {
    ...datasetHandlers(studio, shell),
    ...modelHandlers(studio, shell),
    ...hubHandlers(studio, shell),
    ...systemHandlers(studio),
    'app/info': () => shell.info(),
    'app/reveal': async (place) => {
      const { places, projects, runs } = studio()
      switch (place.kind) {
        case 'workspace':
          await shell.reveal(places.root)
          break
        case 'logs':
          await shell.reveal(places.logs)
          break
        case 'project':
          await shell.reveal(places.project((await projects.get(place.project)).name))
          break
        case 'run':
          await shell.reveal((await runs.get(runKey(place))).folder)
          break
      }
      return {}
    },
    'app/report': ({ message, stack }) => {
      shell.report(message, stack)
      return {}
    },
    'app/dismissProblem': ({ problem }) => {
      shell.dismissProblem(problem)
      return {}
    },

    'settings/get': () => shell.settings(),
    'settings/appearance': ({ appearance }) => shell.setAppearance(appearance),
    'settings/view': ({ key, value }) => {
      shell.remember(key, value)
      return {}
    },
    'settings/hub': ({ endpoint }) => shell.setHub(endpoint),
    'settings/chooseWorkspace': () => shell.chooseWorkspace(),

    'system/info': () => shell.system(),

    'projects/list': () => studio().projects.list(),
    'projects/open': ({ project }) => studio().openProject(project),
    'projects/demo': () => studio().openDemo(),

    'pipeline/get': ({ project }) => studio().pipeline(project),
    'pipeline/start': ({ project, steps }) => studio().startSteps(project, steps),
    'pipeline/stop': ({ project }) => studio().stopPipeline(project),

    'runs/list': async ({ project }) => ({ runs: await studio().listRuns(project) }),
    'runs/get': (params) => studio().runDetail(runKey(params)),
    'runs/start': ({ project, step }) => studio().startRun(project, step),
    'runs/cancel': (params) => studio().cancelRun(runKey(params)),
    'runs/resume': (params) => studio().resumeRun(runKey(params)),
    'runs/delete': async (params) => ({ bytes: await studio().deleteRun(runKey(params)) }),
    'runs/dependents': async (params) => ({ runs: await studio().dependents(runKey(params)) }),
    'runs/log': ({ from, limit, ...params }) => studio().runLog(runKey(params), from, limit),
    'runs/metrics': ({ points, ...params }) => studio().runMetrics(runKey(params), points),

    'results/list': async ({ project }) => ({ results: resultsOf(await studio().runs.list(project)) }),
    'results/table': ({ project }) => studio().comparison(project),
    'results/get': async (params) => resultDetail(await resultRun(params)),
    'results/compare': async ({ project, a, b }) => {
      const [runA, runB] = await Promise.all([a, b].map((result) => resultRun({ project, result })))
      for (const run of [runA, runB]) resultSummary(run)
      return pairedDifference(await verdicts(runA.folder), await verdicts(runB.folder))
    },
    'results/questions': async ({ filter, search, offset, limit, ...params }) => {
      const run = await resultRun(params)
      resultSummary(run)
      return listQuestions(run.folder, { filter, search, offset, limit })
    },
    'results/question': async ({ index, rollout, ...params }) => {
      const run = await resultRun(params)
      resultSummary(run)
      return readQuestion(run.folder, index, rollout)
    },

    'checkpoints/list': async ({ project }) => ({ checkpoints: await studio().checkpoints(project) }),
    'checkpoints/export': async ({ step, ...params }) => {
      const folder = await shell.chooseFolder('Export links to')
      if (folder === null) return { folder: null, files: [] }
      return studio().exportCheckpoint(runKey(params), step, folder)
    },
  }
}

/**
 * The one contract between the page and main: every request with its parameters and result, and every event with its
 * payload. The page imports types from this file and nothing else from src-main.
 *
 * From the page (preload.ts puts it there):
 *   window.studio.request('runs/list', { project: 'Demo' }) -> Promise<Reply<'runs/list'>>; it never rejects:
 *     { ok: true, value } or { ok: false, error: { what, why, next } }.
 *   const off = window.studio.on('run/changed', ({ run }) => …) -> call off() to stop listening.
 * Parameters are checked by main before anything is done; unknown fields are refused. Requests without parameters take {}.
 *
 * How events flow. Main holds the state; the page may be reloaded at any moment and asks for what it shows. Events then keep it
 * current, and each carries the whole new value of what changed, so that it simply replaces what the page has:
 *   run/changed        any change of a run (state, progress, last metrics); at most 4 a second for one run, last value always sent
 *   run/metrics        new points of a training run since the last such event, in order (append; at most 4 events a second)
 *   run/validation     one new held-out measurement
 *   run/log            text that was appended to a run's log.txt (`from` = byte offset: matches runs/log's `to`)
 *   run/removed        the run and its folder are gone
 *   pipeline/changed   a step of the project's pipeline changed state (also sent whenever one of its runs changes state; progress
 *                      within a running step comes with run/changed only)
 *   results/changed    an evaluation of the project finished or was deleted: ask results/table, results/list again
 *   projects/changed   a project was added, or the workspace changed: ask projects/list again
 *   settings/changed   the new settings (also when the operating system changes between light and dark: see `dark`)
 *   system/usage       every 2 s while the window can be seen
 *   download/…, models/…, datasets/…   see model-requests.ts and dataset-requests.ts, which are parts of this file
 *   notice             something went wrong (or right) that no request was waiting for
 * Subscribe first, then ask: an event that arrives in between is then only a repetition. Metrics: drop points whose step is not
 * greater than the last one shown, except when a run/changed says that the run was resumed from an earlier step: ask runs/metrics again.
 */
import { z } from 'zod'
import type * as d from './dataset-views'
import { datasetEvents, datasetRequests } from './dataset-requests'
import type * as m from './model-views'
import { modelEvents, modelRequests } from './model-requests'
import type * as w from './system-views'
import { systemRequests } from './system-requests'
import * as v from './views'

const none = z.strictObject({})
const done = z.strictObject({})
const inProject = { project: v.projectName }
const ofRun = { project: v.projectName, run: v.runId }
const ofResult = { project: v.projectName, result: v.resultId }

export const requests = {
  'app/info': { params: none, result: v.appInfo },
  /** Opens a folder of the workspace in the file manager. */
  'app/reveal': {
    params: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('workspace') }),
      z.strictObject({ kind: z.literal('logs') }),
      z.strictObject({ kind: z.literal('project'), ...inProject }),
      z.strictObject({ kind: z.literal('run'), ...ofRun }),
    ]),
    result: done,
  },
  /** An error of the page, for main's log. */
  'app/report': {
    params: z.strictObject({ message: z.string().max(4000), stack: z.string().max(20000) }),
    result: done,
  },
  /** Forgets a problem of app/info that the person has seen. */
  'app/dismissProblem': { params: z.strictObject({ problem: v.studioError }), result: done },

  'settings/get': { params: none, result: v.settingsView },
  'settings/appearance': { params: z.strictObject({ appearance: v.appearance }), result: v.settingsView },
  /** Remembers something for the page; null forgets it. */
  'settings/view': {
    params: z.strictObject({ key: z.string().min(1).max(100), value: z.string().max(65536).nullable() }),
    result: done,
  },
  /** The address of the hub; null: the usual one. Refused while HF_ENDPOINT names it. */
  'settings/hub': { params: z.strictObject({ endpoint: z.string().max(500).nullable() }), result: v.settingsView },
  /** Lets the person choose another workspace folder (native dialog); unchanged settings when cancelled. */
  'settings/chooseWorkspace': { params: none, result: v.settingsView },

  'system/info': { params: none, result: v.systemInfo },

  'projects/list': {
    params: none,
    result: z.strictObject({ projects: z.array(v.projectSummary), damaged: z.array(v.damagedProject) }),
  },
  'projects/open': { params: z.strictObject(inProject), result: v.projectView },
  /** The Demo project; made when it is not there. */
  'projects/demo': { params: none, result: v.projectView },

  'pipeline/get': { params: z.strictObject(inProject), result: v.pipelineView },
  /** Queues steps: all that are not done, the next one, or one by name (again, if it is done). Stopped runs of a step are resumed. */
  'pipeline/start': {
    params: z.strictObject({
      ...inProject,
      steps: z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('all') }),
        z.strictObject({ kind: z.literal('next') }),
        z.strictObject({ kind: z.literal('one'), step: v.stepId }),
      ]),
    }),
    result: v.pipelineView,
  },
  /** Takes queued steps out of the queue and asks the running one to stop. */
  'pipeline/stop': { params: z.strictObject(inProject), result: v.pipelineView },

  /** Newest first. */
  'runs/list': { params: z.strictObject(inProject), result: z.strictObject({ runs: z.array(v.runSummary) }) },
  'runs/get': { params: z.strictObject(ofRun), result: v.runDetail },
  /** A new run of a pipeline step, with the step's settings, whatever came of its earlier runs ("Run again"). */
  'runs/start': { params: z.strictObject({ ...inProject, step: v.stepId }), result: v.runSummary },
  /** Asks to stop at the next step boundary (paused, resumable), asked again ends it at once; a queued run leaves the queue. */
  'runs/cancel': { params: z.strictObject(ofRun), result: v.runSummary },
  'runs/resume': { params: z.strictObject(ofRun), result: v.runSummary },
  /** Deletes the run's folder, checkpoints and results included; refused while it runs. Result: bytes freed. */
  'runs/delete': { params: z.strictObject(ofRun), result: z.strictObject({ bytes: z.number() }) },
  /** Runs that were given links of this one, newest first: they cannot be repeated as they were when it is deleted. */
  'runs/dependents': {
    params: z.strictObject(ofRun),
    result: z.strictObject({ runs: z.array(z.strictObject({ run: v.runId, title: z.string(), state: v.runState })) }),
  },
  /** Part of log.txt: from a byte offset, or (from: null) its end. */
  'runs/log': {
    params: z.strictObject({
      ...ofRun,
      from: z.number().int().min(0).nullable(),
      limit: z.number().int().min(1).max(262144).default(65536),
    }),
    result: v.logSlice,
  },
  'runs/metrics': {
    params: z.strictObject({ ...ofRun, points: z.number().int().min(10).max(4000).default(1000) }),
    result: v.metricHistory,
  },

  /** Newest first. */
  'results/list': { params: z.strictObject(inProject), result: z.strictObject({ results: z.array(v.resultSummary) }) },
  'results/table': { params: z.strictObject(inProject), result: v.comparisonTable },
  'results/get': { params: z.strictObject(ofResult), result: v.resultDetail },
  /** How much better `a` is than `b` on the questions that both answered. */
  'results/compare': {
    params: z.strictObject({ ...inProject, a: v.resultId, b: v.resultId }),
    result: v.pairedDifference,
  },
  'results/questions': {
    params: z.strictObject({
      ...ofResult,
      filter: v.questionFilter.default('all'),
      /** Words looked for in question, gold answer and prediction. */
      search: z.string().max(200).default(''),
      offset: z.number().int().min(0).default(0),
      limit: z.number().int().min(1).max(500).default(100),
    }),
    result: z.strictObject({ total: z.number(), rows: z.array(v.questionSummary) }),
  },
  'results/question': {
    params: z.strictObject({
      ...ofResult,
      index: z.number().int().min(0),
      rollout: z.number().int().min(0).default(0),
    }),
    result: v.questionView,
  },

  /** Newest first. */
  'checkpoints/list': {
    params: z.strictObject(inProject),
    result: z.strictObject({ checkpoints: z.array(v.checkpointView) }),
  },
  /**
   * Writes a checkpoint's links as files of the published system into a folder that the person chooses (native dialog).
   * `folder`: null when cancelled; `files`: their names.
   */
  'checkpoints/export': {
    params: z.strictObject({ ...ofRun, step: z.number().int().min(0) }),
    result: z.strictObject({ folder: z.string().nullable(), files: z.array(z.string()) }),
  },
  ...modelRequests,
  ...datasetRequests,
  ...systemRequests,
} as const satisfies Record<string, { params: z.ZodType; result: z.ZodType }>

export const events = {
  'run/changed': z.strictObject({ run: v.runSummary }),
  'run/metrics': z.strictObject({ ...ofRun, points: z.array(v.metricPoint) }),
  'run/validation': z.strictObject({ ...ofRun, validation: v.validationPoint }),
  'run/log': z.strictObject({ ...ofRun, from: z.number(), text: z.string() }),
  'run/removed': z.strictObject(ofRun),
  'pipeline/changed': z.strictObject({ pipeline: v.pipelineView }),
  'results/changed': z.strictObject(inProject),
  'projects/changed': none,
  'settings/changed': z.strictObject({ settings: v.settingsView, dark: z.boolean() }),
  'system/usage': z.strictObject({ system: v.systemInfo }),
  notice: z.strictObject({ level: z.enum(['info', 'error']), error: v.studioError }),
  ...modelEvents,
  ...datasetEvents,
} as const satisfies Record<string, z.ZodType>

export type RequestName = keyof typeof requests
export type EventName = keyof typeof events
/** What the page passes (fields with defaults may be left out). */
export type RequestParams<N extends RequestName> = z.input<(typeof requests)[N]['params']>
/** What main works with (defaults filled in). */
export type CheckedParams<N extends RequestName> = z.output<(typeof requests)[N]['params']>
export type RequestResult<N extends RequestName> = z.output<(typeof requests)[N]['result']>
export type EventPayload<N extends EventName> = z.output<(typeof events)[N]>
export type Reply<N extends RequestName> = { ok: true; value: RequestResult<N> } | { ok: false; error: StudioError }

/** What preload.ts puts on `window.studio`. */
export interface StudioBridge {
  request<N extends RequestName>(name: N, params: RequestParams<N>): Promise<Reply<N>>
  on<N extends EventName>(name: N, listener: (payload: EventPayload<N>) => void): () => void
}

export type StudioError = z.output<typeof v.studioError>
export type JobKind = z.output<typeof v.jobKind>
export type RunState = z.output<typeof v.runState>
export type RunProgress = z.output<typeof v.runProgress>
export type MetricPoint = z.output<typeof v.metricPoint>
export type ValidationPoint = z.output<typeof v.validationPoint>
export type RunSummary = z.output<typeof v.runSummary>
export type RunDetail = z.output<typeof v.runDetail>
export type MetricHistory = z.output<typeof v.metricHistory>
export type LogSlice = z.output<typeof v.logSlice>
export type StepState = z.output<typeof v.stepState>
export type PipelineStepView = z.output<typeof v.pipelineStepView>
export type SystemPicture = z.output<typeof v.systemPicture>
export type PipelineView = z.output<typeof v.pipelineView>
export type ProjectSummary = z.output<typeof v.projectSummary>
export type DamagedProject = z.output<typeof v.damagedProject>
export type ProjectView = z.output<typeof v.projectView>
export type ResultSummary = z.output<typeof v.resultSummary>
export type ComparisonTable = z.output<typeof v.comparisonTable>
export type ResultDetail = z.output<typeof v.resultDetail>
export type PairedDifference = z.output<typeof v.pairedDifference>
export type QuestionFilter = z.output<typeof v.questionFilter>
export type QuestionSummary = z.output<typeof v.questionSummary>
export type PromptPiece = z.output<typeof v.promptPiece>
export type LatentsView = z.output<typeof v.latentsView>
export type QuestionStage = z.output<typeof v.questionStage>
export type GradeView = z.output<typeof v.gradeView>
export type QuestionView = z.output<typeof v.questionView>
export type CheckpointView = z.output<typeof v.checkpointView>
export type Appearance = z.output<typeof v.appearance>
export type SettingsView = z.output<typeof v.settingsView>
export type SystemInfo = z.output<typeof v.systemInfo>
export type AppInfo = z.output<typeof v.appInfo>
export type RepositoryKind = z.output<typeof m.repositoryKind>
export type MemoryFit = z.output<typeof m.memoryFit>
export type FoundRepository = z.output<typeof m.foundRepository>
export type RepositoryView = z.output<typeof m.repositoryView>
export type RevisionView = z.output<typeof m.revisionView>
export type DownloadState = z.output<typeof m.downloadState>
export type DownloadView = z.output<typeof m.downloadView>
export type LibrarySource = z.output<typeof m.source>
export type UsedBy = z.output<typeof m.usedBy>
export type ModelView = z.output<typeof m.modelView>
export type VerifyOutcome = z.output<typeof m.verifyOutcome>
export type CachedModel = z.output<typeof m.cachedModel>
export type KeyView = z.output<typeof m.keyView>
export type DataFormat = z.output<typeof d.dataFormat>
export type TextEncoding = z.output<typeof d.encoding>
export type DatasetFile = z.output<typeof d.datasetFile>
export type DatasetEntry = z.output<typeof d.datasetEntry>
export type ColumnView = z.output<typeof d.columnView>
export type OpenedDataset = z.output<typeof d.openedDataset>
export type DataRow = z.output<typeof d.rowView>
export type RowCondition = z.output<typeof d.condition>
export type RowOrderRequest = z.output<typeof d.orderRequest>
export type RowOrderState = z.output<typeof d.orderState>
export type Histogram = z.output<typeof d.histogram>
export type ColumnStatistics = z.output<typeof d.columnStatistics>
export type FieldView = z.output<typeof d.fieldView>
export type StyleView = z.output<typeof d.styleView>
export type FieldMapping = z.output<typeof d.fieldMapping>
export type RunUse = z.output<typeof d.use>
export type MappingProblemKind = z.output<typeof d.mappingProblemKind>
export type MappingProblem = z.output<typeof d.mappingProblem>
export type MappingReport = z.output<typeof d.mappingReport>
export type PreviewPiece = z.output<typeof d.previewPiece>
export type PromptPreview = z.output<typeof d.promptPreview>
export type TokenLengths = z.output<typeof d.tokenLengths>
export type DataChoice = z.output<typeof w.dataChoice>
/** What the page holds of a draft: what is left out has its default. */
export type SystemDraftInput = z.input<typeof w.systemDraft>
export type SystemDraft = z.output<typeof w.systemDraft>
export type DraftProblem = z.output<typeof w.draftProblem>
export type StepMemory = z.output<typeof w.stepMemory>
export type DraftReport = z.output<typeof w.draftReport>

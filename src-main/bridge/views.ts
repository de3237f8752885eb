/**
 * What crosses the bridge, as zod schemas: the shapes that main sends to the page and the names that the page may use to
 * ask for them. Times are milliseconds since 1970, durations seconds, sizes bytes, accuracies fractions with 95 % Wilson
 * intervals. `null` = not known (yet), never 0.
 */
import { z } from 'zod'
import { metricsFields, progressFields, validationFields } from '../engine/job-events'

/* ------------------------------------------------------------------------------------------------ names and errors */

/**
 * Names that become folders. No separators, no leading dot, nothing that Windows refuses: whatever passes here stays
 * inside the workspace.
 */
const folderName = z
  .string()
  .min(1)
  .max(80)
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9 _-]|\.(?=[A-Za-z0-9_-]))*$/,
    'letters, digits, space, dot, dash and underscore only',
  )
  .refine((s) => !s.endsWith(' '), 'no space at the end')
  .refine((s) => !/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(s), 'reserved by Windows')

export const projectName = folderName
export const runId = folderName
export const stepId = folderName
/** Results are named after the evaluation run that made them. */
export const resultId = folderName

export const studioError = z.strictObject({ what: z.string(), why: z.string(), next: z.string() })

const time = z.number()
const interval = z.strictObject({ value: z.number(), low: z.number(), high: z.number(), n: z.number() })

/* ------------------------------------------------------------------------------------------------------------- runs */

export const jobKind = z.enum(['inner', 'outer', 'evaluate'])

/**
 * `paused`: stopped on request at a step boundary. `interrupted`: the engine died (crash, kill, power cut).
 * Both go on from the last checkpoint with runs/resume. `failed`: ended by an error; resumable says whether it may go on.
 */
export const runState = z.enum(['queued', 'running', 'stopping', 'paused', 'interrupted', 'failed', 'done'])

/** How far a phase came. `title`: what is being done, in words ("training", "answering questions"); `unit`: "steps", "questions", … */
export const runProgress = progressFields.extend({ title: z.string(), unit: z.string() })

export const metricPoint = metricsFields

export const validationPoint = validationFields

export const runSummary = z.strictObject({
  project: projectName,
  id: runId,
  title: z.string(),
  kind: jobKind,
  /** The pipeline step that this run is for. */
  step: stepId.nullable(),
  state: runState,
  created: time,
  started: time.nullable(),
  ended: time.nullable(),
  /** Seconds spent running, all stretches together. */
  seconds: z.number(),
  progress: runProgress.nullable(),
  lastMetrics: metricPoint.nullable(),
  /** Last checkpoint's step; null = none yet. */
  checkpointStep: z.number().nullable(),
  resumable: z.boolean(),
  /**
   * When the engine last said that it started, and from which step it went on (null: from the start). A new `time` means that
   * metrics.jsonl is cut to that step: ask runs/metrics again. null: it never started.
   */
  stretch: z.strictObject({ time, resumedFrom: z.number().nullable() }).nullable(),
  /** Place in the queue, 0 = next; null = not queued. */
  queuePosition: z.number().nullable(),
  /** Why it failed or was interrupted. */
  error: studioError.nullable(),
  /** Evaluations that are done. */
  accuracy: interval.nullable(),
  strictAccuracy: interval.nullable(),
  /** Evaluations that are going on: right and answered so far. */
  answered: z.strictObject({ right: z.number(), total: z.number() }).nullable(),
})

export const runDetail = z.strictObject({
  ...runSummary.shape,
  /** The job spec as it runs (absolute paths), for reading. */
  spec: z.record(z.string(), z.unknown()),
  /** The run's folder, for reading; `app/reveal` opens it. */
  folder: z.string(),
  bytesOnDisk: z.number(),
  checkpoints: z.array(z.strictObject({ step: z.number(), time, best: z.boolean(), folder: z.string() })),
  /** Warnings and notes that the engine gave, newest last; at most 200. */
  notes: z.array(z.strictObject({ time, level: z.enum(['info', 'warning']), message: z.string() })),
  /** Last lines of log.txt where the run failed or was interrupted. */
  logTail: z.string().nullable(),
  /** Times at which it started and stopped. */
  history: z.array(z.strictObject({ time, state: runState, detail: z.string().nullable() })),
})

/** At most the number of points asked for; where thinned, every stretch keeps its lowest and highest loss. */
export const metricHistory = z.strictObject({
  points: z.array(metricPoint),
  validations: z.array(validationPoint),
  /** Points on disk. */
  total: z.number(),
})

export const logSlice = z.strictObject({
  text: z.string(),
  /** Bytes: where this slice starts and ends, and how long the file is. Ask again `from: to` for what follows. */
  from: z.number(),
  to: z.number(),
  size: z.number(),
})

/* --------------------------------------------------------------------------------------------- projects and pipeline */

/** `ready`: can start now. `waiting`: a step it requires is not done. The others as in runState. */
export const stepState = z.enum([
  'waiting',
  'ready',
  'queued',
  'running',
  'stopping',
  'paused',
  'interrupted',
  'failed',
  'done',
])

export const pipelineStepView = z.strictObject({
  id: stepId,
  title: z.string(),
  kind: jobKind,
  state: stepState,
  requires: z.array(stepId),
  /** The newest run of this step. */
  run: runSummary.nullable(),
})

export const systemPicture = z.strictObject({
  style: z.string(),
  agents: z.array(
    z.strictObject({
      role: z.string(),
      model: z.string(),
      family: z.string().nullable(),
      hiddenSize: z.number().nullable(),
      layers: z.number().nullable(),
      /** Only the last agent writes text. */
      writes: z.boolean(),
    }),
  ),
  links: z.array(
    z.strictObject({
      key: z.string(),
      kind: z.enum(['inner', 'outer']),
      from: z.string(),
      to: z.string(),
      /** Read in the next round. */
      feedback: z.boolean(),
      trained: z.boolean(),
      /** The pipeline step that trains it. */
      step: stepId.nullable(),
      /** The run whose checkpoint is used. */
      run: runId.nullable(),
    }),
  ),
})

export const pipelineView = z.strictObject({
  project: projectName,
  steps: z.array(pipelineStepView),
  /** Worst first: failed, interrupted, paused, running, queued, ready, done. */
  state: z.enum(['empty', 'ready', 'running', 'stopping', 'paused', 'interrupted', 'failed', 'done']),
  done: z.number(),
  total: z.number(),
  /** Seconds left of the step that is running; null = not known. */
  secondsLeft: z.number().nullable(),
  /** What the next step would be: null when everything is done or under way. */
  next: stepId.nullable(),
  system: systemPicture.nullable(),
})

export const projectSummary = z.strictObject({
  name: projectName,
  title: z.string(),
  description: z.string(),
  created: time,
  demo: z.boolean(),
})

/** A project.json that cannot be read; it is left exactly as it is. */
export const damagedProject = z.strictObject({ name: z.string(), error: studioError })

export const projectView = z.strictObject({
  ...projectSummary.shape,
  pipeline: pipelineView,
  models: z.array(z.strictObject({ name: z.string(), bytes: z.number(), roles: z.array(z.string()) })),
  /** Bytes of the project's folder, runs included. */
  bytesOnDisk: z.number(),
})

/* ---------------------------------------------------------------------------------------------------------- results */

export const resultSummary = z.strictObject({
  project: projectName,
  id: resultId,
  title: z.string(),
  step: stepId.nullable(),
  created: time,
  seconds: z.number(),
  style: z.string(),
  passing: z.enum(['latents', 'text', 'single']),
  /** What was taken from the latents (job-spec.ts). */
  control: z.enum(['none', 'untrained-links', 'shuffled-links', 'other-questions']),
  mode: z.enum(['reference', 'corrected']),
  rounds: z.number(),
  latentSteps: z.number(),
  seed: z.number(),
  grader: z.string(),
  dataset: z.string(),
  accuracy: interval,
  strictAccuracy: interval.nullable(),
})

/** Systems by rounds. `cells[i]` belongs to `columns[i]`; null = not evaluated. */
export const comparisonTable = z.strictObject({
  columns: z.array(z.strictObject({ rounds: z.number(), title: z.string() })),
  rows: z.array(
    z.strictObject({
      system: z.string(),
      title: z.string(),
      cells: z.array(
        z
          .strictObject({
            result: resultId,
            accuracy: interval,
            strictAccuracy: interval.nullable(),
            seconds: z.number(),
          })
          .nullable(),
      ),
    }),
  ),
})

export const resultDetail = z.strictObject({
  ...resultSummary.shape,
  spec: z.record(z.string(), z.unknown()),
  folder: z.string(),
  /** Questions whose verdicts differ between the two graders. */
  gradersDiffer: z.number(),
})

/** Two results question by question (joined by index; `correct` verdicts). */
export const pairedDifference = z.strictObject({
  n: z.number(),
  bothRight: z.number(),
  onlyA: z.number(),
  onlyB: z.number(),
  bothWrong: z.number(),
  /** Fraction right of a minus that of b, with its 95 % interval. */
  difference: z.number(),
  low: z.number(),
  high: z.number(),
  /** Exact McNemar test (two-sided binomial over onlyA and onlyB). */
  p: z.number(),
})

export const questionFilter = z.enum(['all', 'right', 'wrong', 'graders-differ'])

export const questionSummary = z.strictObject({
  index: z.number(),
  /** Which of several rollouts of one question, from 0. */
  rollout: z.number(),
  /** First 300 characters. */
  question: z.string(),
  gold: z.string(),
  prediction: z.string(),
  correct: z.boolean(),
  strict: z.boolean().nullable(),
  tokens: z.number(),
})

export const promptPiece = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text: z.string() }),
  z.strictObject({
    kind: z.literal('slot'),
    name: z.string(),
    /** Positions that stand in the slot: latents, or tokens where text is passed. */
    length: z.number(),
    /** The agent whose latents or text stand here. */
    from: z.string().nullable(),
    /** The text itself where the team passes text. */
    text: z.string().nullable(),
  }),
])

export const latentsView = z.strictObject({
  /** Norm of each latent (raw state), in order. */
  norms: z.array(z.number()),
  /** Cosine of each latent to the one at the same place in the previous round; null in round 1. */
  cosines: z.array(z.number().nullable()),
  /** First two principal components of each latent, common axes for one agent over all rounds of this question. */
  projection: z.array(z.tuple([z.number(), z.number()])),
})

export const questionStage = z.strictObject({
  /** From 1. */
  round: z.number(),
  role: z.string(),
  prompt: z.array(promptPiece),
  promptTokens: z.number(),
  /** What the agent thought; null where it wrote text only. */
  latents: latentsView.nullable(),
  /** What the agent wrote; null where it passed latents. */
  text: z.string().nullable(),
  tokens: z.number().nullable(),
})

export const gradeView = z.strictObject({
  /** "reference", "strict", "exact". */
  grader: z.string(),
  correct: z.boolean().nullable(),
  prediction: z.string().nullable(),
  gold: z.string().nullable(),
  /** Why it counts as wrong or as not decidable, where that is not plain. */
  cause: z.string().nullable(),
})

export const questionView = z.strictObject({
  index: z.number(),
  rollout: z.number(),
  question: z.string(),
  gold: z.string(),
  output: z.string(),
  correct: z.boolean(),
  strict: z.boolean().nullable(),
  grades: z.array(gradeView),
  stages: z.array(questionStage),
  tokens: z.number(),
  seconds: z.number().nullable(),
})

/* ------------------------------------------------------------------------------------------------------ checkpoints */

export const checkpointView = z.strictObject({
  project: projectName,
  run: runId,
  runTitle: z.string(),
  kind: z.enum(['inner', 'outer']),
  step: z.number(),
  best: z.boolean(),
  last: z.boolean(),
  created: time,
  bytes: z.number(),
  folder: z.string(),
  /** The manifest as written beside the links; empty where it cannot be read. */
  manifest: z.record(z.string(), z.unknown()),
})

/* ------------------------------------------------------------------------------------------------- settings, system */

export const appearance = z.enum(['system', 'light', 'dark'])

export const settingsView = z.strictObject({
  appearance,
  workspace: z.string(),
  /** The folder came from STUDIO_WORKSPACE and cannot be changed here. */
  workspaceFixed: z.boolean(),
  /** `fixed`: the address came from HF_ENDPOINT and cannot be changed here. `usual`: it is the one that holds without a setting. */
  hub: z.strictObject({ endpoint: z.string(), fixed: z.boolean(), usual: z.boolean() }),
  /** What the page wants to find again (screen, filters, column widths): key -> JSON text. */
  view: z.record(z.string(), z.string()),
})

export const systemInfo = z.strictObject({
  cpu: z.strictObject({
    model: z.string(),
    cores: z.number(),
    /** 0..1 since the last reading. */ load: z.number().nullable(),
  }),
  memory: z.strictObject({ total: z.number(), /** What new work can take. */ available: z.number() }),
  /** The volume of the workspace; null where it cannot be read. */
  disk: z.strictObject({ folder: z.string(), total: z.number(), free: z.number() }).nullable(),
  /** Where models run. */
  device: z.strictObject({ kind: z.enum(['cpu', 'cuda']), name: z.string() }),
  /** Resident memory of the running engine. */
  engineBytes: z.number().nullable(),
})

export const appInfo = z.strictObject({
  name: z.string(),
  version: z.string(),
  electron: z.string(),
  chrome: z.string(),
  node: z.string(),
  platform: z.string(),
  packaged: z.boolean(),
  /** Problems that the page should show until the person dismisses them (app/dismissProblem), oldest first; at most 20. */
  problems: z.array(studioError),
})

/**
 * What a running job says. One JSON value per event; the same stream goes to the run's journal.jsonl (metrics to
 * metrics.jsonl), to the app and to the command line's standard output. Times are milliseconds since 1970.
 */
import { z } from 'zod'

const time = z.number()
const interval = z.strictObject({ value: z.number(), low: z.number(), high: z.number(), n: z.number() })

const progress = z.strictObject({
  kind: z.literal('progress'),
  time,
  phase: z.string(),
  done: z.number(),
  /** 0 = not known. */
  total: z.number(),
  /** Units a second, smoothed; null before 3 s of data. */
  rate: z.number().nullable(),
  secondsLeft: z.number().nullable(),
  /** A text that is being written meanwhile: its question, the tokens of its batch so far, the newest of what can be shown of it. */
  writing: z.strictObject({ index: z.number(), tokens: z.number(), text: z.string() }).optional(),
})

const metrics = z.strictObject({
  kind: z.literal('metrics'),
  time,
  step: z.number(),
  loss: z.number(),
  learningRate: z.number(),
  /** Before clipping, all trained parameters. */
  gradNorm: z.number(),
  /** Link key -> norms by round (null: not used in that round). Outer training only. */
  gradNorms: z.record(z.string(), z.array(z.number().nullable())).optional(),
  /** Cross-entropy by round (null: not computed). */
  roundLosses: z.array(z.number().nullable()).optional(),
  tokensPerSecond: z.number().optional(),
  memoryBytes: z.number().optional(),
  /** Samples that were left out since the last metrics. */
  skipped: z.number().optional(),
})

const validation = z.strictObject({
  kind: z.literal('validation'),
  time,
  step: z.number(),
  name: z.string(),
  value: z.number(),
  n: z.number(),
  best: z.boolean(),
})

/** What an event tells, without its kind: as the page gets it. */
export const progressFields = progress.omit({ kind: true })
export const metricsFields = metrics.omit({ kind: true })
export const validationFields = validation.omit({ kind: true })

export const jobEvent = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('started'),
    time,
    job: z.enum(['inner', 'outer', 'evaluate']),
    resumedFrom: z.number().nullable(),
  }),
  /**
   * Before any model is loaded: what the job takes by the estimate, in parts, of the bytes that it may take, and what it does to fit.
   * `loadedInTurn`: models are loaded when they are needed, and others closed. `packed`: models whose weights are held twice.
   */
  z.strictObject({
    kind: z.literal('memory'),
    time,
    total: z.number(),
    parts: z.array(z.strictObject({ name: z.string(), bytes: z.number() })),
    limit: z.number(),
    limitFrom: z.enum(['job', 'free memory']),
    /** Bytes that batches go by: the limit that the run began with. */
    batchLimit: z.number(),
    checkpointBlocks: z.boolean(),
    loadedInTurn: z.boolean(),
    packed: z.array(z.string()),
    reason: z.string(),
  }),
  /** At the end: the largest that the process was (null where the system does not say), the estimate, and how often a model was loaded. */
  z.strictObject({
    kind: z.literal('memory-used'),
    time,
    peak: z.number().nullable(),
    estimate: z.number(),
    loads: z.number(),
  }),
  /** A stretch of work with a bar of its own; `total` 0 = not known yet. */
  z.strictObject({
    kind: z.literal('phase'),
    time,
    phase: z.string(),
    title: z.string(),
    total: z.number(),
    unit: z.string(),
  }),
  progress,
  metrics,
  validation,
  z.strictObject({ kind: z.literal('checkpoint'), time, step: z.number(), folder: z.string(), best: z.boolean() }),
  z.strictObject({
    kind: z.literal('question'),
    time,
    index: z.number(),
    correct: z.boolean(),
    strict: z.boolean().nullable(),
  }),
  z.strictObject({ kind: z.literal('log'), time, level: z.enum(['info', 'warning']), message: z.string() }),
  z.strictObject({
    kind: z.literal('finished'),
    time,
    seconds: z.number(),
    /** Training: the final checkpoint. */
    checkpoint: z.string().optional(),
    /** Evaluation: fractions of right answers with 95 % Wilson intervals. */
    accuracy: interval.optional(),
    strictAccuracy: interval.nullable().optional(),
  }),
  /** Stopped on request at a step boundary; `resumable` at `step`. */
  z.strictObject({ kind: z.literal('stopped'), time, step: z.number(), resumable: z.boolean() }),
  z.strictObject({
    kind: z.literal('failed'),
    time,
    what: z.string(),
    why: z.string(),
    next: z.string(),
    detail: z.string().optional(),
  }),
])

export type JobEvent = z.infer<typeof jobEvent>
export type JobEventOf<K extends JobEvent['kind']> = Extract<JobEvent, { kind: K }>

/** What crosses the bridge about making a system: the choices of the wizard, and what they come to. */
import { z } from 'zod'
import { datasetId, fieldMapping } from './dataset-views'
import { memoryFit, modelId } from './model-views'
import { jobKind, projectName, stepId, studioError } from './views'

const whole = (least: number, most: number) => z.number().int().min(least).max(most)

/** Rows of a set: a file of it, its field of rows, where the fields are. */
export const dataChoice = z.strictObject({
  dataset: datasetId,
  /** null: its only file. */
  file: z.string().max(1000).nullable().default(null),
  field: z.string().max(500).nullable().default(null),
  mapping: fieldMapping.default({}),
  /** First so many; 0 = all. */
  limit: whole(0, 1e9).default(0),
})

/** As far as it is made: what is missing is said by systems/check. */
export const systemDraft = z.strictObject({
  title: z.string().trim().max(60),
  style: z.string().min(1).max(100),
  /** The project whose prompt pack speaks; null: the built-in one. */
  pack: projectName.nullable().default(null),
  /** Role -> model. */
  models: z.record(z.string(), modelId),
  data: z.strictObject({
    train: dataChoice.nullable().default(null),
    /** Judges the links while they are trained; null: no validation. */
    validation: dataChoice.nullable().default(null),
    /** Questions with gold answers, never trained on. */
    evaluation: dataChoice.nullable().default(null),
  }),
  training: z.strictObject({
    mode: z.enum(['corrected', 'reference']).default('corrected'),
    seed: whole(0, 0xffffffff).default(42),
    rounds: whole(1, 8).default(3),
    latentSteps: whole(1, 512).default(32),
    innerSteps: whole(1, 1e6).default(2000),
    outerSteps: whole(1, 1e6).default(2000),
    innerBatch: whole(1, 256).default(2),
    outerBatch: whole(1, 256).default(2),
    innerRate: z.number().positive().max(1).default(5e-4),
    outerRate: z.number().positive().max(1).default(5e-4),
    start: z.enum(['random', 'aligned', 'least-squares']).default('random'),
    task: z.enum(['math', 'code', 'choice']).default('math'),
  }),
  evaluation: z.strictObject({
    maxNewTokens: whole(1, 32768).default(512),
    batchSize: whole(1, 256).default(8),
    grader: z.enum(['math', 'exact']).default('math'),
    /** What the trained system is compared with, each at every number of rounds that makes sense. */
    compare: z
      .array(z.enum(['untrained-links', 'text', 'single', 'other-questions']))
      .max(4)
      .default(['untrained-links', 'text', 'single']),
  }),
})

export const draftProblem = z.strictObject({
  /** The step of the wizard that it belongs to, and what in it. */
  step: z.enum(['style', 'models', 'data', 'training', 'check']),
  field: z.string().nullable(),
  /** `warning`: it can be started all the same. */
  level: z.enum(['error', 'warning']),
  error: studioError,
})

/** What a step of the pipeline needs. */
export const stepMemory = z.strictObject({
  ...memoryFit.shape,
  /** Where not all of its models fit beside each other, so that they take turns: what they would take together. */
  together: z.number().nullable(),
})

export const draftReport = z.strictObject({
  problems: z.array(draftProblem),
  steps: z.array(
    z.strictObject({
      id: stepId,
      title: z.string(),
      kind: jobKind,
      memory: stepMemory.nullable(),
      /** Bytes that it will keep on disk. */
      disk: z.number().nullable(),
      /** Rows that it works on; null until the data could be read. */
      rows: z.number().nullable(),
    }),
  ),
  disk: z.strictObject({ needed: z.number().nullable(), free: z.number().nullable() }),
})

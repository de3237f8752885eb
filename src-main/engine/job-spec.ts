/**
 * What the engine can be asked to do. The app, the command line and the tests all hand one of these to `runJob`
 * (engine.ts). Every field has a default that works; unknown fields are errors.
 * Paths are absolute, or relative to the folder that the caller names (the command line: the spec file's own folder).
 */
import { z } from 'zod'
import { runtimeBytes } from './memory/runtime-share'
import { innerLinkTypes, outerLinkTypes, type InnerLinkType, type OuterLinkType } from './nn/link-types'
import { benchmarks, withRecommended } from './released/recommended'
import { releasedNames } from './released/systems'

const count = z.number().int().min(1)
const countOrZero = z.number().int().min(0)

/** Far above what anybody has a use for: a slip of the keyboard is refused before it fills memory or runs for months. */
const upTo = (most: number) => count.max(most, atMost(most))
const atMost = (most: number) => `at most ${most.toLocaleString('en-GB')}`
const mostRounds = 100
const mostLatents = 4096
const roundCount = upTo(mostRounds)
/** Positions of a text or of latents. */
const positions = upTo(2 ** 20)
const latentRows = upTo(mostLatents)
const rowsAtOnce = upTo(4096)
const stepCount = upTo(100_000_000)

const path = z.string().min(1)

/** `reference`: the published behaviour with its known defects. `corrected`: our default (README lists what it changes). */
export const mode = z.enum(['reference', 'corrected'])
export const device = z.enum(['cpu', 'cuda'])

/** Rows to work on: a local json / jsonl file. */
export const dataSpec = z.strictObject({
  file: path,
  /** Field of a JSON object that holds the rows; default: "data", else a bare array. */
  field: z.string().optional(),
  /** Name that the job looks for -> column of the data that is read under it, whatever else is called so. */
  columns: z.record(z.string().min(1), z.string().min(1)).optional(),
  /** A seeded permutation before `limit` is taken. */
  shuffle: z.boolean().default(false),
  /** First so many rows; 0 = all. */
  limit: countOrZero.default(0),
})

const optimiser = {
  steps: stepCount.default(20000),
  batchSize: rowsAtOnce.default(2),
  learningRate: z.number().positive().default(5e-4),
  schedule: z.enum(['cosine', 'constant']).default('cosine'),
  warmupSteps: countOrZero.default(10),
  weightDecay: z.number().min(0).default(0),
  /** Global gradient norm; 0 = no clipping. */
  maxGradNorm: z.number().min(0).default(1),
  /** Micro-batches per optimiser step. */
  accumulate: rowsAtOnce.default(1),
}

const saving = {
  logEvery: count.default(10),
  /** Checkpoint every so many steps; 0 = only at the end (and when stopped). */
  saveEvery: countOrZero.default(500),
  /** Checkpoints kept beside the best and the last one. */
  keepLast: count.default(2),
}

const common = {
  mode: mode.default('corrected'),
  device: device.default('cpu'),
  seed: z.number().int().min(0).max(0xffffffff).default(42),
  enableThinking: z.boolean().default(false),
  /** A prompt pack file; default: the built-in pack. */
  promptPack: path.optional(),
  /** The folder that the run writes: journal, metrics, checkpoints, results. */
  output: path,
  /** Where states that depend on no trained weight are kept between runs; default: <output>/cache. */
  cache: path.optional(),
  /** Threads of the compute engine; default: all physical cores. */
  threads: upTo(1024).optional(),
  /** Bytes that the job may take; default: what is free when it starts, less a reserve. */
  memoryLimit: z
    .number()
    .int()
    .min(
      runtimeBytes,
      `a number of bytes, at least ${runtimeBytes}, which the runtime takes without any model (8 GB are 8000000000)`,
    )
    .optional(),
  /** Compute blocks again for their gradients, which takes less memory and more time; default: where it would not fit otherwise. */
  checkpointBlocks: z.boolean().optional(),
}

/** sequential, mixture, distillation, deliberation, or the path of a style file (.json; styles/style-file.ts). */
const style = z.string().min(1).default('sequential')

const innerLinkType = z
  .enum(Object.keys(innerLinkTypes) as [InnerLinkType, ...InnerLinkType[]])
  .default('ln_res_adapter')
const outerLinkType = z.enum(Object.keys(outerLinkTypes) as [OuterLinkType, ...OuterLinkType[]])

/**
 * The gain that the layer norm at a fresh link's end starts with: `one`, or what makes its output as long as the receiver's
 * embeddings. Default: reference -> `one`, corrected -> `embedding`.
 */
const lastNorm = z.enum(['one', 'embedding']).optional()

/** Types of outer links that are not loaded. */
const freshOuterLinks = {
  linkType: outerLinkType.default('outer_ln_res_adapter'),
  /** Link key -> type, where it differs from linkType. */
  linkTypes: z.record(z.string(), outerLinkType).default({}),
}

export const agentSpec = z.strictObject({
  role: z.string().min(1),
  /** A folder in Hugging Face layout. */
  model: path,
  /** A link checkpoint (folder or .safetensors or .pt); absent: freshly initialised from the seed ("untrained"). */
  innerLink: path.optional(),
  /** Type of an inner link that is not loaded. */
  innerLinkType,
})

/**
 * A published system, or one in the same layout, as folders on this computer: models, inner links and outer links at once. Agents
 * that the job names itself go before the system's. A path alone: its folder.
 */
export const systemSpec = z.union([
  path.transform((folder) => ({
    folder,
    parts: {} as Record<string, string>,
    outer: true,
    name: undefined,
    benchmark: undefined,
  })),
  z.strictObject({
    /** A published system's, which has a style; absent: a system of the job's style. */
    name: z.enum(releasedNames).optional(),
    /** Holds a folder per part: `planner`, `critic`, `solver`, `outer`, or called as their repositories. */
    folder: path.optional(),
    /** Part -> its folder, where it is not in `folder`. */
    parts: z.record(z.string(), path).default({}),
    /** false: models and inner links only. */
    outer: z.boolean().default(true),
    /** An evaluation of a named system takes what it leaves out from the settings recommended for this benchmark. */
    benchmark: z.enum(benchmarks).optional(),
  }),
])

/** Held-out rows on which a training run is judged; the real rollout, greedy text. */
export const validationSpec = z.strictObject({
  data: dataSpec,
  every: count.default(50),
  rounds: roundCount.default(3),
  latentSteps: latentRows.default(32),
  maxNewTokens: positions.default(64),
  grader: z.enum(['math', 'exact']).default('math'),
  /** Stop when so many validations brought no better metric; 0 = never. */
  patience: countOrZero.default(0),
  /**
   * `answers`: the share of right answers, which the grader tells. `readings`: the share of texts that the agents would write
   * word by word from the latents that they read; the data needs every role's text.
   */
  measure: z.enum(['answers', 'readings']).default('answers'),
})

export const innerJob = z.strictObject({
  kind: z.literal('inner'),
  ...common,
  /** The role's style, by name or as a style file (styles/style-file.ts); default: the built-in style that has the role. */
  style: z.string().min(1).optional(),
  role: z.string().min(1),
  model: path,
  data: dataSpec,
  linkType: innerLinkType,
  /** Continue from this link instead of a fresh one. */
  startFrom: path.optional(),
  lastNorm,
  /** `first`: the role's first prompt only (the reference); `all`: every prompt of the role, text standing in the slots. */
  prompts: z.enum(['first', 'all']).default('first'),
  /**
   * What a row holds. `role`: the role's own text and those that stand in its prompt. `question-answer`: a question and a worked
   * answer that ends in "#### result" (or the work in `cot`). `text`: plain text.
   */
  form: z.enum(['role', 'question-answer', 'text']).default('role'),
  /** Column of plain text; default: the first that holds text. */
  textColumn: z.string().min(1).optional(),
  cosineWeight: z.number().default(1),
  mseWeight: z.number().default(0),
  maxLength: positions.default(2048),
  task: z.enum(['math', 'code', 'choice']).default('math'),
  ...optimiser,
  ...saving,
  /** Judge the link by its rollouts on held-out rows: how often the agent's own head reads the rolled-out latents as the target text. */
  validation: z
    .strictObject({
      data: dataSpec,
      every: count.default(100),
      latentSteps: latentRows.default(32),
      patience: countOrZero.default(0),
    })
    .optional(),
})

export const alignSpec = z.strictObject({
  steps: stepCount.default(300),
  batchSize: rowsAtOnce.default(64),
  learningRate: z.number().positive().default(3e-3),
  warmupSteps: countOrZero.default(10),
  /** Rows whose rollouts are made once. */
  rows: upTo(1_000_000).default(1000),
  latentSteps: latentRows.default(32),
  /** What stands at places after the end of a text. */
  filler: z.string().default('.'),
  /** Least squares: weight of the penalty, relative to the mean variance of the latents. */
  ridge: z.number().min(0).default(1e-3),
})

export const outerJob = z.strictObject({
  kind: z.literal('outer'),
  ...common,
  style,
  /** One per role; what `system` has need not be named. */
  agents: z.array(agentSpec).default([]),
  system: systemSpec.optional(),
  data: dataSpec,
  ...freshOuterLinks,
  /** Continue from these outer links instead of fresh ones. */
  startFrom: path.optional(),
  /** `aligned`: by steps on the cosine. `least-squares`: in closed form, for types with a linear path. Either takes `align`. */
  start: z.enum(['random', 'aligned', 'least-squares']).default('random'),
  align: alignSpec.optional(),
  lastNorm,
  /** One number, or a range from which every batch draws. */
  rounds: z
    .union([roundCount, z.strictObject({ from: roundCount, to: roundCount })], {
      error: `a whole number from 1 to ${mostRounds}, or { "from", "to" } with two of them`,
    })
    .default(3),
  /** A column that holds the least rounds a row needs: rows of a batch share it and rounds are drawn from it upwards. */
  roundsColumn: z.string().optional(),
  /** Default: reference -> `reference`, corrected -> `shifted`. */
  states: z.enum(['reference', 'shifted', 'self-fed']).optional(),
  /** Default: reference -> `same`, corrected -> `self-fed`. */
  feedback: z.enum(['same', 'self-fed', 'before-answer']).optional(),
  /** Rows that cross a link at most; also the length of self-fed rollouts. */
  latentCap: latentRows.default(80),
  /** Only the last round's cross-entropy counts; else earlier rounds join at `earlierRoundsWeight`. */
  superviseFinalOnly: z.boolean().default(true),
  earlierRoundsWeight: z.number().min(0).default(0.1),
  maxLength: positions.default(4096),
  task: z.enum(['math', 'code', 'choice']).default('math'),
  /** Question before plan in the solver's prompt. */
  solverQuestionFirst: z.boolean().default(false),
  ...optimiser,
  /** Default: 5e-4, after a start that is not random 3e-4. */
  learningRate: optimiser.learningRate.unwrap().optional(),
  ...saving,
  validation: validationSpec.optional(),
})

export const generationSpec = z.strictObject({
  maxNewTokens: positions.default(2000),
  sample: z.boolean().default(false),
  temperature: z.number().positive().optional(),
  topK: countOrZero.optional(),
  topP: z.number().gt(0).max(1).optional(),
  minP: z.number().min(0).max(1).optional(),
  /** One more short generation where the output holds no parsable answer. */
  answerRetry: z.boolean().default(false),
})

export const evaluateJob = z.strictObject({
  kind: z.literal('evaluate'),
  ...common,
  style,
  /** One per role; what `system` has need not be named. */
  agents: z.array(agentSpec).default([]),
  system: systemSpec.optional(),
  /** Folder of an outer-link checkpoint; absent: freshly initialised from the seed ("untrained"). */
  outerLinks: path.optional(),
  ...freshOuterLinks,
  /** `latents`: the system; `text`: the same team passing text; `single`: the last agent alone, its slot empty. */
  passing: z.enum(['latents', 'text', 'single']).default('latents'),
  /**
   * What latents are worth is seen by taking something from them (with `latentSteps: 0` they are taken away altogether: slots are empty).
   * `untrained-links`: all inner and outer links are drawn anew from the seed, of the types of those that are given.
   * `shuffled-links`: every outer link works with the parameters of the next one, in creation order and back to the first, among those
   * of its type and widths; one that has no like keeps its own, and it is an error where none has.
   * `other-questions`: the team thinks as ever, but the slots of the prompt that is answered hold what it thought for the next question
   * (in the order in which they are asked, the longest first, and back to the first).
   */
  control: z.enum(['none', 'untrained-links', 'shuffled-links', 'other-questions']).default('none'),
  data: dataSpec,
  /** Column names, where the data has others. */
  questionColumn: z.string().optional(),
  answerColumn: z.string().optional(),
  rounds: roundCount.default(3),
  latentSteps: countOrZero.max(mostLatents, atMost(mostLatents)).default(32),
  batchSize: rowsAtOnce.default(8),
  rollouts: upTo(10_000).default(1),
  generation: generationSpec.default(generationSpec.parse({})),
  /** `math` (reference and strict verdicts) or `exact` (all words and the end token). */
  grader: z.enum(['math', 'exact']).default('math'),
  task: z.enum(['math', 'code', 'choice']).default('math'),
  solverQuestionFirst: z.boolean().default(false),
  /** Keep per-question latents (norms and cosines per round, projections) for the question view. */
  keepLatents: z.boolean().default(true),
})

const anyJob = z.discriminatedUnion('kind', [innerJob, outerJob, evaluateJob])

export const jobSpec = z.preprocess((raw, { addIssue }) => {
  const path = pathOfProto(raw)
  if (path) addIssue({ code: 'custom', path, message: 'there is nothing of this name' })
  return withRecommended(raw)
}, anyJob)

/** Where a spec has a field that no schema sees, as objects take it for something else. */
function pathOfProto(value: unknown): string[] | null {
  if (typeof value !== 'object' || value === null) return null
  if (Object.hasOwn(value, '__proto__')) return ['__proto__']
  for (const [key, inner] of Object.entries(value)) {
    const path = pathOfProto(inner)
    if (path) return [key, ...path]
  }
  return null
}

export type JobSpec = z.infer<typeof anyJob>
export type InnerJob = z.infer<typeof innerJob>
export type OuterJob = z.infer<typeof outerJob>
export type AlignSpec = z.infer<typeof alignSpec>
export type EvaluateJob = z.infer<typeof evaluateJob>
export type JobSpecInput = z.input<typeof anyJob>
export type DataSpec = z.infer<typeof dataSpec>
export type AgentSpec = z.infer<typeof agentSpec>
export type Mode = z.infer<typeof mode>

/**
 * What an evaluation leaves in its output folder, for people and for the question view of the app:
 *   samples.jsonl  one `sampleRecord` a line, appended as questions are answered (a resumed run goes on after the last whole line);
 *   result.json    one `resultRecord`, written atomically when all questions are answered.
 * Accuracies are fractions with 95 % Wilson intervals. The runner writes these; main only reads them.
 */
import { z } from 'zod'

const interval = z.object({ value: z.number(), low: z.number(), high: z.number(), n: z.number() })

/** A prompt as it stood before the agent: text, and slots with the number of positions that stood in them. */
export const promptPieceRecord = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('text'), text: z.string() }),
  z.object({
    kind: z.literal('slot'),
    name: z.string(),
    length: z.number(),
    /** The role whose latents or text stand here; null: the slot was left empty. */
    from: z.string().nullable(),
    /** Where the team passes text: the text. */
    text: z.string().nullable(),
  }),
])

export const latentsRecord = z.object({
  /** Norm of each raw state, in order: [L]. */
  norms: z.array(z.number()),
  /** Cosine of each raw state to the one at the same place in the previous round: [L]; null in round 1. */
  cosines: z.array(z.number().nullable()),
  /** Each raw state on the first two principal axes of this question's states of this agent, all rounds together: [L]. */
  projection: z.array(z.tuple([z.number(), z.number()])),
})

/** One call of one agent. */
export const stageRecord = z.object({
  /** From 1. */
  round: z.number(),
  role: z.string(),
  prompt: z.array(promptPieceRecord),
  promptTokens: z.number(),
  latents: latentsRecord.nullable(),
  text: z.string().nullable(),
  tokens: z.number().nullable(),
})

export const gradeRecord = z.object({
  /** "reference", "strict" or "exact". */
  grader: z.string(),
  /** null: this grader cannot decide. */
  correct: z.boolean().nullable(),
  prediction: z.string().nullable(),
  gold: z.string().nullable(),
  cause: z.string().nullable(),
})

export const sampleRecord = z.object({
  /** Row of the data, after shuffle and limit. */
  index: z.number(),
  /** Which of several rollouts, from 0. */
  rollout: z.number(),
  question: z.string(),
  gold: z.string(),
  /** The last agent's text, answer retry included. */
  output: z.string(),
  tokens: z.number(),
  seconds: z.number().nullable(),
  /** The verdict that counts. */
  correct: z.boolean(),
  /** The strict grader's verdict, where there is one. */
  strict: z.boolean().nullable(),
  grades: z.array(gradeRecord),
  /** In the order in which the agents ran; empty where latents were not kept. */
  stages: z.array(stageRecord),
})

export const resultRecord = z.object({
  accuracy: interval,
  strictAccuracy: interval.nullable(),
  seconds: z.number(),
  /** Questions that could not be answered, by cause (also counted as wrong). */
  failures: z.record(z.string(), z.number()),
  /** Hash of the prompt pack that was used. */
  promptPackHash: z.string(),
  /** The whole job spec. */
  spec: z.record(z.string(), z.unknown()),
  /** Accuracy by the value of a column, where the data has one that groups rows (depth, level, subject). */
  groups: z.record(z.string(), z.record(z.string(), interval)).default({}),
})

export type SampleRecord = z.infer<typeof sampleRecord>
export type StageRecord = z.infer<typeof stageRecord>
export type LatentsRecord = z.infer<typeof latentsRecord>
export type GradeRecord = z.infer<typeof gradeRecord>
export type PromptPieceRecord = z.infer<typeof promptPieceRecord>
export type ResultRecord = z.infer<typeof resultRecord>

/** Held-out rows of an outer job, read before anything is opened, and the judge that is made of them. */
import { describeLeftOut, readRows } from '../data/rows'
import { readQuestions } from '../evaluation/questions'
import type { JobContext } from '../job-context'
import type { OuterJob } from '../job-spec'
import type { PromptSettings } from '../styles/row-prompts'
import type { StyleDefinition } from '../styles/style'
import type { Team } from '../styles/team'
import { resolveGeneration } from '../text'
import type { Judgement } from './loop'
import { judgeReadings } from './outer-readings'
import { judgeTeam } from './outer-validation'
import { neededRounds } from './rounds-column'
import { OuterSamples } from './outer-samples'
import { outerColumns } from './training-texts'
import type { TrainingSample } from './unrolled'

/** Gives the judge of a team that has been opened. */
export type HeldOut = (ctx: JobContext, team: Team, prompts: PromptSettings) => () => Promise<Judgement>

/** Reads the held-out rows of a job; null where it is not judged. UserErrors as for the training data. */
export async function readHeldOut(ctx: JobContext, job: OuterJob, style: StyleDefinition): Promise<HeldOut | null> {
  const { validation } = job
  if (!validation) return null
  switch (validation.measure) {
    case 'answers':
      return answersJudge(ctx, job, validation)
    case 'readings':
      return readingsJudge(ctx, job, validation, style)
    default:
      throw new Error(`measure ${String(validation.measure satisfies never)}`)
  }
}

type Validation = NonNullable<OuterJob['validation']>

async function answersJudge(ctx: JobContext, job: OuterJob, validation: Validation): Promise<HeldOut> {
  const { questions, report } = await readQuestions(validation.data, {
    task: job.task,
    resultMark: validation.grader === 'math',
    seed: job.seed,
  })
  tell(ctx, describeLeftOut(report))
  const { roundsColumn: column, task, mode, seed } = job
  // a row that cannot be read is refused as in the training data
  const needs = column
    ? questions.map((q) => neededRounds(q.values[column], column, q.number, validation.rounds))
    : null
  return (ctx, team, prompts) => () => judgeTeam(ctx, team, { prompts, questions, validation, needs, task, mode, seed })
}

async function readingsJudge(
  ctx: JobContext,
  job: OuterJob,
  validation: Validation,
  style: StyleDefinition,
): Promise<HeldOut> {
  const { rows, report } = await readRows(validation.data, { required: outerColumns(style), seed: job.seed })
  tell(ctx, describeLeftOut(report))
  const greedy = { maxNewTokens: validation.maxNewTokens, sample: false }
  return (ctx, team, prompts) => {
    const made = new OuterSamples(prompts, rows, job.task, validation.rounds, (w) => ctx.warn(w))
    let samples: Promise<TrainingSample[]> | null = null
    return async () =>
      judgeReadings(ctx, team, {
        style,
        samples: await (samples ??= Promise.all(rows.map((_, i) => made.sample(i)))),
        rounds: validation.rounds,
        latentSteps: validation.latentSteps,
        maxTokens: validation.maxNewTokens,
        stopIds: prompts.texts.map((text) => (text ? resolveGeneration(text, greedy, job.mode).stopIds : [])),
      })
  }
}

function tell(ctx: JobContext, leftOut: string | null): void {
  if (leftOut) ctx.warn(`Held-out data: ${leftOut}`)
}

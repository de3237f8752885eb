/** Judges outer links by what the system answers on held-out rows: the real rollout, greedy text. */
import { answer } from '../evaluation/answer'
import type { Question } from '../evaluation/questions'
import type { JobContext } from '../job-context'
import type { OuterJob } from '../job-spec'
import type { PromptSettings } from '../styles/row-prompts'
import { usualShortestPrefix } from '../styles/stage-text'
import type { Team } from '../styles/team'
import type { PackTask } from '../text'
import type { Judgement } from './loop'

export interface JudgeSettings {
  readonly prompts: PromptSettings
  readonly questions: readonly Question[]
  readonly validation: NonNullable<OuterJob['validation']>
  /** By question the least rounds that it needs: it is judged at every number of rounds from there up, as rows are trained. null: at the last only. */
  readonly needs: readonly number[] | null
  readonly task: PackTask
  readonly mode: OuterJob['mode']
  readonly seed: number
}

/** Questions that run together. */
const batchSize = 32

/** The share of right answers over all questions and numbers of rounds. */
export async function judgeTeam(ctx: JobContext, team: Team, settings: JudgeSettings): Promise<Judgement> {
  const { validation, needs, questions } = settings
  const system = { agents: team.members.map((m) => m.agent), team }
  let right = 0
  let all = 0
  for (let rounds = needs ? 1 : validation.rounds; rounds <= validation.rounds; rounds++) {
    const due = needs ? questions.filter((_, k) => needs[k] <= rounds) : questions
    for (let from = 0; from < due.length; from += batchSize) {
      const records = await answer(system, due.slice(from, from + batchSize), {
        prompts: settings.prompts,
        passing: 'latents',
        rounds,
        latentSteps: validation.latentSteps,
        rollouts: 1,
        generation: { maxNewTokens: validation.maxNewTokens, sample: false },
        answerRetry: false,
        grader: validation.grader,
        task: settings.task,
        mode: settings.mode,
        seed: settings.seed,
        keepStages: false,
        shortestPrefix: usualShortestPrefix,
        checkpoint: () => ctx.checkpoint(),
      })
      right += records.filter(([r]) => r.correct).length
      all += records.length
    }
  }
  return { name: 'accuracy', value: all ? right / all : 0, n: all }
}

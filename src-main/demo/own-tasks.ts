/**
 * What each tiny model is trained on before it joins the team: its own text task only, in batches of equal length.
 * Where a prompt has a slot, the critic's and the solver's question is that of another row, so that only the slot
 * tells and nothing of Vel can be learnt from it: alone, the solver knows nothing.
 */
import { promptText, slots } from './prompts'
import type { Random } from './random'
import type { Role } from './tiny-models'
import {
  depths,
  latentSteps,
  operators,
  questionText,
  stepTexts,
  type Problem,
  type RoundTexts,
  type Step,
} from './vel'
import { assistantId, encodeWords, endId, fillerWord, unknownWord, userId } from './vocabulary'

/** Rows of equal length: prompt and target, end token included. */
export interface TaskBatch {
  /** [rows][tokens] */
  readonly ids: readonly (readonly number[])[]
  /** Tokens of each row's target: the last so many ids. */
  readonly targetLength: number
}

/** One batch of a role's task over training questions, by depth as makeProblems gives them. */
export function drawTask(role: Role, train: readonly (readonly Problem[])[], rows: number, random: Random): TaskBatch {
  const depth = random.integer(depths.length) + 1
  const problems = random.sample(train[depth - 1], rows)
  switch (role) {
    case 'planner':
      return planner(problems, depth, random)
    case 'critic':
    case 'solver':
      return reader(role, problems, random.sample(train[depth - 1], rows), random)
    default:
      throw new Error(`no task for ${role satisfies never}`)
  }
}

/** 30 % no feedback, 10 % feedback that says nothing (both: the first step), 60 % an answer: the step after it, or rest. */
function planner(problems: readonly Problem[], depth: number, random: Random): TaskBatch {
  const kind = random.uniform()
  const firstPlan = (p: Problem) => stepTexts(1, p.start, p.steps[0]).texts.plan
  if (kind < 0.3) return batch(problems.map((p) => [promptText('planner', 'first', questionText(p)), firstPlan(p)]))
  const withFeedback = (p: Problem, feedback: string) =>
    promptText('planner', 'feedback', questionText(p), { [slots.feedback]: feedback })
  if (kind < 0.4) {
    const length = random.integer(latentSteps + 1)
    const nothing = () => Array.from({ length }, () => random.pick([fillerWord, unknownWord])).join(' ')
    return batch(problems.map((p) => [withFeedback(p, nothing()), firstPlan(p)]))
  }
  return batch(
    problems.map((p) => {
      const [done, value] = [random.integer(depth) + 1, random.integer(10)]
      const told = random.uniform() < 0.5 ? p.steps[done - 1] : drawStep(random)
      const { texts, result } = stepTexts(done, value, told)
      const next = done < depth ? stepTexts(done + 1, result, p.steps[done]) : stepTexts(done, value, p.steps[done - 1])
      return [withFeedback(p, texts.answer), next.texts.plan]
    }),
  )
}

/** Critic and solver: the text of the agent before in the slot. */
function reader(
  role: 'critic' | 'solver',
  problems: readonly Problem[],
  others: readonly Problem[],
  random: Random,
): TaskBatch {
  const texts = problems.map((p) => {
    const step = random.pick(p.steps)
    return stepTexts(random.integer(depths.length) + 1, random.integer(10), step).texts
  })
  const [slot, target]: [keyof RoundTexts, keyof RoundTexts] =
    role === 'critic' ? ['plan', 'refined_plan'] : ['refined_plan', 'answer']
  return batch(
    texts.map((t, i) => [promptText(role, 'first', questionText(others[i]), { [slots[role]]: t[slot] }), t[target]]),
  )
}

function drawStep(random: Random): Step {
  return {
    first: random.pick(operators),
    b: random.integer(10),
    second: random.pick(operators),
    c: random.integer(10),
  }
}

/** Pairs of user text and target text, as the chat template renders them. */
function batch(pairs: readonly (readonly [string, string])[]): TaskBatch {
  const targets = pairs.map(([, target]) => [...encodeWords(target), endId])
  return {
    ids: pairs.map(([prompt], i) => [userId, ...encodeWords(prompt), endId, assistantId, ...targets[i]]),
    targetLength: targets[0].length,
  }
}

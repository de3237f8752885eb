/** Whether a prompt pack has what a style's agents are going to be asked: told before any model is opened. */
import type { PackTask } from '../text'
import { agentPrompt, type PromptSettings, type RowFacts } from './row-prompts'

export interface PromptNeeds {
  /** Agent indices. */
  readonly agents: readonly number[]
  readonly rounds: number
  readonly tasks: Iterable<PackTask>
}

/** Situations that prompts may tell apart within a task. */
const situations: Record<PackTask, readonly Omit<RowFacts, 'task'>[]> = {
  math: [{ question: '?' }],
  choice: [{ question: '?' }, { question: '?\nA. one\nB. two' }],
  code: [
    { question: '?', codeType: 'program' },
    { question: '?', codeType: 'function', functionName: 'f' },
  ],
}

/** UserError: the pack lacks a role, a situation or a task, or a prompt has other slots than the style fills. */
export function checkPrompts(settings: PromptSettings, { agents, rounds, tasks }: PromptNeeds): void {
  for (const task of tasks)
    for (const agent of agents)
      // prompts of later rounds differ in the round's number only
      for (let round = 0; round < Math.min(rounds, 2); round++)
        for (const facts of situations[task]) agentPrompt(settings, { ...facts, task }, agent, round)
}

/** Whether a prompt pack has what a style's agents are going to be asked: told before any model is opened. */
import type { PackTask } from '../text'
import { agentPrompt, promptSituations, type PromptSettings } from './row-prompts'

export interface PromptNeeds {
  /** Agent indices. */
  readonly agents: readonly number[]
  readonly rounds: number
  readonly tasks: Iterable<PackTask>
}

/** UserError: the pack lacks a role, a situation or a task, or a prompt has other slots than the style fills (slot-names.ts). */
export function checkPrompts(settings: PromptSettings, { agents, rounds, tasks }: PromptNeeds): void {
  for (const task of tasks)
    for (const agent of agents)
      // prompts of later rounds differ in the round's number only
      for (let round = 0; round < Math.min(rounds, 2); round++)
        for (const facts of promptSituations) if (facts.task === task) agentPrompt(settings, facts, agent, round)
}

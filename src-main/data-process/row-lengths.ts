/** How long the texts of a row come to for the agents of a run, and whether the run works on them. */
import type { RunUse } from '../bridge/contract'
import type { DataRow } from '../engine/data/rows'
import { questionIn } from '../engine/evaluation/questions'
import { agentStage, type RowStages, slotSources } from '../engine/styles/row-prompts'
import { walk } from '../engine/styles/walk'
import { pairPositions } from '../engine/training/inner-pairs'
import { cutText, tokenise } from '../engine/training/inner-texts'
import { measureStages } from '../engine/training/reading-lengths'
import { outerSample, rolePrompt, roleTexts } from '../engine/training/training-texts'
import { unusable } from '../engine/training/unrolled'
import { outerOptions, type PromptContext, resultMark } from './prompt-context'

export interface AgentLength {
  readonly agent: number
  /** Positions, slots as long as they will be; of the longest of the agent's prompts. */
  readonly positions: number
  /** The run leaves it out. */
  readonly lost: boolean
}

/** Longer than any text. */
export const noLimit = 2 ** 31

/** One for each agent that has a text in the row. */
export async function rowLengths(
  context: PromptContext,
  use: RunUse,
  row: DataRow,
  agents: readonly number[],
  { rounds, latentSteps }: { rounds: number; latentSteps: number },
): Promise<AgentLength[]> {
  switch (use) {
    case 'inner':
      return innerLengths(context, row, agents)
    case 'outer':
      return outerLengths(context, row, agents, rounds, latentSteps)
    case 'evaluate':
      return promptLengths(context, row, agents, rounds, latentSteps)
  }
}

async function innerLengths(context: PromptContext, row: DataRow, agents: readonly number[]): Promise<AgentLength[]> {
  const { settings, text, task, enableThinking, limit } = context
  const { mode, style } = settings
  const found: AgentLength[] = []
  for (const agent of agents)
    for (const role of roleTexts(style, agent, row, task, 'first')) {
      const full = await tokenise(
        text,
        {
          kind: 'answer',
          prompt: rolePrompt(settings, agent, role),
          target: role.target,
          feedback: false,
          copies: false,
        },
        { mode, enableThinking, maxLength: noLimit },
      )
      const lost = pairPositions(cutText(full, limit ?? noLimit)).length === 0
      found.push({ agent, positions: full.ids.length, lost })
    }
  return found
}

async function outerLengths(
  { settings, style, task, limit }: PromptContext,
  row: DataRow,
  agents: readonly number[],
  rounds: number,
  latentCap: number,
): Promise<AgentLength[]> {
  const options = outerOptions(rounds, latentCap)
  const sample = await outerSample(settings, row, 0, { task, maxRounds: rounds, warn: () => undefined })
  if (unusable(style, sample, options) !== null) return agents.map((agent) => ({ agent, positions: 0, lost: true }))
  const stages = measureStages(style, sample, options)
  return agents.map((agent) => {
    const positions = Math.max(...stages.flatMap((s) => (s.agent === agent ? [s.length] : [])))
    return { agent, positions, lost: positions > (limit ?? noLimit) }
  })
}

async function promptLengths(
  { settings, style, task }: PromptContext,
  row: DataRow,
  agents: readonly number[],
  rounds: number,
  latentSteps: number,
): Promise<AgentLength[]> {
  const { facts } = questionIn(row, { task, resultMark })
  const longest = new Map<number, number>(agents.map((agent) => [agent, 0]))
  const stages: RowStages = new Map()
  for (const { agent, round } of walk(style, rounds)) {
    const known = longest.get(agent)
    if (known === undefined) continue
    const { prompt } = await agentStage(settings, facts, agent, round, { known: stages })
    const slots = slotSources(style, agent, round).length * latentSteps
    longest.set(agent, Math.max(known, prompt.ids.reduce((n, p) => n + p.length, 0) + slots))
  }
  return [...longest].map(([agent, positions]) => ({ agent, positions, lost: false }))
}

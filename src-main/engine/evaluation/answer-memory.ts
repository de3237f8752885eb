/** What an evaluation asks of each agent, for the estimate of its memory. */
import type { AgentWork } from '../memory/settle'
import type { PassShape } from '../memory/agent-memory'
import { linksInto, type StyleGraph } from '../styles/style'
import { usualShortestPrefix } from '../styles/stage-text'
import { walk } from '../styles/walk'

export interface AnsweringShape {
  readonly passing: 'latents' | 'text' | 'single'
  readonly rounds: number
  readonly latentSteps: number
  readonly batchSize: number
  readonly generation: { readonly maxNewTokens: number }
}

/** Tokens made in one run, as agents make them. */
const runSteps = 64

/**
 * `prompt`: tokens of the longest prompt of an agent in a round, slots left out, and of what stands before its first slot. By agent
 * index; of agents that are not there nothing is asked.
 */
export function answerWork(
  style: StyleGraph,
  shape: AnsweringShape,
  prompt: (agent: number, round: number) => { readonly whole: number; readonly before: number },
): AgentWork[] {
  const { passing, latentSteps, batchSize: rows } = shape
  const { maxNewTokens } = shape.generation
  const work = Array.from({ length: style.agentCount }, () => ({ passes: [] as PassShape[], prefixPlaces: 0 }))
  const writes = (agent: number, places: number, past: number) => {
    const length = places + past
    work[agent].passes.push(
      { task: 'generate', rows, places, past, steps: Math.min(runSteps, maxNewTokens) },
      // goes on from what it has written
      {
        task: 'generate',
        rows,
        places: 1,
        past: length + Math.max(0, maxNewTokens - runSteps),
        steps: Math.min(runSteps, maxNewTokens),
      },
    )
    work[agent].prefixPlaces = Math.max(work[agent].prefixPlaces, rows * (past + length + maxNewTokens))
  }
  if (passing === 'single') {
    writes(style.last, prompt(style.last, 0).whole, 0)
    return work
  }
  for (const { agent, round, sends } of walk(style, shape.rounds)) {
    const slots = linksInto(style, agent, round).length
    const { whole, before } = prompt(agent, round)
    const past = passing === 'latents' && slots > 0 && before >= usualShortestPrefix ? before : 0
    const places = whole - past + slots * (passing === 'latents' ? latentSteps : maxNewTokens)
    if (past > 0) {
      work[agent].passes.push({ task: 'prefix', rows, places: past })
      work[agent].prefixPlaces = Math.max(work[agent].prefixPlaces, rows * past)
    }
    if (!sends || passing === 'text') writes(agent, places, past)
    else if (latentSteps > 0)
      work[agent].passes.push({ task: 'rollout', rows, places, past, latents: slots * latentSteps, steps: latentSteps })
  }
  return work
}

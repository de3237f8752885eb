/** Forward passes, latent rollouts and greedy decoding through the agent that the app uses. */
import type { Row } from '../../src-main/engine/agents/agent'
import { type ReadyWork, type Results, readInnerLink, readyAgent, type WorkContext } from './work'

const tokens = (ids: readonly number[]): Row => ({ segments: [{ kind: 'tokens', ids }] })

/** States after the final norm, or logits, at every position of one row. */
export async function forward(context: WorkContext, what: 'hidden' | 'logits'): Promise<ReadyWork> {
  const { agent, session } = await readyAgent(context)
  const { ids } = context.inputs.forward
  const rows = [tokens(ids)]
  const positions = [ids.map((_, t) => t)]
  return {
    sessions: [session],
    async run(): Promise<Results> {
      const [data] = what === 'hidden' ? await agent.states(rows, positions) : await agent.logits(rows, positions)
      const width = what === 'hidden' ? agent.hiddenSize : agent.vocabSize
      return { [what]: { shape: [1, ids.length, width], data } }
    },
    dispose: () => agent.dispose(),
  }
}

export async function rollout(context: WorkContext, name: 'rollout' | 'rollout8'): Promise<ReadyWork> {
  const { prompts, latent_steps: steps } = context.inputs[name]
  const { agent, session } = await readyAgent(context)
  const link = await readInnerLink(context, 'inner_1')
  const rows = prompts.map(tokens)
  return {
    sessions: [session],
    async run() {
      const { states } = await agent.rollout(rows, link, steps)
      const data = new Float32Array(states.length * steps * agent.hiddenSize)
      states.forEach((s, b) => data.set(s, b * s.length))
      return { states: { shape: [prompts.length, steps, agent.hiddenSize], data } }
    },
    dispose: () => agent.dispose(),
  }
}

export async function decode(context: WorkContext): Promise<ReadyWork> {
  const { prompt, new_tokens: count } = context.inputs.decode
  const { agent, session } = await readyAgent(context)
  const rows = [tokens(prompt)]
  return {
    sessions: [session],
    async run() {
      const [ids] = await agent.generate(rows, {
        maxNewTokens: count,
        sample: false,
        temperature: 1,
        topK: 0,
        topP: 1,
        minP: 0,
        stopIds: [],
      })
      return { ids: { shape: [ids.length], data: BigInt64Array.from(ids, BigInt) } }
    },
    dispose: () => agent.dispose(),
  }
}

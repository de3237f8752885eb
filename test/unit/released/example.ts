/** README's example of the engine as a library; the test compares the two. */
import { loadSystem } from '../../../src-main/engine/released/load-system'

export async function readFirstThoughts(folder: string, question: string): Promise<Float32Array> {
  const system = await loadSystem('sequential_light', { folder, benchmark: 'math500' })
  try {
    const { agent, text, inner } = system.agents.get('planner')!
    const { text: prompt } = text.chat!.render([{ role: 'user', content: question }], {
      generationPrompt: true,
      mode: 'corrected',
    })
    const ids = await text.tokenizer.encode(prompt)
    const { fed } = await agent.rollout([{ segments: [{ kind: 'tokens', ids }] }], inner, system.settings!.latentSteps)
    const link = system.links.get('outer_12')!
    return await link.graph.forward(link.parameters, fed[0])
  } finally {
    await system.dispose()
  }
}

/** A sequential system thinking about one question, up to the place where its answer begins: the runner's own `think`. */
import { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import { think } from '../../src-main/engine/evaluation/think'
import { sequential } from '../../src-main/engine/styles/sequential'
import { type Pieces, PrefixPool, usualShortestPrefix } from '../../src-main/engine/styles/stage-text'
import { readTeam } from './outer-step'
import { firstUse, flatten, type ReadyWork, readyAgent, vector, type WorkContext } from './work'

export async function thinking(context: WorkContext): Promise<ReadyWork> {
  const { think: spec, outer } = context.inputs
  if (!spec) throw new Error('the inputs do not say how long to think')
  const { agent, session } = await readyAgent(context)
  const links = new LinkSessions({ threads: context.threads })
  const team = await readTeam(context, agent, links, sequential)
  const { graph, parameters } = team.links[0]
  const linkSession = await firstUse('outer link forward', () =>
    graph.forward(parameters, new Float32Array(agent.hiddenSize).fill(1)),
  )
  const { planner, planner_feedback: again, refiner, solver } = outer.samples[0]
  const later = [again, refiner, solver].map(({ before, after }): Pieces => [before, after])
  const first: Pieces = [[...planner.before, ...planner.after]]
  const question = { prompt: (who: number, round: number) => (who === 0 && round === 0 ? first : later[who]) }
  const options = { rounds: spec.rounds, latentSteps: spec.latent_steps }
  return {
    sessions: [session, linkSession],
    async run() {
      const prefixes = new PrefixPool(usualShortestPrefix)
      try {
        const [row] = await think(team, [question], options, prefixes)
        // what stands in the slots of the last prompt
        return { fills: vector(flatten(row.segments.flatMap((s) => (s.kind === 'latents' ? [s.values] : [])))) }
      } finally {
        prefixes.dispose()
      }
    },
    async dispose() {
      await links.dispose()
      await agent.dispose()
    },
  }
}

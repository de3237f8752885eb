/**
 * One training step of the three outer links through the whole unrolled system: the trainer's own `unroll`, clipping and
 * AdamW in reference mode. The three agents read one model folder, so, as in every job, they are one agent.
 */
import { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import { sequential } from '../../src-main/engine/styles/sequential'
import { usualShortestPrefix } from '../../src-main/engine/styles/stage-text'
import type { Member, OuterLink, Team } from '../../src-main/engine/styles/team'
import { AdamW, clipGradients, outerParameters } from '../../src-main/engine/training/optimiser'
import { type TrainingSample, type TrainingText, unroll } from '../../src-main/engine/training/unrolled'
import type { OuterSample } from './inputs'
import { innerLinks } from './random-model'
import {
  firstUse,
  flatten,
  number,
  type ReadyWork,
  readInnerLink,
  readLink,
  readyAgent,
  vector,
  type WorkContext,
} from './work'

export async function outerTraining(context: WorkContext): Promise<ReadyWork> {
  const spec = context.inputs.outer
  const { agent, session } = await readyAgent(context, { keepsPasses: true })
  const h = agent.hiddenSize
  const links = new LinkSessions({ threads: context.threads })
  const innerGraph = links.link({ kind: 'inner', type: 'ln_res_adapter', width: h })
  const outerGraph = links.link({ kind: 'outer', type: 'outer_ln_res_adapter', inWidth: h, outWidth: h })
  const members: Member[] = []
  for (const name of innerLinks)
    members.push({ agent, inner: await readInnerLink(context, name), innerGraph, fingerprint: 'benchmark' })
  const samples = spec.samples.map(trainingSample)

  const row = new Float32Array(h).fill(1)
  const outer = await readLink(context, sequential.links[0].key)
  const inner = members[0].inner.parameters
  const sessions = [
    session,
    await firstUse('inner link forward', () => innerGraph.forward(inner, row)),
    await firstUse('inner link input gradient', () => innerGraph.backInput(inner, row, row)),
    await firstUse('outer link forward', () => outerGraph.forward(outer, row)),
    await firstUse('outer link gradients', () => outerGraph.vjp(outer, row, row)),
  ]

  let team: Team = { style: sequential, members, links: [] }
  let optimiser = new AdamW([], { weightDecay: 0 })
  return {
    sessions,
    async reset() {
      const fresh: OuterLink[] = []
      for (const { key, source, target } of sequential.links)
        fresh.push({
          key,
          type: 'outer_ln_res_adapter',
          source,
          target,
          parameters: await readLink(context, key),
          graph: outerGraph,
        })
      team = { ...team, links: fresh }
      optimiser = new AdamW(outerParameters(fresh, 'reference'), {
        weightDecay: spec.weight_decay,
        beta1: spec.betas[0],
        beta2: spec.betas[1],
        epsilon: spec.eps,
      })
    },
    async run() {
      const result = await unroll(
        team,
        samples,
        {
          rounds: spec.rounds,
          states: 'reference',
          feedback: 'same',
          cap: spec.max_latents,
          latentSteps: spec.max_latents,
          earlierWeight: null,
          maxLength: Number.MAX_SAFE_INTEGER,
          tooLong: 'cut-left',
          divisor: samples.length,
          shortestPrefix: usualShortestPrefix,
        },
        // a later step would find the planner's first states here; the work measured includes them
        null,
      )
      if (result.skipped.length > 0) throw new Error(`sample ${result.skipped[0].sample}: ${result.skipped[0].cause}`)
      const gradients = new Map(
        team.links.flatMap(({ key }) =>
          Object.entries(result.gradients.get(key)!.total).map(([name, values]) => [`${key}.${name}`, values] as const),
        ),
      )
      const norm = clipGradients(gradients.values(), spec.max_grad_norm)
      optimiser.step(gradients, spec.learning_rate)
      const inOrder = <T>(pick: (key: string, name: string) => T) =>
        team.links.flatMap(({ key, graph }) => graph.shapes.map(({ name }) => pick(key, name)))
      const parameters = new Map(team.links.map((l) => [l.key, l.parameters]))
      return {
        loss: number(result.losses.reduce((sum, l) => sum + l.loss, 0) / samples.length),
        gradient_norm: number(norm),
        gradient: vector(flatten(inOrder((key, name) => gradients.get(`${key}.${name}`)!))),
        parameters: vector(flatten(inOrder((key, name) => parameters.get(key)![name]))),
      }
    },
    async dispose() {
      await links.dispose()
      await agent.dispose()
    },
  }
}

function trainingSample(sample: OuterSample, id: number): TrainingSample {
  const text = (pieces: readonly (readonly number[])[], target: number): TrainingText => ({
    prompt: pieces,
    context: pieces,
    target: sample.targets[target],
  })
  const slotted = (name: 'planner_feedback' | 'refiner' | 'solver', target: number) =>
    text([sample[name].before, sample[name].after], target)
  const { before, after } = sample.planner
  const later = [slotted('refiner', 1), slotted('solver', 2)]
  return {
    id,
    rounds: [
      [text([[...before, ...after]], 0), ...later],
      [slotted('planner_feedback', 0), ...later],
    ],
  }
}

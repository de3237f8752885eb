/**
 * One training step of all outer links through a whole unrolled system: the trainer's own `unroll`, clipping and AdamW in
 * reference mode. The agents read one model folder, so, as in every job, they are one agent.
 */
import { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import { mixture } from '../../src-main/engine/styles/mixture'
import { sequential } from '../../src-main/engine/styles/sequential'
import { type Pieces, usualShortestPrefix } from '../../src-main/engine/styles/stage-text'
import type { StyleGraph } from '../../src-main/engine/styles/style'
import type { Member, OuterLink, Team } from '../../src-main/engine/styles/team'
import { AdamW, clipGradients, outerParameters } from '../../src-main/engine/training/optimiser'
import { type TrainingSample, type TrainingText, unroll } from '../../src-main/engine/training/unrolled'
import type { MixtureSample, OuterSample, OuterSettings } from './inputs'
import { innerLinks, outerLinks } from './random-model'
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

/** Planner, critic, solver: the baseline's step. */
export function outerTraining(context: WorkContext): Promise<ReadyWork> {
  const { outer } = context.inputs
  return training(context, sequential, outer, outer.samples.map(sequentialSample))
}

/** Three experts and a summarizer. */
export function mixtureTraining(context: WorkContext): Promise<ReadyWork> {
  const { mixture: spec } = context.inputs
  if (!spec) throw new Error('the inputs have no samples for a mixture')
  return training(context, mixture, spec, spec.samples.map(mixtureSample))
}

/** Agents and links of any style, filled with the folder's three inner and three outer links in turn. */
export async function readTeam(
  context: WorkContext,
  agent: Member['agent'],
  links: LinkSessions,
  style: StyleGraph,
): Promise<Team> {
  const h = agent.hiddenSize
  const innerGraph = links.link({ kind: 'inner', type: 'ln_res_adapter', width: h })
  const graph = links.link({ kind: 'outer', type: 'outer_ln_res_adapter', inWidth: h, outWidth: h })
  const members: Member[] = []
  for (let i = 0; i < style.agentCount; i++) {
    const inner = await readInnerLink(context, innerLinks[i % innerLinks.length])
    members.push({ agent, inner, innerGraph, fingerprint: 'benchmark' })
  }
  const outer: OuterLink[] = []
  for (const [i, link] of style.links.entries()) {
    const parameters = await readLink(context, outerLinks[i % outerLinks.length])
    outer.push({ ...link, type: 'outer_ln_res_adapter', parameters, graph })
  }
  return { style, members, links: outer }
}

async function training(
  context: WorkContext,
  style: StyleGraph,
  spec: OuterSettings,
  samples: readonly TrainingSample[],
): Promise<ReadyWork> {
  const { agent, session } = await readyAgent(context, { keepsPasses: true })
  const links = new LinkSessions({ threads: context.threads })
  let team = await readTeam(context, agent, links, style)

  const row = new Float32Array(agent.hiddenSize).fill(1)
  const {
    innerGraph,
    inner: { parameters: inner },
  } = team.members[0]
  const { graph: outerGraph, parameters: outer } = team.links[0]
  const sessions = [
    session,
    await firstUse('inner link forward', () => innerGraph.forward(inner, row)),
    await firstUse('inner link input gradient', () => innerGraph.backInput(inner, row, row)),
    await firstUse('outer link forward', () => outerGraph.forward(outer, row)),
    await firstUse('outer link gradients', () => outerGraph.vjp(outer, row, row)),
  ]

  let optimiser = new AdamW([], { weightDecay: 0 })
  return {
    sessions,
    async reset() {
      team = await readTeam(context, agent, links, style)
      optimiser = new AdamW(outerParameters(team.links, 'reference'), {
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
        // a later step would find the first agents' first states here; the work measured includes them
        null,
      )
      if (result.skipped.length > 0) throw new Error(`sample ${result.skipped[0].sample}: ${result.skipped[0].cause}`)
      // in a single round nothing crosses the feedback links
      const trained = team.links.filter(({ key }) => result.gradients.has(key))
      const gradients = new Map(
        trained.flatMap(({ key }) =>
          Object.entries(result.gradients.get(key)!.total).map(([name, values]) => [`${key}.${name}`, values] as const),
        ),
      )
      const norm = clipGradients(gradients.values(), spec.max_grad_norm)
      optimiser.step(gradients, spec.learning_rate)
      const inOrder = <T>(pick: (key: string, name: string) => T) =>
        trained.flatMap(({ key, graph }) => graph.shapes.map(({ name }) => pick(key, name)))
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

const trainingText = (pieces: Pieces, target: readonly number[]): TrainingText => ({
  prompt: pieces,
  context: pieces,
  target,
})

function sequentialSample(sample: OuterSample, id: number): TrainingSample {
  const text = (pieces: Pieces, target: number) => trainingText(pieces, sample.targets[target])
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

function mixtureSample({ targets, first, later }: MixtureSample, id: number): TrainingSample {
  return { id, rounds: [first, later].map((texts) => texts.map((pieces, a) => trainingText(pieces, targets[a]))) }
}

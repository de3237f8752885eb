/** Toy teams and texts for tests of the trainer and the runner. */
import type { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import type { StyleGraph } from '../../../src-main/engine/styles/style'
import type { Team } from '../../../src-main/engine/styles/team'
import type { TrainingSample, TrainingText } from '../../../src-main/engine/training/unrolled'
import { ToyAgent, lcg } from './toy-agent'

export interface ToyTeam extends Team {
  readonly members: (Team['members'][number] & { readonly agent: ToyAgent })[]
}

export function toyTeam(
  style: StyleGraph,
  widths: readonly number[],
  sessions: LinkSessions,
  seed = 1,
  vocabSize = 13,
): ToyTeam {
  const generator = new TorchGenerator(seed)
  const members = widths.map((width, i) => {
    const innerGraph = sessions.link({ kind: 'inner', type: 'ln_res_adapter', width })
    const inner = { type: 'ln_res_adapter' as const, parameters: initInnerLink('ln_res_adapter', width, generator) }
    return {
      agent: new ToyAgent(width, vocabSize, seed * 100 + i, innerGraph),
      inner,
      innerGraph,
      fingerprint: `toy ${seed} ${i}`,
    }
  })
  const links = style.links.map(({ key, source, target }) => {
    const [inWidth, outWidth] = [widths[source], widths[target]]
    const type = 'outer_ln_res_adapter' as const
    return {
      key,
      type,
      source,
      target,
      parameters: initOuterLink(type, inWidth, outWidth, generator),
      graph: sessions.link({ kind: 'outer', type, inWidth, outWidth }),
    }
  })
  return { style, members, links }
}

/** Random texts, a list per round with a target of its own in each. */
export function toySamples(
  style: StyleGraph,
  count: number,
  rounds: number,
  seed = 5,
  vocabSize = 13,
): TrainingSample[] {
  const random = lcg(seed)
  const ids = (from: number, to: number) =>
    Array.from({ length: from + Math.floor(random() * (to - from + 1)) }, () => Math.floor(random() * vocabSize))
  const text = (slots: number): TrainingText => {
    const prompt = Array.from({ length: slots + 1 }, () => ids(2, 5))
    return { prompt, context: prompt, target: ids(2, 7) }
  }
  const slotsOf = (agent: number, round: number) =>
    style.chain.find((c) => c.agent === agent)?.sources.length ?? (round === 0 ? 0 : 1)
  return Array.from({ length: count }, (_, id) => ({
    id,
    rounds: Array.from({ length: rounds }, (_, r) =>
      Array.from({ length: style.agentCount }, (_, a) => text(slotsOf(a, r))),
    ),
  }))
}

export const mixtureGraph: StyleGraph = {
  name: 'mixture',
  agentCount: 4,
  links: [
    { key: 'outer_1s', source: 0, target: 3 },
    { key: 'outer_2s', source: 1, target: 3 },
    { key: 'outer_3s', source: 2, target: 3 },
    { key: 'outer_s1', source: 3, target: 0 },
    { key: 'outer_s2', source: 3, target: 1 },
    { key: 'outer_s3', source: 3, target: 2 },
  ],
  first: [0, 1, 2],
  chain: [{ agent: 3, sources: [0, 1, 2] }],
  last: 3,
}

/** Two agents in a ring. */
export const ringGraph: StyleGraph = {
  name: 'ring',
  agentCount: 2,
  links: [
    { key: 'outer_ab', source: 0, target: 1 },
    { key: 'outer_ba', source: 1, target: 0 },
  ],
  first: [0],
  chain: [{ agent: 1, sources: [0] }],
  last: 1,
}

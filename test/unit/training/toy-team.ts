/** Toy teams and texts for tests of the trainer and the runner. */
import type { LinkSessions } from '../../../src-main/engine/nn/link-graphs'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { linksInto, type StyleGraph } from '../../../src-main/engine/styles/style'
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
  return Array.from({ length: count }, (_, id) => ({
    id,
    rounds: Array.from({ length: rounds }, (_, r) =>
      Array.from({ length: style.agentCount }, (_, a) => text(linksInto(style, a, r).length)),
    ),
  }))
}

/** Two agents in a ring, of which the first answers. */
export const ringGraph: StyleGraph = {
  name: 'ring',
  agentCount: 2,
  links: [
    { key: 'outer_ab', source: 0, target: 1 },
    { key: 'outer_ba', source: 1, target: 0 },
  ],
  last: 0,
}

/** Five agents in a chain. */
export const chainGraph: StyleGraph = {
  name: 'chain',
  agentCount: 5,
  links: [
    ...[0, 1, 2, 3].map((i) => ({ key: `outer_${i}${i + 1}`, source: i, target: i + 1 })),
    { key: 'outer_40', source: 4, target: 0 },
  ],
  last: 4,
}

/** An agent that reads itself, one that reads two of the same round and one of the round before, and one that comments on the answer. */
export const commentedGraph: StyleGraph = {
  name: 'commented',
  agentCount: 4,
  links: [
    { key: 'self', source: 0, target: 0 },
    { key: 'to-second', source: 0, target: 1 },
    { key: 'comment', source: 3, target: 2 },
    { key: 'first', source: 0, target: 2 },
    { key: 'second', source: 1, target: 2 },
    { key: 'answer', source: 2, target: 3 },
  ],
  last: 2,
}

/**
 * Judges outer links by what their receivers read: the system thinks on held-out rows with real rollouts, and every agent that has
 * latents in its prompt is asked for its own text of that round. A text counts where each of its places does, which is
 * where greedy decoding would write it (specification: improvements 2).
 */
import { think, type ThoughtStage } from '../evaluation/think'
import type { JobContext } from '../job-context'
import { PrefixPool, buildRow, usualShortestPrefix } from '../styles/stage-text'
import type { StyleDefinition } from '../styles/style'
import type { Team } from '../styles/team'
import type { Judgement } from './loop'
import { placesRight } from './reading'
import type { TrainingSample, TrainingText } from './unrolled'

export interface ReadingSettings {
  readonly style: StyleDefinition
  readonly samples: readonly TrainingSample[]
  readonly rounds: number
  readonly latentSteps: number
  /** Tokens of a text that are looked at. */
  readonly maxTokens: number
  /** By agent the ids that end a text: what the template writes behind one is not looked at. */
  readonly stopIds: readonly (readonly number[])[]
}

/** Rows that think together. */
const batchRows = 32

/** The share of texts that are read right, over all readers and rounds; beside it that of places, and that of each role's texts. */
export async function judgeReadings(ctx: JobContext, team: Team, settings: ReadingSettings): Promise<Judgement> {
  const { style, samples, rounds, latentSteps } = settings
  const between = () => ctx.checkpoint()
  const roles = style.roles.map(() => ({ texts: 0, textsRight: 0, places: 0, placesRight: 0 }))
  for (let from = 0; from < samples.length; from += batchRows) {
    const part = samples.slice(from, from + batchRows)
    const prefixes = new PrefixPool(usualShortestPrefix)
    try {
      const read: ThoughtStage[] = []
      await think(
        team,
        part.map((s) => ({ prompt: (agent: number, round: number) => textOf(s, agent, round).prompt })),
        {
          rounds,
          latentSteps,
          checkpoint: between,
          onStage: (stage) => {
            if (stage.fills.length > 0) read.push(stage)
          },
        },
        prefixes,
      )
      for (const agent of new Set(read.map((stage) => stage.agent))) {
        const asked = read.flatMap((stage) => {
          if (stage.agent !== agent) return []
          const text = textOf(part[stage.question], agent, stage.round)
          const ids = ownPart(text.target, settings.stopIds[agent]).slice(0, settings.maxTokens)
          if (ids.length === 0) return []
          const tail = ids.length > 1 ? [{ kind: 'tokens' as const, ids: ids.slice(0, -1) }] : []
          const prefix = prefixes.find(team.members[agent].agent, text.context)
          const built = buildRow(text.context, stage.fills, tail, { prefix })
          return [{ row: built.row, wanted: { ids, positions: ids.map((_, t) => built.promptLength - 1 + t) } }]
        })
        const counts = await placesRight(
          team.members[agent].agent,
          asked.map((a) => a.row),
          asked.map((a) => a.wanted),
          between,
        )
        const role = roles[agent]
        counts.forEach((count, k) => {
          const { length } = asked[k].wanted.ids
          role.texts++
          role.places += length
          role.placesRight += count
          if (count === length) role.textsRight++
        })
      }
    } finally {
      prefixes.dispose()
    }
  }
  const share = (name: string, right: number, n: number) => ({ name, value: n ? right / n : 0, n })
  const sum = (of: keyof (typeof roles)[number]) => roles.reduce((n, r) => n + r[of], 0)
  return {
    ...share('texts read right', sum('textsRight'), sum('texts')),
    beside: [
      share('places read right', sum('placesRight'), sum('places')),
      ...roles.flatMap((r, i) =>
        r.texts > 0 ? [share(`${style.roles[i].role} reads right`, r.textsRight, r.texts)] : [],
      ),
    ],
  }
}

function textOf(sample: TrainingSample, agent: number, round: number): TrainingText {
  return sample.rounds[Math.min(round, sample.rounds.length - 1)][agent]
}

/** Up to the first id that ends a text, that included. */
function ownPart(target: readonly number[], stopIds: readonly number[]): readonly number[] {
  const end = target.findIndex((id) => stopIds.includes(id))
  return end < 0 ? target : target.slice(0, end + 1)
}

/**
 * A whole system at inference: every agent rolls out latents in turn, round after round, until the last agent's last
 * prompt stands ready for its text. Walks any style; rows of all questions given go through each stage together.
 */
import type { Row } from '../agents/agent'
import { concatRows, splitRows } from '../nn/rows'
import { type Pieces, PrefixPool, type SlotFill, buildRow } from '../styles/stage-text'
import { isFeedback } from '../styles/style'
import { type Team, teamLink } from '../styles/team'
import { walk } from '../styles/walk'

/** The prompts of one question: `prompt(agent, round)`, round from 0. Stages of round 0 of first agents have no slot. */
export interface QuestionPrompts {
  prompt(agent: number, round: number): Pieces
}

/** What one agent did for one question. */
export interface ThoughtStage {
  readonly question: number
  readonly agent: number
  /** From 0. */
  readonly round: number
  /** Positions in each slot of its prompt, and the agent whose latents they are. */
  readonly slots: readonly { readonly length: number; readonly from: number; readonly link: string }[]
  /** Raw states after the final norm [L, H]; null for the stage that writes the text. */
  readonly states: Float32Array | null
  /** What stood in its slots, [length, H] each. */
  readonly fills: readonly SlotFill[]
}

export interface ThinkOptions {
  readonly rounds: number
  /** 0: nothing is thought, every slot stays empty. */
  readonly latentSteps: number
  /**
   * A control: only so many questions (the first ones) are answered, each reading in the answering stage what was thought for the
   * question of this index.
   */
  readonly answerFrom?: readonly number[]
  /** Called as each stage is done. */
  readonly onStage?: (stage: ThoughtStage) => void
  /** Awaited before every run of a model; throws to stop there. */
  readonly checkpoint?: () => Promise<void>
}

interface Thought {
  readonly agent: number
  /** Inner-link images of all questions' states, one after the other. */
  readonly image: Float32Array
}

interface Slot {
  readonly link: string
  readonly from: number
  /** Per question. */
  readonly fills: readonly SlotFill[]
}

/** The answering agent's rows, each ending where its text begins. They may use `prefixes`, which the caller disposes when done. */
export async function think(
  team: Team,
  questions: readonly QuestionPrompts[],
  options: ThinkOptions,
  prefixes: PrefixPool,
): Promise<Row[]> {
  const control = { between: options.checkpoint }
  const thoughts = new Map<string, Thought>()
  for (const { agent, round, reads, sends } of walk(team.style, options.rounds)) {
    const slots: Slot[] = []
    for (const link of reads) {
      const from = thoughts.get(`${link.source} ${isFeedback(link) ? round - 1 : round}`)
      if (!from) throw new Error(`agent ${link.source} is read before it has thought`)
      slots.push(await cross(from, link.key))
    }
    if (!sends) return answerRows(agent, round, slots)
    thoughts.set(`${agent} ${round}`, await rollOut(agent, round, slots))
  }
  throw new Error('a walk ends with the answer')

  async function rows(agent: number, round: number, slots: readonly Slot[]): Promise<Row[]> {
    const pieces = questions.map((q) => q.prompt(agent, round))
    const member = team.members[agent].agent
    await prefixes.prepare(member, pieces, control)
    return pieces.map((p, k) => {
      const fills = slots.map((s) => s.fills[k])
      return buildRow(p, fills, [], { prefix: prefixes.find(member, p) }).row
    })
  }

  function report(agent: number, round: number, slots: readonly Slot[], states: readonly Float32Array[] | null): void {
    questions.forEach((_, question) =>
      options.onStage?.({
        question,
        agent,
        round,
        slots: slots.map((s) => ({ length: s.fills[question].count, from: s.from, link: s.link })),
        states: states && states[question],
        fills: slots.map((s) => s.fills[question]),
      }),
    )
  }

  async function rollOut(agent: number, round: number, slots: readonly Slot[]): Promise<Thought> {
    const member = team.members[agent]
    if (options.latentSteps === 0) {
      report(
        agent,
        round,
        slots,
        questions.map(() => new Float32Array(0)),
      )
      return { agent, image: new Float32Array(0) }
    }
    const { states, fed } = await member.agent.rollout(
      await rows(agent, round, slots),
      member.inner,
      options.latentSteps,
      control,
    )
    report(agent, round, slots, states)
    return { agent, image: concatRows(fed) }
  }

  async function cross(from: Thought, key: string): Promise<Slot> {
    const link = teamLink(team, key)
    const values = await link.graph.forward(link.parameters, from.image)
    const parts = splitRows(
      values,
      questions.map(() => options.latentSteps),
      link.graph.outWidth,
    )
    return { link: link.key, from: from.agent, fills: parts.map((v) => ({ values: v, count: options.latentSteps })) }
  }

  async function answerRows(agent: number, round: number, own: readonly Slot[]): Promise<Row[]> {
    const { answerFrom } = options
    const slots = answerFrom
      ? own.map((s) => ({
          ...s,
          fills: s.fills.map((fill, k) => (k < answerFrom.length ? s.fills[answerFrom[k]] : fill)),
        }))
      : own
    const made = await rows(agent, round, slots)
    report(agent, round, slots, null)
    return answerFrom ? made.slice(0, answerFrom.length) : made
  }
}

/**
 * One batch of questions through a system, to graded records: latents or text between the agents, then the last agent's
 * text, as often as rollouts are asked for. What a question gets does not depend on the batch it is in.
 */
import type { Agent, Row, SamplingOptions } from '../agents/agent'
import { repeats } from '../defects'
import type { Mode } from '../job-spec'
import { type PromptSettings, agentStage, promptVariant, slotSources } from '../styles/row-prompts'
import { PrefixPool, buildRow } from '../styles/stage-text'
import type { Team } from '../styles/team'
import { walk } from '../styles/walk'
import {
  type GenerationChoice,
  type GenerationSettings,
  type PackTask,
  answerRetryText,
  answerRetrySuffix,
  createStreamDecoder,
  resolveGeneration,
  type Stage,
  type TextTokenizer,
} from '../text'
import { type Grader, gradeAnswer, graderOf } from './grade'
import { hasParsableAnswer } from './grading'
import { summariseLatents } from './latents-summary'
import type { Question } from './questions'
import type { PromptPieceRecord, SampleRecord, StageRecord } from './sample-record'
import { think } from './think'

export interface AnswerSettings {
  readonly prompts: PromptSettings
  /** How the agents pass on what they have: `single` leaves the last agent alone. */
  readonly passing: 'latents' | 'text' | 'single'
  readonly rounds: number
  readonly latentSteps: number
  readonly rollouts: number
  readonly generation: GenerationChoice
  readonly answerRetry: boolean
  readonly grader: Grader
  readonly task: PackTask
  readonly mode: Mode
  readonly seed: number
  /** A control: the question whose latents stand in the prompt that a question is answered from; absent: its own. */
  readonly latentsOf?: (question: Question) => Question
  /** Keep prompts and latents of every stage in the records. */
  readonly keepStages: boolean
  /** Texts before a slot that are shorter are not encoded apart. */
  readonly shortestPrefix: number
  /** Awaited before every run of a model; throws to stop there. */
  readonly checkpoint?: () => Promise<void>
  /** Told now and then what is being written. */
  readonly onWriting?: (writing: Writing) => void
}

/** A text on its way. */
export interface Writing {
  /** The question it belongs to; others of its batch are written beside it. */
  readonly index: number
  /** Tokens made so far in this generation, those of the whole batch together. */
  readonly tokens: number
  /** What can be shown of the text so far. */
  readonly text: string
}

/** Agents by index (null: not there), and the links where latents are passed. */
export interface System {
  readonly agents: readonly (Agent | null)[]
  readonly team: Team | null
}

/** Per question its records, one per rollout. */
export async function answer(
  system: System,
  questions: readonly Question[],
  settings: AnswerSettings,
): Promise<SampleRecord[][]> {
  const started = performance.now()
  const prefixes = new PrefixPool(settings.shortestPrefix)
  try {
    const run = new BatchRun(system, questions, settings, prefixes)
    const rows =
      settings.passing === 'latents'
        ? await run.thought()
        : settings.passing === 'text'
          ? await run.talked()
          : await run.alone()
    const outputs: Output[][] = []
    for (let rollout = 0; rollout < settings.rollouts; rollout++) {
      // greedy text is the same every time
      outputs.push(rollout > 0 && !settings.generation.sample ? outputs[0] : await run.texts(rows, rollout))
    }
    const seconds = (performance.now() - started) / 1000 / questions.length
    return questions.map((q, k) =>
      outputs.map((o, rollout) => run.record(k, q, rollout, o[k], rollout === 0 ? seconds : null)),
    )
  } finally {
    prefixes.dispose()
  }
}

interface Output {
  readonly text: string
  readonly tokens: number
  /** Ended by itself, with a stop token. */
  readonly ended: boolean
}

class BatchRun {
  private readonly stages: StageRecord[][]

  constructor(
    private readonly system: System,
    private readonly questions: readonly Question[],
    private readonly settings: AnswerSettings,
    private readonly prefixes: PrefixPool,
  ) {
    this.stages = questions.map(() => [])
  }

  // ------------------------------------------------------------------ latents

  async thought(): Promise<Row[]> {
    const { team } = this.system
    if (!team) throw new Error('latents can only be passed over links')
    const { style } = this.settings.prompts
    const { latentsOf } = this.settings
    const thinking = [...new Set([...this.questions, ...(latentsOf ? this.questions.map(latentsOf) : [])])]
    const staged = new Map<string, Stage[]>()
    for (let round = 0; round < this.settings.rounds; round++)
      for (let agent = 0; agent < style.agentCount; agent++)
        staged.set(
          `${agent} ${round}`,
          await Promise.all(
            thinking.map((q) => agentStage(this.settings.prompts, this.facts(q, agent, round), agent, round)),
          ),
        )
    const stageOf = (question: number, agent: number, round: number) => staged.get(`${agent} ${round}`)![question]
    const states = this.questions.map(() => style.roles.map((): Float32Array[] => []))
    const places = this.questions.map(() => style.roles.map((): number[] => []))
    const rows = await think(
      team,
      thinking.map((_, k) => ({ prompt: (agent, round) => stageOf(k, agent, round).prompt.ids })),
      {
        rounds: this.settings.rounds,
        latentSteps: this.settings.latentSteps,
        checkpoint: this.settings.checkpoint,
        answerFrom: latentsOf && this.questions.map((q) => thinking.indexOf(latentsOf(q))),
        onStage: ({ question, agent, round, slots, states: raw }) => {
          if (!this.settings.keepStages || question >= this.questions.length) return
          if (raw) {
            states[question][agent].push(raw)
            places[question][agent].push(this.stages[question].length)
          }
          this.stages[question].push(
            stageRecord(
              stageOf(question, agent, round),
              round,
              style.roles[agent].role,
              slots.map((s) => ({ length: s.length, from: style.roles[s.from].role, text: null })),
            ),
          )
        },
      },
      this.prefixes,
    )
    // every agent's states of all rounds lie in one plane, so they are summed up when the last round is done
    states.forEach((agents, question) =>
      agents.forEach((rounds, agent) => {
        if (rounds.length === 0) return
        summariseLatents(rounds, team.members[agent].agent.hiddenSize).forEach((latents, r) => {
          const place = places[question][agent][r]
          this.stages[question][place] = { ...this.stages[question][place], latents }
        })
      }),
    )
    return rows
  }

  // --------------------------------------------------------------------- text

  /** The same walk with texts in the slots. */
  async talked(): Promise<Row[]> {
    const { style } = this.settings.prompts
    const said = new Map<number, string[]>()
    for (const { agent, round, sends } of walk(style, this.settings.rounds)) {
      if (!sends) return (await this.textRows(agent, round, said)).rows
      said.set(agent, await this.say(agent, round, said))
    }
    throw new Error('a walk ends with the answer')
  }

  private async textRows(
    agent: number,
    round: number,
    said: ReadonlyMap<number, readonly string[]>,
  ): Promise<{ rows: Row[]; place: number[] }> {
    const { style } = this.settings.prompts
    const sources = slotSources(style, agent, round)
    const stages = await Promise.all(
      this.questions.map((q, k) =>
        agentStage(this.settings.prompts, this.facts(q, agent, round), agent, round, {
          slotTexts: sources.map((s) => said.get(s)![k]),
        }),
      ),
    )
    const place = this.stages.map((s) => s.length)
    if (this.settings.keepStages)
      for (const [k, q] of this.questions.entries()) {
        // shown with its slots, so that what was passed on can be told from the prompt
        const open = await agentStage(this.settings.prompts, this.facts(q, agent, round), agent, round)
        const slots = await Promise.all(
          sources.map(async (s) => ({
            length: (await this.textOf(agent).tokenizer.encode(said.get(s)![k])).length,
            from: style.roles[s].role,
            text: said.get(s)![k],
          })),
        )
        this.stages[k].push({
          ...stageRecord(open, round, style.roles[agent].role, slots),
          promptTokens: stages[k].prompt.ids[0].length,
        })
      }
    return { rows: stages.map((s) => buildRow(s.prompt.ids, [], []).row), place }
  }

  private async say(agent: number, round: number, said: ReadonlyMap<number, readonly string[]>): Promise<string[]> {
    const { rows, place } = await this.textRows(agent, round, said)
    const { style } = this.settings.prompts
    // a stream of its own for every stage before the last text
    const stream = this.settings.rollouts * 2 + round * style.agentCount + agent
    const outputs = await this.generate(agent, rows, stream, this.generation(agent))
    if (this.settings.keepStages)
      outputs.forEach(
        (o, k) => (this.stages[k][place[k]] = { ...this.stages[k][place[k]], text: o.text, tokens: o.tokens }),
      )
    return outputs.map((o) => o.text)
  }

  // ------------------------------------------------------------------- single

  /** The last agent alone: its prompt with nothing in the slots. */
  async alone(): Promise<Row[]> {
    const { style } = this.settings.prompts
    const stages = await Promise.all(
      this.questions.map((q) => agentStage(this.settings.prompts, q.facts, style.last, 0)),
    )
    return stages.map((stage, k) => {
      const empty = stage.slots.map(() => ({ values: new Float32Array(0), count: 0 }))
      if (this.settings.keepStages)
        this.stages[k].push(
          stageRecord(
            stage,
            0,
            style.roles[style.last].role,
            empty.map(() => ({ length: 0, from: null, text: null })),
          ),
        )
      return buildRow(stage.prompt.ids, empty, []).row
    })
  }

  // --------------------------------------------------------------- the answer

  /** The last agent's text, with one more short generation where nothing can be read from it. */
  async texts(rows: readonly Row[], rollout: number): Promise<Output[]> {
    const { last } = this.settings.prompts.style
    const outputs = await this.generate(last, rows, rollout, this.generation(last))
    if (!this.settings.answerRetry || this.settings.grader === 'exact') return outputs
    const again = outputs.flatMap((o, k) => (hasParsableAnswer(this.questions[k].facts.task, o.text) ? [] : [k]))
    if (again.length === 0) return outputs
    const { pack, mode } = this.settings.prompts
    const text = this.textOf(last)
    // rows may name tasks of their own, and how long the second try may be depends on the task
    for (const task of new Set(again.map((k) => this.questions[k].facts.task))) {
      const own = again.filter((k) => this.questions[k].facts.task === task)
      const asked = own.map((k) => answerRetryText(pack, { task, mode, output: outputs[k].text }))
      const alone = repeats('lone-retry', mode)
      const ids = await text.tokenizer.encodeAll(asked, { special: alone })
      const more = await this.generate(
        last,
        ids.map((row, i) => {
          const tokens = { kind: 'tokens' as const, ids: row }
          const asked = rows[own[i]]
          return alone ? { segments: [tokens] } : { ...asked, segments: [...asked.segments, tokens] }
        }),
        this.settings.rollouts + rollout,
        { ...this.generation(last), maxNewTokens: answerRetrySuffix(pack, { task, mode }).tokens },
        own,
        false,
      )
      more.forEach((m, i) => {
        const k = own[i]
        outputs[k] = { text: asked[i] + m.text, tokens: outputs[k].tokens + m.tokens, ended: m.ended }
      })
    }
    return outputs
  }

  record(k: number, q: Question, rollout: number, output: Output, seconds: number | null): SampleRecord {
    const verdict = gradeAnswer(this.settings.mode, {
      grader: graderOf(this.settings.grader, q.facts.task),
      gold: q.gold,
      options: q.options,
      output: output.text,
      ended: output.ended,
    })
    const stages = this.stages[k].map((s, i) =>
      i === this.stages[k].length - 1 ? { ...s, text: output.text, tokens: output.tokens } : s,
    )
    return {
      index: q.index,
      rollout,
      question: q.question,
      gold: q.gold,
      output: output.text,
      tokens: output.tokens,
      seconds,
      ...verdict,
      // what led to the answer is the same for every rollout
      stages: rollout === 0 ? stages : [],
    }
  }

  private async generate(
    agent: number,
    rows: readonly Row[],
    stream: number,
    settings: GenerationSettings,
    questions = this.questions.map((_, k) => k),
    strip = true,
  ): Promise<Output[]> {
    const model = this.system.agents[agent]
    if (!model) throw new Error(`agent ${agent} is not there`)
    const { tokenizer } = this.textOf(agent)
    const { checkpoint, onWriting, seed } = this.settings
    const live = onWriting && new LiveText(tokenizer, this.questions[questions[0]].index, onWriting)
    const options: SamplingOptions = {
      ...settings,
      streams: questions.map((k) => [seed, this.questions[k].index, stream] as const),
      between: async () => {
        await checkpoint?.()
        await live?.tell()
      },
      onTokens: (fresh) => live?.take(fresh),
    }
    const ids = await model.generate(rows, options)
    const texts = await Promise.all(ids.map((row) => tokenizer.decode(row, { skipSpecial: true })))
    return texts.map((text, k) => ({
      text: strip ? text.trim() : text,
      tokens: ids[k].length,
      ended: settings.stopIds.includes(ids[k].at(-1) ?? -1),
    }))
  }

  private generation(agent: number): GenerationSettings {
    return resolveGeneration(this.textOf(agent), this.settings.generation, this.settings.mode)
  }

  private textOf(agent: number) {
    const text = this.settings.prompts.texts[agent]
    if (!text) throw new Error(`agent ${agent} is not there`)
    return text
  }

  /** As the prompt of this stage gets them. */
  private facts(q: Question, agent: number, round: number) {
    const { style, mode } = this.settings.prompts
    const asMath = repeats('math-feedback', mode, style.name) && promptVariant(style, agent, round) === 'feedback'
    return asMath && q.facts.task === 'code' ? { question: q.facts.question, task: 'math' as const } : q.facts
  }
}

/** The first text of a batch while it is written, decoded as it grows. */
class LiveText {
  private readonly decoder
  private waiting: number[] = []
  private tokens = 0
  private text = ''

  constructor(
    tokenizer: TextTokenizer,
    private readonly index: number,
    private readonly onWriting: (writing: Writing) => void,
  ) {
    this.decoder = createStreamDecoder(tokenizer, { skipSpecial: true })
  }

  /** New ids of each row of the batch. */
  take(fresh: readonly (readonly number[])[]): void {
    this.waiting.push(...fresh[0])
    this.tokens += fresh.reduce((n, row) => n + row.length, 0)
  }

  async tell(): Promise<void> {
    if (this.tokens === 0) return
    this.text += await this.decoder.push(this.waiting)
    this.waiting = []
    this.onWriting({ index: this.index, tokens: this.tokens, text: this.text })
  }
}

function stageRecord(
  stage: Stage,
  round: number,
  role: string,
  slots: readonly { readonly length: number; readonly from: string | null; readonly text: string | null }[],
): StageRecord {
  const prompt: PromptPieceRecord[] = []
  stage.prompt.texts.forEach((text, i) => {
    if (i > 0) prompt.push({ kind: 'slot', name: stage.slots[i - 1], ...slots[i - 1] })
    if (text !== '') prompt.push({ kind: 'text', text })
  })
  const promptTokens = stage.prompt.ids.reduce((n, p) => n + p.length, 0) + slots.reduce((n, s) => n + s.length, 0)
  return { round: round + 1, role, prompt, promptTokens, latents: null, text: null, tokens: null }
}

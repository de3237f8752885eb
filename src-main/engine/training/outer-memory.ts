/** What a step of outer training asks of each agent, for the estimate of its memory: the longest texts that are found. */
import type { PassShape } from '../memory/agent-memory'
import type { OuterJob } from '../job-spec'
import type { MemoryPart } from '../memory/estimate'
import { garbageBytes } from '../memory/text-memory'
import { smallSessionBytes } from '../memory/runtime-share'
import type { AgentWork } from '../memory/settle'
import { linksInto, type StyleGraph } from '../styles/style'
import type { Team } from '../styles/team'
import { walk } from '../styles/walk'
import { memoryLimit as stateMemory } from './state-store'
import { passedBy } from './passed-states'
import { textsOf } from './reading-lengths'
import type { TrainingSample, TrainingText, UnrollOptions } from './unrolled'

/** By agent index. `samples`: some of the longest. */
export function outerWork(
  style: StyleGraph,
  samples: readonly TrainingSample[],
  options: UnrollOptions,
  batch: number,
  heldOut: { readonly latentSteps: number; readonly maxNewTokens: number; readonly rows: number } | null,
): AgentWork[] {
  const steps = walk(style, options.rounds, { answersEveryRound: options.earlierWeight !== null })
  return Array.from({ length: style.agentCount }, (_, agent) => {
    const passes: PassShape[] = []
    const recorded: PassShape[] = []
    let prefixPlaces = 0
    for (const step of steps) {
      if (step.agent !== agent) continue
      const slots = linksInto(style, agent, step.round).length
      const longest = longestOf(samples, agent, step.round, options)
      const { past, prompt, target } = { ...longest, prompt: longest.prompt + slots * options.cap }
      const own = { rows: batch, past, asked: Math.min(target, options.cap), latents: slots * options.cap }
      if (past > 0) passes.push({ task: 'prefix', rows: batch, places: past })
      prefixPlaces = Math.max(prefixPlaces, past * batch)
      const mode = passedBy(style, agent, options)
      const supervised = agent === style.last && (step.round === options.rounds - 1 || options.earlierWeight !== null)
      if (supervised)
        passes.push({
          task: 'vjp',
          ...own,
          places: prompt + target - 1,
          targets: target,
          asked: step.sends ? own.asked : 0,
        })
      if (!step.sends) continue
      if (mode === 'self-fed') {
        const made = Math.min(options.latentSteps, options.cap)
        passes.push({ task: 'rollout', ...own, places: prompt, steps: made })
        if (slots > 0)
          passes.push({ task: 'vjp', ...own, places: prompt + made - 1, latents: own.latents + made - 1, asked: made })
      } else {
        const read = { ...own, places: prompt + (mode === 'before-answer' ? 0 : own.asked) }
        if (slots === 0) passes.push({ task: 'states', ...read })
        else {
          passes.push({ task: 'record', ...read }, { task: 'vjp', ...read })
          if (!supervised) recorded.push({ task: 'record', ...read })
        }
      }
    }
    if (heldOut) {
      const { prompt, past } = longestOf(samples, agent, 1, options)
      const slots = linksInto(style, agent, 1).length
      const places = prompt + slots * heldOut.latentSteps
      passes.push({ task: 'rollout', rows: heldOut.rows, places, past, steps: heldOut.latentSteps })
      if (agent === style.last)
        passes.push({ task: 'generate', rows: heldOut.rows, places, past, steps: Math.min(64, heldOut.maxNewTokens) })
      prefixPlaces = Math.max(prefixPlaces, past * heldOut.rows)
    }
    return { passes, recorded, prefixPlaces }
  })
}

/** Tokens: before the first slot (where they are worth encoding apart), in the rest of the prompt, and to be predicted. */
function longestOf(samples: readonly TrainingSample[], agent: number, round: number, options: UnrollOptions) {
  const lengths = (texts: readonly TrainingText[], of: (text: TrainingText) => number) => Math.max(0, ...texts.map(of))
  const texts = samples.map((s) => textsOf(s, round)[agent])
  const past = lengths(texts, ({ context }) =>
    context.length > 1 && context[0].length >= options.shortestPrefix ? context[0].length : 0,
  )
  const whole = lengths(texts, ({ context }) => context.reduce((n, p) => n + p.length, 0))
  const target = lengths(texts, (text) => text.target.length)
  const prompt = Math.max(1, Math.min(whole, options.maxLength) - past)
  return { past, prompt, target: Math.max(1, Math.min(target, options.maxLength)) }
}

/** Links with gradients and moments, and what crosses them in a step. */
export function outerBeside(
  team: Team,
  { batchSize: batch, accumulate, steps }: Pick<OuterJob, 'batchSize' | 'accumulate' | 'steps'>,
  options: UnrollOptions,
  rows: number,
): MemoryPart[] {
  const size = (parameters: Readonly<Record<string, Float32Array>>) =>
    Object.values(parameters).reduce((n, v) => n + v.byteLength, 0)
  const inner = team.members.reduce((n, m) => n + size(m.inner.parameters), 0)
  const outer = team.links.reduce((n, l) => n + size(l.parameters), 0)
  const widest = Math.max(...team.members.map((m) => m.agent.hiddenSize))
  // of agents that read nobody in the first round
  const first = team.members.reduce(
    (n, m, i) => (linksInto(team.style, i, 0).length === 0 ? n + m.agent.hiddenSize : n),
    0,
  )
  const stages = options.rounds * team.links.length
  const crossing = stages * batch * options.cap * widest * 4 * 4
  const texts = Math.min(rows, steps * accumulate * batch) * options.rounds * team.members.length
  return [
    { name: 'links, their gradients and the optimiser', bytes: inner + trainedCopies * outer },
    // forward and gradients of each, inner and outer
    {
      name: 'sessions of links',
      bytes:
        smallSessionBytes *
        2 *
        (new Set(team.members.map((m) => m.innerGraph)).size + new Set(team.links.map((l) => l.graph)).size),
    },
    { name: 'states that cross links', bytes: crossing },
    { name: 'not yet collected', bytes: garbageBytes(texts, steps * accumulate * crossing) },
    { name: 'first states that are kept', bytes: Math.min(stateMemory, rows * options.cap * first * 4) },
  ]
}

/** A trained parameter's value, its gradient, the part of one more crossing, two moments, and copies while it is computed or saved. */
export const trainedCopies = 6

/** Bytes of a model's memory that its rollouts took and that runs of other sizes do not fill; measured with the demo's models. */
const startGaps = 12e6

/** What a start that learns from the senders' rollouts takes beside: all senders' may be held at a time. */
export function alignBeside(team: Team, rows: number, steps: number): MemoryPart[] {
  const senders = new Set(team.links.map((l) => l.source))
  const width = [...senders].reduce((n, i) => n + team.members[i].agent.hiddenSize, 0)
  const models = new Set(team.members.map((m) => m.agent)).size
  return [
    { name: "rollouts for the links' start", bytes: rows * steps * width * 4 },
    { name: "gaps that the links' start leaves", bytes: startGaps * models },
  ]
}

/** And asks: rollouts after prompts with text in the slots, taken to be as long as that of the longest target. */
export function alignWork(work: AgentWork, longest: number, rows: number, steps: number): AgentWork {
  return { ...work, passes: [...work.passes, { task: 'rollout', rows, places: longest, steps }] }
}

/** Tokens of the longest prompt of an agent with the senders' texts in its slots. */
export function goldPromptLength(
  style: StyleGraph,
  samples: readonly TrainingSample[],
  agent: number,
  round: number,
): number {
  return Math.max(
    1,
    ...samples.map((s) => {
      const texts = textsOf(s, round)
      const slots = linksInto(style, agent, round).map(({ source }) => texts[source].target.length)
      return [...texts[agent].prompt.map((p) => p.length), ...slots].reduce((a, b) => a + b, 0)
    }),
  )
}

/** How far the stages of a sample are read in outer training, in positions: what the sweep reads, and what its limit is held against. */
import { isFeedback, type StyleGraph } from '../styles/style'
import { walk } from '../styles/walk'
import { passedBy } from './passed-states'
import type { PassedStates, TrainingSample, TrainingText, UnrollOptions } from './unrolled'

/** One reading of a stage's text: which states it passes on (null: none), and whether its target is supervised. */
export interface Reading {
  readonly passed: PassedStates | null
  readonly supervised: boolean
}

/** States that are passed on, and tokens of the target that are read behind the prompt. */
export function tokensRead(
  target: number,
  { passed, supervised }: Reading,
  cap: number,
): { passed: number; count: number } {
  const states = passed === null ? 0 : passed === 'before-answer' ? 1 : Math.min(target, cap)
  const last = passed === 'reference' ? states : passed === 'shifted' ? states - 1 : 0
  return { passed: states, count: Math.max(supervised ? target - 1 : 0, last) }
}

/** What is held against the limit; `prompt`: positions before the target. The reference measures the whole conversation, read or not. */
export function measuredLength(
  prompt: number,
  target: number,
  reading: Reading,
  { cap, tooLong }: Pick<UnrollOptions, 'cap' | 'tooLong'>,
): number {
  return prompt + (tooLong === 'cut-left' ? target : tokensRead(target, reading, cap).count)
}

/** Steps of a self-fed rollout. */
export function rolloutSteps({ latentSteps, cap }: Pick<UnrollOptions, 'latentSteps' | 'cap'>): number {
  return Math.min(latentSteps, cap)
}

/** What is held against the limit where the agent rolls out from its prompt. */
export function rolloutLength(prompt: number, steps: number): number {
  return prompt + steps - 1
}

/** The texts of a round; a shorter list repeats its last entry. */
export function textsOf(sample: TrainingSample, round: number): readonly TrainingText[] {
  return sample.rounds[Math.min(round, sample.rounds.length - 1)]
}

/** A stage of a sample, measured. */
export interface MeasuredStage {
  readonly agent: number
  /** From 0. */
  readonly round: number
  /** Positions in each of its slots. */
  readonly slots: readonly number[]
  /** Of the longest of its readings. */
  readonly length: number
  readonly supervised: boolean
}

type Measures = Pick<
  UnrollOptions,
  'rounds' | 'states' | 'feedback' | 'cap' | 'latentSteps' | 'earlierWeight' | 'tooLong'
>

/** Every stage that so many rounds have, in order. Samples with an empty text are not measured: they are left out before. */
export function measureStages(style: StyleGraph, sample: TrainingSample, options: Measures): MeasuredStage[] {
  const { rounds, cap, earlierWeight } = options
  const steps = rolloutSteps(options)
  const passes = new Map<string, number>()
  return walk(style, rounds, { answersEveryRound: earlierWeight !== null }).map(({ agent, round, reads, sends }) => {
    const text = textsOf(sample, round)[agent]
    const slots = reads.map((link) => passes.get(`${link.source} ${isFeedback(link) ? round - 1 : round}`) ?? 0)
    const filled = slots.reduce((a, b) => a + b, 0)
    const positions = (pieces: TrainingText['prompt']) => pieces.reduce((n, p) => n + p.length, 0) + filled
    const supervised = agent === style.last && (round === rounds - 1 || earlierWeight !== null)
    const mode = passedBy(style, agent, options)
    const readsTarget = mode === 'reference' || mode === 'shifted'
    const lengths: number[] = []
    const read = (reading: Reading) => {
      const pieces = reading.passed === 'before-answer' && !reading.supervised ? text.prompt : text.context
      lengths.push(measuredLength(positions(pieces), text.target.length, reading, options))
      return tokensRead(text.target.length, reading, cap).passed
    }
    if (supervised && (reads.length === 0 || !(sends && readsTarget))) read({ passed: null, supervised: true })
    if (sends && mode === 'self-fed') {
      lengths.push(rolloutLength(positions(text.prompt), steps))
      passes.set(`${agent} ${round}`, steps)
    } else if (sends) {
      const alone = reads.length === 0
      passes.set(`${agent} ${round}`, read({ passed: mode, supervised: supervised && readsTarget && !alone }))
    }
    return { agent, round, slots, length: Math.max(...lengths), supervised }
  })
}

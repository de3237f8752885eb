/** What an outer job leaves open, settled: defaults that depend on other settings, and settings that do not go together. */
import { repeats } from '../defects'
import { UserError } from '../errors'
import { freshLinkType } from '../job-setup'
import { type AlignSpec, alignSpec, type JobSpec, type OuterJob } from '../job-spec'
import type { OuterLinkType } from '../nn/link-types'
import type { StyleGraph } from '../styles/style'
import { checkLeastSquares } from './least-squares'
import { passedFeedback, passedStates } from './passed-states'
import type { UnrollOptions } from './unrolled'

export interface OuterChoices {
  readonly rounds: { readonly from: number; readonly to: number }
  readonly states: UnrollOptions['states']
  readonly feedback: UnrollOptions['feedback']
  readonly learningRate: number
  readonly lastNorm: 'one' | 'embedding'
  /** null: a start at random. */
  readonly align: AlignSpec | null
  /** The type of a fresh link. */
  type(key: string): OuterLinkType
}

/** After a start on the receiver's embeddings more than this was seen to undo it (specification: improvements 4). */
const calmRate = 1e-3

/** UserErrors name settings that contradict each other; nothing is opened. */
export function settleOuter(
  job: OuterJob,
  style: Pick<StyleGraph, 'links'>,
  warn: (message: string) => void,
): OuterChoices {
  const rounds = typeof job.rounds === 'number' ? { from: job.rounds, to: job.rounds } : job.rounds
  if (rounds.from > rounds.to)
    throw new UserError({
      what: 'The range of rounds is empty.',
      why: `It goes from ${rounds.from} to ${rounds.to}.`,
      next: 'Give the smaller number first.',
    })
  const type = (key: string) => freshLinkType(job, key)
  const started = job.start !== 'random'
  if (job.start === 'least-squares') {
    if (job.startFrom !== undefined)
      throw new UserError({
        what: 'The links can start in one way only.',
        why: `A least-squares start would replace the links of ${job.startFrom} altogether.`,
        next: 'Leave out "startFrom", or choose another start.',
      })
    checkLeastSquares(style, type)
  }
  const learningRate = job.learningRate ?? (started ? 3e-4 : 5e-4)
  if (started && learningRate > calmRate)
    warn(`A learning rate of ${learningRate} may undo the ${job.start} start: above ${calmRate} it was seen to.`)
  return {
    rounds,
    states: passedStates(job),
    feedback: passedFeedback(job),
    learningRate,
    lastNorm: job.lastNorm ?? defaultLastNorm(job.mode),
    align: started ? (job.align ?? alignSpec.parse({})) : null,
    type,
  }
}

/** For inner links too. */
export function defaultLastNorm(mode: OuterJob['mode']): OuterChoices['lastNorm'] {
  return repeats('unit-gain', mode) ? 'one' : 'embedding'
}

/** What was decided for settings that the job leaves open, as one line of the log; null where it leaves none open. */
export function describeChoices(
  job: { readonly [setting: string]: unknown },
  choices: { readonly [setting: string]: string | number },
): string | null {
  const open = Object.entries(choices).filter(([setting]) => job[setting] === undefined)
  if (open.length === 0) return null
  return `Left open and decided: ${open.map(([setting, value]) => `${setting} ${value}`).join(', ')}.`
}

/** Are the stages' texts read once for their states and again for the gradient? (Self-fed ones are rolled out first.) */
export function readsTwice(job: JobSpec): boolean {
  return job.kind === 'outer' && passedStates(job) !== 'self-fed'
}

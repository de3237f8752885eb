/** Which states of a stage cross the links where an outer job does not say (specification: improvements 1). */
import { repeats } from '../defects'
import type { OuterJob } from '../job-spec'
import type { PassedStates, UnrollOptions } from './unrolled'

export function passedStates(job: Pick<OuterJob, 'states' | 'mode'>): NonNullable<OuterJob['states']> {
  return job.states ?? (repeats('late-states', job.mode) ? 'reference' : 'shifted')
}

/** What the answering agent sends back. */
export function passedFeedback(job: Pick<OuterJob, 'feedback' | 'mode'>): UnrollOptions['feedback'] {
  return job.feedback ?? (repeats('answer-leak', job.mode) ? 'same' : 'self-fed')
}

/** What an agent passes on. */
export function passedBy(
  style: { readonly last: number },
  agent: number,
  options: Pick<UnrollOptions, 'states' | 'feedback'>,
): PassedStates {
  return agent === style.last && options.feedback !== 'same' ? options.feedback : options.states
}

/** Options of a training run that a person may want to see in its checkpoints' manifests. */
import type { LinkProvenance } from './link-manifest'

const shared = [
  'startFrom',
  'maxLength',
  'steps',
  'batchSize',
  'learningRate',
  'schedule',
  'warmupSteps',
  'weightDecay',
  'maxGradNorm',
  'accumulate',
  'enableThinking',
] as const

/** The shared options of a job and `own`, options of its kind; null where one is not given. */
export function recordedOptions<Own extends string>(
  job: { readonly [name in (typeof shared)[number] | Own]?: unknown },
  own: readonly Own[],
): LinkProvenance['options'] {
  const named = [...own, ...shared].map((name) => [name, job[name] ?? null] as const)
  return Object.fromEntries(named) as LinkProvenance['options']
}

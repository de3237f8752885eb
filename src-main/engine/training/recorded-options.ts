/** Options of a training run that a person may want to see in its checkpoints' manifests. */
import type { LinkProvenance } from './link-manifest'

const shared = [
  'startFrom',
  'lastNorm',
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
  'validation',
] as const

type Options = { readonly [name: string]: unknown }

/**
 * The shared options of a job and `own`, options of its kind; null where one is not given. `settled`: those that the job left open,
 * as they were decided.
 */
export function recordedOptions<Own extends string>(
  job: { readonly [name in (typeof shared)[number] | Own]?: unknown },
  own: readonly Own[],
  settled: Partial<Record<(typeof shared)[number] | Own, unknown>> = {},
): LinkProvenance['options'] {
  const all: Options = { ...job, ...settled }
  const named = [...own, ...shared].map((name) => [name, all[name] ?? null] as const)
  return Object.fromEntries(named) as LinkProvenance['options']
}

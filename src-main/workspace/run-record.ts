/**
 * run.json: what a run is and what main knows of its life. Written by main, atomically, at every change of state; how far the work
 * itself has come is in the engine's journal.
 */
import { z } from 'zod'
import { jobKind, runId, runState, stepId, studioError } from '../bridge/views'

export const runRecord = z.strictObject({
  version: z.literal(1),
  id: runId,
  title: z.string(),
  kind: jobKind,
  /** The pipeline step that it is for. */
  step: stepId.nullable(),
  created: z.number(),
  /** The job spec; before the first start it may still hold "run:<step>" references. */
  spec: z.record(z.string(), z.unknown()),
  /** Every change of state, oldest first; the last one is the state. */
  history: z.array(z.strictObject({ time: z.number(), state: runState, detail: z.string().nullable() })).min(1),
  /** Why the last stretch ended badly. */
  error: studioError.nullable(),
})

export type RunRecord = z.infer<typeof runRecord>

export function stateOf(record: RunRecord): RunRecord['history'][number]['state'] {
  return record.history[record.history.length - 1].state
}

export function withState(
  record: RunRecord,
  state: RunRecord['history'][number]['state'],
  options: { time: number; detail?: string | null; error?: RunRecord['error'] },
): RunRecord {
  return {
    ...record,
    history: [...record.history, { time: options.time, state, detail: options.detail ?? null }],
    error: options.error ?? null,
  }
}

const active = (state: string): boolean => state === 'running' || state === 'stopping'

/** First start, end of the last stretch (null while going on), and seconds spent running until `now`. */
export function runTimes(
  record: RunRecord,
  now: number,
): { started: number | null; ended: number | null; seconds: number } {
  let started: number | null = null
  let ended: number | null = null
  let since: number | null = null
  let milliseconds = 0
  for (const { time, state } of record.history) {
    if (active(state)) {
      started ??= time
      since ??= time
      ended = null
    } else if (since !== null) {
      milliseconds += time - since
      since = null
      ended = time
    }
  }
  if (since !== null) milliseconds += Math.max(0, now - since)
  return { started, ended, seconds: milliseconds / 1000 }
}

/**
 * The engine's front door: takes a job, streams events, ends with exactly one `finished`, `stopped` or `failed`.
 * Runs in the engine process of the app, in the command line and in tests alike.
 */
import type { JobEvent } from './job-events'
import type { JobSpec } from './job-spec'

export interface RunOptions {
  /** Receives every event, in order. */
  readonly emit: (event: JobEvent) => void
  /** Aborting asks the job to stop at the next step boundary, in a state that can be resumed. */
  readonly signal?: AbortSignal
  /** Continue from the newest checkpoint (training) or the questions already answered (evaluation) in the output folder. */
  readonly resume?: boolean
}

export declare function runJob(spec: JobSpec, options: RunOptions): Promise<void>

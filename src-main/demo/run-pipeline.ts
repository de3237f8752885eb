/** Runs a pipeline's steps one after another in this process, each as the job that the app would run. */
import path from 'node:path'
import { runJob } from '../engine/engine'
import { UserError } from '../engine/errors'
import type { JobEvent, JobEventOf } from '../engine/job-events'
import { runGuarded } from '../jobs/serve-job'
import { outcomeOf, resolveStep, type Pipeline, type PipelineStep, type StepOutcome } from '../workspace/pipeline'
import type { Cell } from './comparison'

export interface RunPipelineOptions {
  /** Folder that the steps' paths are relative to. */
  readonly base: string
  /** Each step writes into a folder of its name in here. */
  readonly out: string
  readonly onEvent: (step: PipelineStep, event: JobEvent) => void
  readonly signal: AbortSignal
}

/** Cells of the comparison, in the order of the steps. Throws UserError for a step that fails; null when stopped. */
export async function runPipeline(pipeline: Pipeline, options: RunPipelineOptions): Promise<Cell[] | null> {
  const outcomes = new Map<string, StepOutcome>()
  const cells: Cell[] = []
  for (const step of pipeline.steps) {
    if (options.signal.aborted) return null
    const spec = resolveStep(step, {
      base: options.base,
      output: path.join(options.out, step.id),
      outcome: (id) => outcomes.get(id),
    })
    const events: JobEvent[] = []
    const end = await runGuarded(runJob, spec, {
      signal: options.signal,
      resume: false,
      emit: (event) => {
        if (event.kind === 'checkpoint' || event.kind === 'finished') events.push(event)
        options.onEvent(step, event)
      },
    })
    if (end.kind === 'stopped') return null
    if (end.kind === 'failed') throw stepFailed(step, end)
    if (end.kind !== 'finished') throw new Error(`the step ${step.id} ended with ${end.kind}`)
    const outcome = outcomeOf(events)
    if (outcome) outcomes.set(step.id, outcome)
    if (spec.kind === 'evaluate' && step.system !== undefined && end.accuracy)
      cells.push({ system: step.system, rounds: spec.rounds, accuracy: end.accuracy })
  }
  return cells
}

function stepFailed(step: PipelineStep, { what, why, next }: JobEventOf<'failed'>): UserError {
  return new UserError({ what: `The step "${step.title}" failed: ${what}`, why, next })
}

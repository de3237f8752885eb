/** A pipeline's state out of its project's runs, and the team that it builds, as the page draws them. */
import type { PipelineStepView, PipelineView, StepState } from '../bridge/contract'
import type { Pipeline, PipelineStep } from './pipeline'
import { stateOf } from './run-record'
import type { Run } from './run-store'
import { runSummary } from './run-views'
import { systemPicture } from './system-picture'

export interface PipelineInput {
  readonly project: string
  readonly pipeline: Pipeline
  /** Newest first. */
  readonly runs: readonly Run[]
  readonly now: number
  readonly queuePosition: (run: Run) => number | null
}

/** The run that speaks for a step: a done one before any other, else the newest; one that goes on now before all. */
export function runOfStep(runs: readonly Run[], step: string): Run | undefined {
  const own = runs.filter((run) => run.record.step === step)
  const going = own.find((run) => isGoing(stateOf(run.record)))
  return going ?? own.find((run) => stateOf(run.record) === 'done') ?? own[0]
}

/** Whether the step's links or numbers are there, whatever else is going on. */
export function isStepDone(runs: readonly Run[], step: string): boolean {
  return doneRunOf(runs, step) !== undefined
}

export function doneRunOf(runs: readonly Run[], step: string): Run | undefined {
  return runs.find((run) => run.record.step === step && stateOf(run.record) === 'done')
}

export function isGoing(state: StepState): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping'
}

export function stepStates(pipeline: Pipeline, runs: readonly Run[]): Map<string, StepState> {
  return new Map(pipeline.steps.map((step) => [step.id, stepState(step, runs)]))
}

function stepState(step: PipelineStep, runs: readonly Run[]): StepState {
  const run = runOfStep(runs, step.id)
  const state = run && stateOf(run.record)
  // A run that left the queue before it ever started says nothing about its step.
  const neverRan = state === 'paused' && !run!.record.history.some((h) => h.state === 'running')
  if (state !== undefined && !neverRan) return state
  return step.requires.every((id) => isStepDone(runs, id)) ? 'ready' : 'waiting'
}

/** The first step that could start now and is not done: what one press of the button would do. */
export function nextStep(
  pipeline: Pipeline,
  states: ReadonlyMap<string, StepState>,
  runs: readonly Run[],
): string | null {
  const step = pipeline.steps.find((s) => {
    const state = states.get(s.id)!
    return state !== 'done' && state !== 'waiting' && !isGoing(state) && s.requires.every((id) => isStepDone(runs, id))
  })
  return step?.id ?? null
}

export async function pipelineView(input: PipelineInput, assets: string): Promise<PipelineView> {
  const { project, pipeline, runs, now, queuePosition } = input
  const states = stepStates(pipeline, runs)
  const steps = pipeline.steps.map((step): PipelineStepView => {
    const run = runOfStep(runs, step.id)
    return {
      id: step.id,
      title: step.title,
      kind: step.kind,
      state: states.get(step.id)!,
      requires: step.requires,
      run: run ? runSummary(run, now, queuePosition(run)) : null,
    }
  })
  const running = steps.find((step) => step.state === 'running')
  return {
    project,
    steps,
    state: wholeState(steps.map((step) => step.state)),
    done: steps.filter((step) => step.state === 'done').length,
    total: steps.length,
    secondsLeft: running?.run?.progress?.secondsLeft ?? null,
    next: nextStep(pipeline, states, runs),
    system: await systemPicture(pipeline, (step) => doneRunOf(runs, step)?.id ?? null, assets),
  }
}

function wholeState(states: readonly StepState[]): PipelineView['state'] {
  const has = (state: StepState): boolean => states.includes(state)
  if (states.length === 0) return 'empty'
  if (has('stopping')) return 'stopping'
  if (has('running') || has('queued')) return 'running'
  if (has('failed')) return 'failed'
  if (has('interrupted')) return 'interrupted'
  if (has('paused')) return 'paused'
  return states.every((state) => state === 'done') ? 'done' : 'ready'
}

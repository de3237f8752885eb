/** What a state means for a reader: its word, its tone, and whether the run still wants the machine. */
import type { PipelineView, RunState, StepState, StudioError } from '../../src-main/bridge/contract'

export type Tone = 'neutral' | 'active' | 'good' | 'warning' | 'bad'

const words: Record<StepState, { word: string; tone: Tone }> = {
  waiting: { word: 'Waiting', tone: 'neutral' },
  ready: { word: 'Ready', tone: 'neutral' },
  queued: { word: 'Queued', tone: 'neutral' },
  running: { word: 'Running', tone: 'active' },
  stopping: { word: 'Stopping', tone: 'active' },
  paused: { word: 'Paused', tone: 'warning' },
  interrupted: { word: 'Interrupted', tone: 'warning' },
  failed: { word: 'Failed', tone: 'bad' },
  done: { word: 'Done', tone: 'good' },
}

export function stateWord(state: RunState | StepState): string {
  return words[state].word
}

export function stateTone(state: RunState | StepState): Tone {
  return words[state].tone
}

/** What a step still waits for: "Outer links (paused)", "Inner link: planner and 2 more"; empty where nothing. */
export function waitsFor(pipeline: PipelineView | undefined, stepId: string | null): string {
  const steps = pipeline?.steps ?? []
  const missing = (steps.find((step) => step.id === stepId)?.requires ?? []).flatMap((id) =>
    steps.filter((step) => step.id === id && step.state !== 'done'),
  )
  const worst = missing.find((step) => isBroken(step.state)) ?? missing[0]
  if (!worst) return ''
  const how = isBroken(worst.state) ? ` (${stateWord(worst.state).toLowerCase()})` : ''
  return `${worst.title}${how}${missing.length > 1 ? ` and ${missing.length - 1} more` : ''}`
}

/** Stopped short of its end: it goes no further by itself. */
export function isBroken(state: RunState | StepState): boolean {
  return state === 'paused' || state === 'interrupted' || state === 'failed'
}

/** Queued or running: belongs on top of the list. */
export function isActive(state: RunState): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping'
}

export const kindWords = { inner: 'Inner link', outer: 'Outer links', evaluate: 'Evaluation' } as const

/** The last lines of a log that say more than the error beside them. */
export function logBeside(logTail: string, error: StudioError, lines = 3): string {
  const repeats = (line: string) => [error.what, error.why].some((part) => part !== '' && line.includes(part))
  return logTail
    .split('\n')
    .filter((line) => line.trim() !== '' && !repeats(line))
    .slice(-lines)
    .join('\n')
}

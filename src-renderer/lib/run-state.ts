/** What a state means for a reader: its word, its tone, and whether the run still wants the machine. */
import type { RunState, StepState } from '../../src-main/bridge/contract'

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

/** Queued or running: belongs on top of the list. */
export function isActive(state: RunState): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping'
}

export const kindWords = { inner: 'Inner link', outer: 'Outer links', evaluate: 'Evaluation' } as const

/**
 * What a run's events add up to: one pure step per event, over the same stream whether it comes live from the engine or back from
 * journal.jsonl and metrics.jsonl. Lists are bounded, so a run of any length takes the same memory.
 */
import type { RunDetail, RunProgress, RunSummary, MetricPoint, ValidationPoint } from '../bridge/contract'
import { jobEvent, type JobEvent, type JobEventOf } from '../engine/job-events'
import { jsonLines } from './json-lines'

export interface RunJournal {
  readonly progress: RunProgress | null
  readonly lastMetrics: MetricPoint | null
  readonly checkpoints: RunDetail['checkpoints']
  readonly notes: RunDetail['notes']
  /** Question index -> right. */
  readonly answers: Map<number, boolean>
  readonly finished: JobEventOf<'finished'> | null
  /** The last `started`. */
  readonly started: JobEventOf<'started'> | null
  /** The last `stopped` or `failed` of the current stretch. */
  readonly ended: JobEventOf<'stopped'> | JobEventOf<'failed'> | null
}

const noteLimit = 200

/** The journal of a run that has said nothing yet. */
export function newJournal(): RunJournal {
  return {
    progress: null,
    lastMetrics: null,
    checkpoints: [],
    notes: [],
    answers: new Map(),
    started: null,
    finished: null,
    ended: null,
  }
}

/** The journal after one more event. `answers` is extended in place: it may hold thousands and belongs to this journal alone. */
export function addEvent(journal: RunJournal, event: JobEvent): RunJournal {
  switch (event.kind) {
    case 'started':
      return { ...journal, progress: null, started: event, finished: null, ended: null }
    case 'phase': {
      const { phase, title, total, unit, time } = event
      return { ...journal, progress: { phase, title, total, unit, time, done: 0, rate: null, secondsLeft: null } }
    }
    case 'progress': {
      const { kind: _, ...told } = event
      const known = journal.progress?.phase === event.phase ? journal.progress : null
      const { title, unit } = known ?? { title: event.phase, unit: '' }
      return { ...journal, progress: { title, unit, ...told } }
    }
    case 'metrics':
      return { ...journal, lastMetrics: metricPointOf(event) }
    case 'validation':
    case 'memory':
    case 'memory-used':
      return journal
    case 'checkpoint': {
      const { step, time, best, folder } = event
      const others = journal.checkpoints.filter((c) => c.folder !== folder)
      return {
        ...journal,
        checkpoints: [...others.map((c) => (best ? { ...c, best: false } : c)), { step, time, best, folder }],
      }
    }
    case 'question': {
      journal.answers.set(event.index, event.correct)
      return journal
    }
    case 'log':
      return {
        ...journal,
        notes: [...journal.notes, { time: event.time, level: event.level, message: event.message }].slice(-noteLimit),
      }
    case 'finished':
      return { ...journal, finished: event, ended: null }
    case 'stopped':
    case 'failed':
      return { ...journal, ended: event }
    default:
      return never(event)
  }
}

/** Checkpoints that are on disk count although the engine was ended before it could tell of them. In order of their steps. */
export function withCheckpoints(
  journal: RunJournal,
  found: readonly { step: number; time: number; folder: string }[],
): RunJournal {
  const untold = found.filter(({ folder }) => !journal.checkpoints.some((known) => known.folder === folder))
  if (untold.length === 0) return journal
  const checkpoints = [...journal.checkpoints, ...untold.map((checkpoint) => ({ ...checkpoint, best: false }))]
  return { ...journal, checkpoints: checkpoints.sort((a, b) => a.step - b.step) }
}

/** Bars are not kept on disk: how far the last phase came follows from what is. */
export function withProgress(journal: RunJournal): RunJournal {
  const { progress, finished, lastMetrics, checkpoints, answers } = journal
  if (!progress) return journal
  const steps = Math.max(lastMetrics?.step ?? 0, checkpoints.at(-1)?.step ?? 0)
  const known = progress.unit === 'steps' ? steps : progress.unit === 'questions' ? answers.size : 0
  const done = finished ? progress.total : Math.min(Math.max(progress.done, known), progress.total)
  return { ...journal, progress: { ...progress, done } }
}

export function metricPointOf(event: JobEventOf<'metrics'>): MetricPoint {
  const { kind: _, ...point } = event
  return point
}

export function validationPointOf(event: JobEventOf<'validation'>): ValidationPoint {
  const { kind: _, ...point } = event
  return point
}

export function answeredOf(journal: RunJournal): RunSummary['answered'] {
  if (journal.answers.size === 0) return null
  let right = 0
  for (const correct of journal.answers.values()) if (correct) right++
  return { right, total: journal.answers.size }
}

/** The events of a journal or metrics file; lines that are none are left out. */
export function eventsIn(file: string): AsyncGenerator<JobEvent> {
  return jsonLines(file, (value) => {
    const checked = jobEvent.safeParse(value)
    return checked.success ? checked.data : undefined
  })
}

function never(event: never): never {
  throw new Error(`Event without a rule: ${JSON.stringify(event)}`)
}

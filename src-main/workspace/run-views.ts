/** A run as the page sees it. */
import path from 'node:path'
import type { RunDetail, RunProgress, RunSummary } from '../bridge/contract'
import { exists, folderBytes } from './files'
import { lastLines } from './log-slice'
import { answeredOf } from './run-journal'
import { runTimes, stateOf } from './run-record'
import type { Run } from './run-store'

/** Whether runs/resume can go on with it (from its last checkpoint, or from the start where it has none). */
export function isResumable(run: Run): boolean {
  const state = stateOf(run.record)
  return state === 'paused' || state === 'interrupted' || state === 'failed'
}

export function runSummary(run: Run, now: number, queuePosition: number | null): RunSummary {
  const { project, record, journal } = run
  const state = stateOf(record)
  const { started, ended, seconds } = runTimes(record, now)
  return {
    project,
    id: record.id,
    title: record.title,
    kind: record.kind,
    step: record.step,
    state,
    created: record.created,
    started,
    ended,
    seconds,
    progress: state === 'running' || state === 'stopping' ? journal.progress : atRest(journal.progress),
    lastMetrics: journal.lastMetrics,
    checkpointStep: journal.checkpoints.at(-1)?.step ?? null,
    resumable: isResumable(run),
    stretch: journal.started && { time: journal.started.time, resumedFrom: journal.started.resumedFrom },
    queuePosition,
    error: record.error,
    accuracy: journal.finished?.accuracy ?? null,
    strictAccuracy: journal.finished?.strictAccuracy ?? null,
    answered: answeredOf(journal),
  }
}

export async function runDetail(run: Run, now: number, queuePosition: number | null): Promise<RunDetail> {
  const { record, journal, folder } = run
  const state = stateOf(record)
  // Checkpoints that keep-last has taken away since are still in the journal.
  const kept = await Promise.all(journal.checkpoints.map((c) => exists(c.folder)))
  return {
    ...runSummary(run, now, queuePosition),
    spec: record.spec,
    folder,
    bytesOnDisk: await folderBytes(folder),
    checkpoints: journal.checkpoints.filter((_, i) => kept[i]),
    notes: journal.notes,
    logTail: state === 'failed' || state === 'interrupted' ? await lastLines(path.join(folder, 'log.txt'), 20) : null,
    history: record.history,
  }
}

/** How far it came; what it would still have taken means nothing while nobody works on it. */
function atRest(progress: RunProgress | null): RunProgress | null {
  return progress && { ...progress, rate: null, secondsLeft: null, writing: undefined }
}

/** The link checkpoints of a project, from its training runs' folders. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { CheckpointView } from '../bridge/contract'
import { exists, folderBytes } from './files'
import type { Run } from './run-store'

/** Newest first; only what is still on disk. */
export async function checkpointsOf(runs: readonly Run[]): Promise<CheckpointView[]> {
  const views: CheckpointView[] = []
  for (const { project, id, record, journal } of runs) {
    if (record.kind === 'evaluate') continue
    const last = journal.checkpoints.at(-1)
    for (const checkpoint of journal.checkpoints) {
      if (!(await exists(checkpoint.folder))) continue
      views.push({
        project,
        run: id,
        runTitle: record.title,
        kind: record.kind,
        step: checkpoint.step,
        best: checkpoint.best,
        last: checkpoint === last,
        created: checkpoint.time,
        bytes: await folderBytes(checkpoint.folder),
        folder: checkpoint.folder,
        manifest: await readManifest(checkpoint.folder),
      })
    }
  }
  return views.sort((a, b) => b.created - a.created)
}

async function readManifest(folder: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8'))
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Where a run keeps its checkpoints: `step-N` folders under `checkpoints`. */
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { UserError } from '../errors'

/** Steps that have a folder, ascending. */
export async function listSteps(checkpoints: string): Promise<number[]> {
  const names = await readdir(checkpoints).catch(() => [])
  return names
    .flatMap((name) => {
      const found = /^step-(\d+)$/.exec(name)
      return found ? [Number(found[1])] : []
    })
    .sort((a, b) => a - b)
}

/** Throws a UserError that names the newest checkpoint where a folder, taken for a checkpoint, is that of a run or holds its checkpoints. */
export async function refuseRunFolder(folder: string): Promise<void> {
  for (const checkpoints of [join(folder, 'checkpoints'), folder]) {
    const newest = (await listSteps(checkpoints)).at(-1)
    if (newest === undefined) continue
    throw new UserError({
      what: 'A run has several checkpoints, and one of them is needed here.',
      why: `${folder} is the folder of ${checkpoints === folder ? 'the checkpoints of ' : ''}a whole run.`,
      next: `Give its newest checkpoint, ${join(checkpoints, `step-${newest}`)}, or an earlier one.`,
    })
  }
  const names: string[] = await readdir(folder).catch(() => [])
  if (names.includes('journal.jsonl') || (basename(folder) === 'checkpoints' && names.length === 0))
    throw new UserError({
      what: 'The run has no checkpoint yet.',
      why: `${basename(folder) === 'checkpoints' ? dirname(folder) : folder} is the folder of a run that has saved no links.`,
      next: 'Let the run go on, or choose the checkpoint of another one.',
    })
}

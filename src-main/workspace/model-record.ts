/** What the library knows of a model that was not downloaded: model-source.json in its folder. */
import path from 'node:path'
import { z } from 'zod'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import { exists, readJson } from './files'

const modelRecord = z.strictObject({
  format: z.literal('recursivemas-model/1'),
  name: z.string(),
  /** The folder that it was brought in from. */
  from: z.string(),
  /** Its files are the same bytes on the disk as the original's. */
  shared: z.boolean(),
  added: z.number(),
})
export type ModelRecord = z.infer<typeof modelRecord>

export const modelRecordName = 'model-source.json'

/** null where the folder has none. Throws UserError where it cannot be read. */
export async function readModelRecord(folder: string): Promise<ModelRecord | null> {
  const file = path.join(folder, modelRecordName)
  return (await exists(file)) ? readJson(file, modelRecord) : null
}

export function writeModelRecord(folder: string, record: ModelRecord): Promise<void> {
  return writeJsonWhole(path.join(folder, modelRecordName), record)
}

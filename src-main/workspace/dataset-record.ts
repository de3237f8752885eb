/** What the library knows of a data set that was not downloaded: dataset.json in its folder. */
import path from 'node:path'
import { z } from 'zod'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import { readJson } from './files'

const common = { format: z.literal('recursivemas-dataset/1'), name: z.string(), added: z.number() }

const datasetRecord = z.discriminatedUnion('kind', [
  /** A file of this computer that is read where it lies. */
  z.strictObject({ ...common, kind: z.literal('file'), path: z.string() }),
  /** Made here of another set. */
  z.strictObject({ ...common, kind: z.literal('derived'), from: z.string(), how: z.string() }),
])
export type DatasetRecord = z.infer<typeof datasetRecord>

export const datasetRecordFile = (folder: string): string => path.join(folder, 'dataset.json')

/** Throws UserError where it cannot be read. */
export function readDatasetRecord(folder: string): Promise<DatasetRecord> {
  return readJson(datasetRecordFile(folder), datasetRecord)
}

export function writeDatasetRecord(folder: string, record: DatasetRecord): Promise<void> {
  return writeJsonWhole(datasetRecordFile(folder), record)
}

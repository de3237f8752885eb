/** Raw JSON -> checked job spec, with a message that names the field when it does not fit. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { UserError } from '../engine/errors'
import { readableFileSize } from '../engine/formats/disk-errors'
import { parseJson } from '../engine/formats/json-text'
import { checkAgainst } from '../engine/formats/schema-faults'
import { jobSpec, type JobSpec } from '../engine/job-spec'
import { absoluteSpecPaths } from './spec-paths'

/** Checks a spec whose paths are absolute already. `source` is what the message calls it. Throws UserError. */
export function checkSpec(raw: unknown, source: string): JobSpec {
  const checked = checkAgainst(jobSpec, raw, 'the job')
  if (checked.ok) return checked.data
  throw new UserError({
    what: `${source} is not a job that can be run.`,
    why: `${checked.why}.`,
    next: 'Correct the field and start again.',
  })
}

/** Reads a spec file; relative paths in it are relative to its own folder. Throws UserError. */
export async function readSpecFile(file: string): Promise<JobSpec> {
  await readableFileSize(file, 'job spec')
  const text = await readFile(file, 'utf8')
  let raw: unknown
  try {
    raw = parseJson(text)
  } catch (error) {
    throw new UserError({
      what: 'The job spec cannot be read.',
      why: `${file} is not JSON (${(error as Error).message}).`,
      next: 'Correct the file and start again.',
    })
  }
  return checkSpec(absoluteSpecPaths(raw, path.dirname(path.resolve(file))), file)
}

/** Raw JSON -> checked job spec, with a message that names the field when it does not fit. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { z } from 'zod'
import { UserError } from '../engine/errors'
import { readableFileSize } from '../engine/formats/disk-errors'
import { jobSpec, type JobSpec } from '../engine/job-spec'
import { absoluteSpecPaths } from './spec-paths'

/** Checks a spec whose paths are absolute already. `source` is what the message calls it. Throws UserError. */
export function checkSpec(raw: unknown, source: string): JobSpec {
  const checked = jobSpec.safeParse(raw)
  if (checked.success) return checked.data
  throw new UserError({
    what: `${source} is not a job that can be run.`,
    why: describeIssues(checked.error),
    next: 'Correct the field and start again.',
  })
}

/** Reads a spec file; relative paths in it are relative to its own folder. Throws UserError. */
export async function readSpecFile(file: string): Promise<JobSpec> {
  await readableFileSize(file, 'job spec')
  const text = await readFile(file, 'utf8')
  let raw: unknown
  try {
    raw = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new UserError({
      what: `The job spec ${file} is not JSON.`,
      why: `${(error as Error).message}.`,
      next: 'Correct the file and start again.',
    })
  }
  return checkSpec(absoluteSpecPaths(raw, path.dirname(path.resolve(file))), file)
}

/** The first three faults of a value, each with the place where it stands. */
export function describeIssues(error: z.ZodError): string {
  const shown = error.issues.slice(0, 3).map((issue) => {
    const place = issue.path.map(String).join('.')
    return place ? `${place}: ${issue.message}` : issue.message
  })
  const rest = error.issues.length - shown.length
  return `${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}.`
}

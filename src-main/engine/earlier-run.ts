/**
 * What an output folder holds of an earlier run. A fresh run sets it aside, so that nothing of two runs is mixed; a resumed run
 * must have the settings that it was started with.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from './errors'
import { jobSpec, type JobSpec } from './job-spec'

export const specFile = (output: string): string => join(output, 'spec.json')

/** What a run writes and a later run must not find as its own. The cache is kept: its entries name all that they depend on. */
const ownFiles = ['checkpoints', 'metrics.jsonl', 'journal.jsonl', 'samples.jsonl', 'result.json']

/**
 * Moves what an earlier run left into `earlier-N` in the same folder, its spec.json too. The new folder's name; null when there
 * was nothing.
 */
export async function setAsideEarlierRun(output: string): Promise<string | null> {
  const found = ownFiles.filter((name) => existsSync(join(output, name)))
  if (found.length === 0) return null
  let n = 1
  while (existsSync(join(output, `earlier-${n}`))) n++
  const name = `earlier-${n}`
  await mkdir(join(output, name))
  for (const file of [...found, 'spec.json'])
    if (existsSync(join(output, file))) await rename(join(output, file), join(output, name, file))
  return name
}

/** Settings that may differ when a run goes on: where it works, how long, how often it saves, how many threads it has. */
const free: Readonly<Record<JobSpec['kind'], readonly string[]>> = {
  inner: ['output', 'cache', 'threads', 'steps', 'logEvery', 'saveEvery', 'keepLast', 'validation.patience'],
  outer: ['output', 'cache', 'threads', 'steps', 'logEvery', 'saveEvery', 'keepLast', 'validation.patience'],
  // an answer does not depend on the questions beside it
  evaluate: ['output', 'cache', 'threads', 'batchSize'],
}

/**
 * Throws UserError where the run in the folder was started with other settings. A message where this cannot be told; null
 * when all is well or there is no earlier run.
 */
export async function checkSameSettings(job: JobSpec): Promise<string | null> {
  const file = specFile(job.output)
  const text = await readFile(file, 'utf8').catch(() => null)
  if (text === null) return null
  const earlier = parse(text)
  if (earlier === null)
    return `${file} cannot be read, so nothing tells whether the run is resumed with the settings that it was started with.`
  const changed = differences(plain(earlier), plain(job)).filter((field) => !free[job.kind].includes(field))
  if (changed.length === 0) return null
  throw new UserError({
    what: 'The run cannot be resumed.',
    why: `Its settings differ from those that it was started with (${file}): ${changed.join(', ')}.`,
    next: 'Resume it with its own settings, or start a new run in another folder.',
  })
}

/** Through the schema, so that a setting that is new in this version has its default in both. */
function parse(text: string): JobSpec | null {
  try {
    return jobSpec.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

/** Without settings that are absent. */
const plain = (job: JobSpec): unknown => JSON.parse(JSON.stringify(job))

/** Dotted names of the fields that differ. */
function differences(a: unknown, b: unknown, name = ''): string[] {
  if (isObject(a) && isObject(b))
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) =>
      differences(a[key], b[key], name === '' ? key : `${name}.${key}`),
    )
  return JSON.stringify(a) === JSON.stringify(b) ? [] : [name]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * What an output folder holds of an earlier run. A fresh run sets it aside, so that nothing of two runs is mixed; a resumed run
 * must have the settings that it was started with, and find in the files that it is given what they held then.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, rmdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { UserError } from './errors'
import { explainingDiskErrors } from './formats/disk-errors'
import { writeJsonWhole } from './formats/atomic-files'
import { jobSpec, type JobSpec } from './job-spec'
import { contentPaths, dataPaths, linkPaths, mapSpecPaths, moved, specPaths } from './spec-paths'
import { hashLink } from './training/link-hash'

export const specFile = (output: string): string => join(output, 'spec.json')

/** Path of a link, prompts, a style or data that the run was given -> hash of what it held. */
const hashesFile = (output: string): string => join(output, 'link-hashes.json')

/** What a run writes and a later run must not find as its own. The cache is kept: its entries name all that they depend on. */
const ownFiles = ['checkpoints', 'metrics.jsonl', 'journal.jsonl', 'samples.jsonl', 'result.json']

/**
 * Makes the folder the run's: a fresh run sets an earlier one aside, and what the run is given is written down. The name of the
 * folder of what was set aside, null where nothing was. Where the disk refuses, the folder is left as it was.
 */
export async function takeOver(job: JobSpec, resume: boolean): Promise<string | null> {
  const aside = resume
    ? null
    : await explainingDiskErrors({ folder: job.output, doing: 'What an earlier run left could not be set aside' }, () =>
        setAsideEarlierRun(job.output),
      )
  try {
    await writeStart(job, resume)
  } catch (error) {
    if (!resume) await takeBack(job.output, aside).catch(() => undefined)
    throw error
  }
  return aside
}

/** Writes the settings of the run, and what its files hold; of those that cannot be read a resumed run goes on saying what they held. */
async function writeStart(job: JobSpec, resume: boolean): Promise<void> {
  const hashes = await contentHashes(job)
  const earlier = resume ? await readEarlier(job.output) : null
  if (earlier) for (const [path, hash] of heldThen(earlier, job)) if (!hashes.has(path)) hashes.set(path, hash)
  if (hashes.size > 0) await writeJsonWhole(hashesFile(job.output), Object.fromEntries(hashes))
  else await rm(hashesFile(job.output), { force: true })
  await writeJsonWhole(specFile(job.output), job)
}

async function takeBack(output: string, aside: string | null): Promise<void> {
  // the settings are written last
  await rm(hashesFile(output), { force: true })
  if (aside === null) return
  const folder = join(output, aside)
  for (const name of await readdir(folder)) await rename(join(folder, name), join(output, name))
  await rmdir(folder)
}

/**
 * Moves what an earlier run left into `earlier-N` in the same folder, its settings too. The new folder's name; null when there
 * was nothing.
 */
export async function setAsideEarlierRun(output: string): Promise<string | null> {
  const found = ownFiles.filter((name) => existsSync(join(output, name)))
  if (found.length === 0) return null
  let n = 1
  while (existsSync(join(output, `earlier-${n}`))) n++
  const name = `earlier-${n}`
  await mkdir(join(output, name))
  for (const file of [...found, 'spec.json', 'link-hashes.json'])
    if (existsSync(join(output, file))) await rename(join(output, file), join(output, name, file))
  return name
}

const freeForAll = ['output', 'cache', 'threads', 'memoryLimit', 'checkpointBlocks']
const freeInTraining = [...freeForAll, 'steps', 'logEvery', 'saveEvery', 'keepLast', 'validation.patience']

/** Settings that may differ when a run goes on: where it works, how long, how often it saves, how many threads it has. */
const free: Readonly<Record<JobSpec['kind'], readonly string[]>> = {
  inner: freeInTraining,
  outer: freeInTraining,
  // an answer does not depend on the questions beside it
  evaluate: [...freeForAll, 'batchSize'],
}

/**
 * Throws UserError where the run in the folder was started with other settings. A message where this cannot be told; null
 * when all is well or there is no earlier run.
 */
export async function checkSameSettings(job: JobSpec): Promise<string | null> {
  const earlier = await readEarlier(job.output)
  if (earlier === null) return null
  const file = specFile(job.output)
  if (earlier.spec === null)
    return `${file} cannot be read, so nothing tells whether the run is resumed with the settings that it was started with.`
  const { then, now, replaced } = await comparable({ ...earlier, spec: earlier.spec }, job)
  const changed = differences(plain(then), plain(now)).filter((field) => !free[job.kind].includes(field))
  if (changed.length === 0) return null
  const content = (path: string) =>
    linkPaths(job).includes(path) ? 'other links' : dataPaths(job).includes(path) ? 'other data' : 'something else'
  throw new UserError({
    what: 'The run cannot be resumed.',
    why: `Its settings differ from those that it was started with (${file}): ${changed.join(', ')}.${replaced.map((path) => ` ${path} holds ${content(path)} now.`).join('')}`,
    next: 'Resume it with its own settings, or start a new run in another folder.',
  })
}

/** What the run in the folder was started with. */
interface Earlier {
  /** null: it cannot be read. */
  readonly spec: JobSpec | null
  /** By the paths of that time. */
  readonly hashes: ReadonlyMap<string, string>
}

/** null where there is no run. */
async function readEarlier(output: string): Promise<Earlier | null> {
  const text = await readFile(specFile(output), 'utf8').catch(() => null)
  return text === null ? null : { spec: parse(text), hashes: await storedHashes(output) }
}

/**
 * Both specs with their paths made comparable: what lay in a folder that was moved with the run's own is where it is now, and files
 * stand as what they hold. Those of which earlier versions kept no hash are compared by path.
 */
async function comparable(
  earlier: Earlier & { readonly spec: JobSpec },
  job: JobSpec,
): Promise<{ then: unknown; now: unknown; replaced: readonly string[] }> {
  const [before, after] = [heldThen(earlier, job), await contentHashes(job)]
  const place = placeNow(earlier, job)
  const given = new Set(contentPaths(job))
  const known = new Set(before.values())
  const then = mapSpecPaths(earlier.spec, (path) => {
    const here = place(path)
    // a file that is gone is for whoever opens it to complain of
    return given.has(here) && !after.has(here) ? here : (before.get(here) ?? here)
  })
  const now = mapSpecPaths(job, (path) => {
    const hash = after.get(path)
    return hash !== undefined && (before.has(path) || known.has(hash)) ? hash : path
  })
  const replaced = [...after].flatMap(([path, hash]) => ((before.get(path) ?? hash) === hash ? [] : [path]))
  return { then, now, replaced }
}

/** The hashes of the earlier run by where its files are now. */
function heldThen(earlier: Earlier, job: JobSpec): Map<string, string> {
  const place = placeNow(earlier, job)
  return new Map([...earlier.hashes].map(([path, hash]) => [place(path), hash]))
}

/** Where a path of the earlier run is now: where it was, or moved along with the run's folder. */
function placeNow({ spec }: Earlier, job: JobSpec): (path: string) => string {
  const { from, to } = movedRoots(spec?.output ?? job.output, job.output)
  const named = new Set(specPaths(job))
  return (path) => (named.has(path) ? path : moved(path, from, to))
}

/** The highest folders that an output folder's move can have renamed: what stands before the end that both paths share. */
function movedRoots(from: string, to: string): { from: string; to: string } {
  const [a, b] = [from.split(sep), to.split(sep)]
  while (a.length > 1 && b.length > 1 && a.at(-1) === b.at(-1)) {
    a.pop()
    b.pop()
  }
  return { from: a.join(sep), to: b.join(sep) }
}

async function contentHashes(job: JobSpec): Promise<Map<string, string>> {
  const found = await Promise.all(
    [...new Set(contentPaths(job))].map(async (path) => [path, await hashLink(path)] as const),
  )
  return new Map(found.filter((entry): entry is [string, string] => entry[1] !== null))
}

async function storedHashes(output: string): Promise<Map<string, string>> {
  try {
    return new Map(Object.entries(JSON.parse(await readFile(hashesFile(output), 'utf8')) as Record<string, string>))
  } catch {
    return new Map()
  }
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
const plain = (job: unknown): unknown => JSON.parse(JSON.stringify(job))

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

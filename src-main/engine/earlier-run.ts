/**
 * What an output folder holds of an earlier run. A fresh run sets it aside, so that nothing of two runs is mixed; a resumed run
 * must have the settings that it was started with. A start that comes to nothing is taken back.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, rmdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { UserError } from './errors'
import { writeFileWhole, writeJsonWhole } from './formats/atomic-files'
import { jobSpec, type JobSpec } from './job-spec'
import { contentPaths, linkPaths, mapSpecPaths, moved, specPaths } from './spec-paths'
import { hashLink } from './training/link-hash'

export const specFile = (output: string): string => join(output, 'spec.json')

/** Path of a link that the run was given -> hash of what it held. */
const linkHashesFile = (output: string): string => join(output, 'link-hashes.json')

/** What a run writes and a later run must not find as its own. The cache is kept: its entries name all that they depend on. */
const ownFiles = ['checkpoints', 'metrics.jsonl', 'journal.jsonl', 'samples.jsonl', 'result.json']

/** What a start changed in its output folder. */
export interface Start {
  /** Folder of what was set aside there. */
  readonly aside: string | null
  /** Content of the spec.json that stood there. */
  readonly spec: string | null
}

/** Writes what the run is given: its settings, and what its links hold. */
export async function writeStart(job: JobSpec): Promise<void> {
  const hashes = await linkHashes(job)
  if (Object.keys(hashes).length > 0) await writeJsonWhole(linkHashesFile(job.output), hashes)
  else await rm(linkHashesFile(job.output), { force: true })
  await writeJsonWhole(specFile(job.output), job)
}

/** Whether a resumed run finds nothing to go on with, so that it starts like a fresh one. */
export function isUnused(output: string): boolean {
  return [specFile(output), ...ownFiles.map((name) => join(output, name))].every((file) => !existsSync(file))
}

/** The folder as it was before a start that came to nothing. */
export async function takeBackStart(output: string, { aside, spec }: Start): Promise<void> {
  for (const name of ownFiles) await rm(join(output, name), { recursive: true, force: true })
  await rm(linkHashesFile(output), { force: true })
  if (spec === null || aside !== null) await rm(specFile(output), { force: true })
  else await writeFileWhole(specFile(output), spec)
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
  const { then, now, replaced } = await comparable(earlier, job)
  const changed = differences(plain(then), plain(now)).filter((field) => !free[job.kind].includes(field))
  if (changed.length === 0) return null
  throw new UserError({
    what: 'The run cannot be resumed.',
    why: `Its settings differ from those that it was started with (${file}): ${changed.join(', ')}.${replaced.map((path) => ` ${path} holds ${linkPaths(job).includes(path) ? 'other links' : 'something else'} now.`).join('')}`,
    next: 'Resume it with its own settings, or start a new run in another folder.',
  })
}

/**
 * Both specs with their paths made comparable: what lay in a folder that was moved with the run's own is where it is now, and links
 * stand as what they hold. Runs of versions that kept no hashes have their links compared by path.
 */
async function comparable(
  earlier: JobSpec,
  job: JobSpec,
): Promise<{ then: unknown; now: unknown; replaced: readonly string[] }> {
  const [hashesThen, hashesNow] = [await storedHashes(job.output), await linkHashes(job)]
  const { from, to } = movedRoots(earlier.output, job.output)
  const named = new Set(specPaths(job))
  const then = mapSpecPaths(earlier, (path) => {
    const here = named.has(path) ? path : moved(path, from, to)
    // a link that is gone is for whoever opens it to complain of
    if (hashesThen?.[path] === undefined || (named.has(here) && contentPaths(job).includes(here) && !hashesNow[here])) return here
    return hashesThen[path]
  })
  const now = mapSpecPaths(job, (path) => (hashesThen === null ? path : (hashesNow[path] ?? path)))
  const replaced = Object.entries(hashesNow).flatMap(([path, hash]) =>
    hashesThen?.[path] !== undefined && hashesThen[path] !== hash ? [path] : [],
  )
  return { then, now, replaced }
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

async function linkHashes(job: JobSpec): Promise<Record<string, string>> {
  const found = await Promise.all(
    [...new Set(contentPaths(job))].map(async (path) => [path, await hashLink(path)] as const),
  )
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== null))
}

async function storedHashes(output: string): Promise<Record<string, string> | null> {
  try {
    return JSON.parse(await readFile(linkHashesFile(output), 'utf8')) as Record<string, string>
  } catch {
    return null
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

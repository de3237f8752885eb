/**
 * The data of a job as the engine reads it. A job spec may name any file that can be opened here (`data.file`, with `data.field` of a
 * JSON object); what the engine does not read itself is written, text and digits unchanged, as JSON lines into the run's folder.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, readFile, rm } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { specFile } from '../engine/earlier-run'
import { UserError } from '../engine/errors'
import { readableFileSize, takeBackFolder } from '../engine/formats/disk-errors'
import { makeFolder } from '../engine/formats/make-folder'
import type { JobSpec } from '../engine/job-spec'
import { detectFormat } from './detect-format'
import { saveRows } from './derived'
import { openDataset, type OpenOptions } from './open-dataset'
import { unreadable } from './unreadable'

/** The engine holds a .json file as one text, which ends near 512 MiB. */
const longestJson = 400 * 2 ** 20

export interface JobData {
  /** The same spec, with every data file that the engine cannot read replaced by one that it can. */
  readonly spec: JobSpec
  /** For the end of the job: where it could not begin, what was written for it goes again. */
  takeBack(): Promise<void>
}

/** Writes a data file's rows as JSON lines. Throws UserError where one of them cannot be read. */
export type Convert = (file: string, field: string | undefined, target: string) => Promise<void>

type HereOptions = Pick<OpenOptions, 'cache' | 'signal'>

/** `convert`: by whom that is done; default: in this process. Throws UserError, having left nothing. */
export async function prepareJobData(
  spec: JobSpec,
  { convert, ...here }: HereOptions & { readonly convert?: Convert } = {},
): Promise<JobData> {
  const own: Convert = (file, field, target) => convertHere(file, field, target, here)
  const written = new Written(spec.output)
  try {
    return {
      spec: (await prepareFields(spec, written, convert ?? own)) as JobSpec,
      takeBack: () => written.takeBack(),
    }
  } catch (error) {
    await written.takeBack()
    throw error
  }
}

/** What was written into a run's folder before its engine started. */
class Written {
  readonly folder: string
  private topmost: string | null = null
  private readonly files: string[] = []

  constructor(private readonly output: string) {
    this.folder = join(output, 'data')
  }

  async write(target: string, write: () => Promise<void>): Promise<void> {
    this.topmost ??= makeFolder(this.folder)
    await write()
    this.files.push(target)
  }

  /** A run that began names in its settings what it reads. */
  async takeBack(): Promise<void> {
    const settings = await readFile(specFile(this.output), 'utf8').catch(() => '')
    for (const file of this.files) if (!settings.includes(JSON.stringify(file))) await rm(file, { force: true })
    await takeBackFolder(this.folder, this.topmost)
  }
}

interface DataFields {
  readonly file: string
  readonly field?: string
}

async function prepareFields(value: unknown, written: Written, convert: Convert): Promise<unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries: [string, unknown][] = []
  for (const [key, entry] of Object.entries(value))
    entries.push([
      key,
      key === 'data' && isData(entry)
        ? await prepareOne(entry, written, convert)
        : await prepareFields(entry, written, convert),
    ])
  return Object.fromEntries(entries)
}

function isData(value: unknown): value is DataFields {
  return typeof value === 'object' && value !== null && 'file' in value && typeof value.file === 'string'
}

async function prepareOne(data: DataFields, written: Written, convert: Convert): Promise<unknown> {
  const { file, field, ...rest } = data
  if (await engineReads(file)) return data
  await readableFileSize(file, 'data file')
  // named by what it holds, so that a run that goes on finds the same file
  const name = `${basename(file, extname(file))}-${(await contentHash(file, field)).slice(0, 16)}.jsonl`
  const target = join(written.folder, name)
  const made = await access(target).then(
    () => true,
    () => false,
  )
  if (!made) await written.write(target, () => convert(file, field, target))
  return { ...rest, file: target }
}

/** A file that runs read as it is; any other is converted first. */
export async function engineReads(file: string): Promise<boolean> {
  const extension = extname(file).toLowerCase()
  if (extension !== '.json' && extension !== '.jsonl') return false
  // a file that is missing, empty or no JSON: the engine says so itself
  const detected = await detectFormat(file).catch((error: unknown) => {
    if (error instanceof UserError) return null
    throw error
  })
  if (detected === null) return true
  const { format, encoding, promised, size } = detected
  return encoding === 'utf-8' && promised === null && (format === 'jsonl' || size <= longestJson)
}

export async function convertHere(
  file: string,
  field: string | undefined,
  target: string,
  options: HereOptions = {},
): Promise<void> {
  const dataset = await openDataset(file, { ...options, field })
  try {
    const { leftOut, problems } = dataset.info
    if (leftOut > 0) {
      const first = problems.find(({ kind }) => kind !== 'wrong-extension' && kind !== 'mixed-types')
      throw unreadable(
        file,
        `${leftOut} of its rows cannot be read${first ? ` (${first.message.replace(/(; it is left out)?\.$/, '')})` : ''}`,
        'Correct the file.',
      )
    }
    await saveRows(dataset, target, { signal: options.signal })
  } finally {
    await dataset.close()
  }
}

async function contentHash(file: string, field: string | undefined): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) hash.update(piece)
  return hash.update(`\0${field ?? ''}`).digest('hex')
}

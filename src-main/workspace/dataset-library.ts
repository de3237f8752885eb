/**
 * The data sets that can be chosen: downloads (datasets/<owner>--<name> with their download record), files of this computer and sets
 * made here (datasets/<folder>/dataset.json), and the data that projects have of their own.
 */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { DatasetEntry, StudioError, UsedBy } from '../bridge/contract'
import { entryId } from '../bridge/model-views'
import { detectFormat } from '../datasets/detect-format'
import { UserError } from '../engine/errors'
import { writeFolderWhole } from '../engine/formats/atomic-files'
import { dataPaths } from '../engine/spec-paths'
import { readDownloadRecord } from '../hub/download/record'
import { recordName } from '../hub/safe-path'
import { type DatasetRecord, datasetRecordFile, readDatasetRecord, writeDatasetRecord } from './dataset-record'
import { changedAt, exists, fileSize, folderBytes, inside, subFolders } from './files'
import { removeEntry } from './library-remove'
import { mayUse, type Use, usedBy, usesOf } from './library-use'
import type { Places } from './places'
import type { ProjectStore } from './project-store'
import { checkSetName, freeSetName } from './set-names'

/** Files that can be read as rows. */
const rows = /\.(parquet|jsonl?|ndjson|csv|tsv)$/i
const libraryName = 'library'

/** Where an entry's files lie. */
interface Place {
  readonly entry: DatasetEntry
  /** What the file manager shows. */
  readonly folder: string
  /** Of a file of the entry. */
  readonly pathOf: (file: string) => string
  /** The folder that goes with the entry; null where it belongs to a project. */
  readonly own: string | null
}

export class DatasetLibrary {
  constructor(
    private readonly places: Places,
    private readonly projects: ProjectStore,
  ) {}

  async list(): Promise<DatasetEntry[]> {
    return (await this.all()).map(({ entry }) => entry)
  }

  /** Throws UserError where there is none. */
  async get(id: string): Promise<DatasetEntry> {
    return (await this.place(id)).entry
  }

  /** The absolute path of a file of a set; null: its only one, or its first. Throws UserError where it cannot be used. */
  async file(id: string, file: string | null): Promise<{ path: string; file: string }> {
    const { entry, pathOf } = await this.place(id)
    if (entry.problem) throw new UserError(entry.problem)
    const wanted = file ?? entry.files[0]?.path
    const found = entry.files.find((one) => one.path === wanted)
    if (!found)
      throw new UserError({
        what: `The data set "${entry.name}" cannot be opened.`,
        why: file === null ? 'It holds no file with rows.' : `It has no file "${file}".`,
        next:
          entry.files.length > 0
            ? `Choose one of ${entry.files.map((one) => one.path).join(', ')}.`
            : 'Choose another.',
      })
    return { path: pathOf(found.path), file: found.path }
  }

  /** Lists a file of this computer; one that is listed already is not listed twice. Throws UserError for what is no data file. */
  async addFile(file: string): Promise<DatasetEntry> {
    const target = path.resolve(file)
    await detectFormat(target)
    const known = (await this.all()).find(
      ({ entry: { source } }) => source.kind === 'file' && path.resolve(source.path) === target,
    )
    if (known) return known.entry
    const name = path.basename(target)
    const folder = freeSetName(path.parse(target).name, await subFolders(this.places.datasets))
    await this.write(folder, { format: 'recursivemas-dataset/1', kind: 'file', name, path: target, added: Date.now() })
    return this.get(`${libraryName}/${folder}`)
  }

  /** A new set of this name; `fill` writes its files into the folder that it is given. Throws UserError. */
  async create(
    name: string,
    made: { from: string; how: string },
    fill: (folder: string) => Promise<void>,
  ): Promise<DatasetEntry> {
    checkSetName(name, await subFolders(this.places.datasets))
    const record: DatasetRecord = {
      format: 'recursivemas-dataset/1',
      kind: 'derived',
      name,
      ...made,
      added: Date.now(),
    }
    await this.write(name, record, fill)
    return this.get(`${libraryName}/${name}`)
  }

  /** Deletes what the library holds of it; returns the bytes. Throws UserError while a project uses it. */
  async remove(id: string): Promise<number> {
    const { entry, own } = await this.place(id)
    const { name, source } = entry
    const usedBy = [...entry.usedBy, ...(own === null ? [] : await mayUse(this.places, this.projects, own))]
    const bytes = own === null ? 0 : await folderBytes(own)
    await removeEntry({
      ...{ called: `The data set "${name}"`, name, usedBy, isDownload: source.kind === 'hub', folder: own },
      whereUsed: 'Delete the project first, on its Overview.',
    })
    return bytes
  }

  /** The folder to show. */
  async folder(id: string): Promise<string> {
    const { entry, folder } = await this.place(id)
    if (await exists(folder)) return folder
    throw new UserError(entry.problem ?? gone(entry.name, folder))
  }

  private async write(name: string, record: DatasetRecord, fill?: (folder: string) => Promise<void>): Promise<void> {
    await writeFolderWhole(inside(this.places.datasets, name), async (temporary) => {
      await fill?.(temporary)
      await writeDatasetRecord(temporary, record)
    })
  }

  private async place(id: string): Promise<Place> {
    const place = (await this.all()).find(({ entry }) => entry.id === id)
    if (place) return place
    throw new UserError({
      what: 'There is no such data set.',
      why: `The library has none called "${id}" (any more).`,
      next: 'Choose one from the list.',
    })
  }

  private async all(): Promise<Place[]> {
    const uses = await this.uses()
    const found: Place[] = []
    for (const name of await subFolders(this.places.datasets)) {
      if (name.startsWith('.') || !entryId.safeParse(`${libraryName}/${name}`).success) continue
      const place = await this.inLibrary(name, uses)
      if (place) found.push(place)
    }
    return [...found, ...(await this.ofProjects(uses))]
  }

  private async inLibrary(name: string, uses: readonly Use[]): Promise<Place | null> {
    const folder = path.join(this.places.datasets, name)
    const id = `${libraryName}/${name}`
    try {
      if (await exists(path.join(folder, recordName))) return await this.download(id, name, folder, uses)
      if (await exists(datasetRecordFile(folder))) return await this.recorded(id, folder, uses)
      const files = await dataFiles(folder)
      if (files.length === 0) return null
      return inFolder(folder, {
        ...{ id, name, source: { kind: 'unknown' }, licence: null, files, added: await changedAt(folder) },
        problem: null,
        usedBy: usedIn(folder, uses),
      })
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      const { what, why, next } = error
      return inFolder(folder, {
        ...{ id, name, source: { kind: 'unknown' }, licence: null, files: [], added: null },
        problem: { what, why, next },
        usedBy: usedIn(folder, uses),
      })
    }
  }

  private async download(id: string, name: string, folder: string, uses: readonly Use[]): Promise<Place | null> {
    const record = (await readDownloadRecord(folder))!
    if (record.kind !== 'dataset') return null
    const { endpoint, revision, commit, licence } = record
    const files = record.files.flatMap(({ path: file, size }) => (rows.test(file) ? [{ path: file, bytes: size }] : []))
    const missing = record.complete ? await firstMissing(folder, files) : null
    const place = inFolder(folder, {
      ...{ id, name: record.name || name, licence, files, added: await changedAt(path.join(folder, recordName)) },
      source: { kind: 'hub', endpoint, name: record.name, revision, commit },
      problem: record.complete
        ? missing === null
          ? null
          : gone(record.name, path.join(folder, missing))
        : {
            what: `The data set "${record.name}" cannot be used yet.`,
            why: 'Its download is not complete.',
            next: 'Resume the download.',
          },
      usedBy: usedIn(folder, uses),
    })
    return record.complete ? place : { ...place, entry: { ...place.entry, state: 'incomplete' } }
  }

  private async recorded(id: string, folder: string, uses: readonly Use[]): Promise<Place> {
    const record = await readDatasetRecord(folder)
    const common = { id, name: record.name, licence: null, added: record.added }
    if (record.kind === 'derived')
      return inFolder(folder, {
        ...common,
        source: { kind: 'derived', from: record.from, how: record.how },
        files: await dataFiles(folder),
        problem: null,
        usedBy: usedIn(folder, uses),
      })
    const size = await fileSize(record.path)
    return {
      entry: entryOf({
        ...common,
        source: { kind: 'file', path: record.path },
        files: size === null ? [] : [{ path: path.basename(record.path), bytes: size }],
        problem: size === null ? gone(record.name, record.path) : null,
        usedBy: usedOf(record.path, uses),
      }),
      folder: path.dirname(record.path),
      pathOf: () => record.path,
      own: folder,
    }
  }

  /** Data that lies in a project's folder and is read by its pipeline. */
  private async ofProjects(uses: readonly Use[]): Promise<Place[]> {
    const found = new Map<string, Place>()
    for (const { project, path: file } of uses) {
      const assets = this.places.assets(project)
      if (project === libraryName || !file.startsWith(assets + path.sep) || found.has(file)) continue
      const below = path.relative(assets, file).split(path.sep).join('/')
      const size = await fileSize(file)
      found.set(file, {
        entry: entryOf({
          id: `${project}/${below}`,
          name: below,
          source: { kind: 'project', project },
          licence: null,
          files: size === null ? [] : [{ path: below, bytes: size }],
          added: null,
          problem: size === null ? gone(below, file) : null,
          usedBy: usedOf(file, uses),
        }),
        folder: path.dirname(file),
        pathOf: () => file,
        own: null,
      })
    }
    return [...found.values()]
  }

  private uses(): Promise<Use[]> {
    return usesOf(this.places, this.projects, ({ title, spec }) =>
      [...new Set(dataPaths(spec))].map((file) => ({ path: file, as: title })),
    )
  }
}

type Described = Omit<DatasetEntry, 'bytes' | 'state'>

function entryOf(described: Described): DatasetEntry {
  return {
    ...described,
    bytes: described.files.reduce((n, { bytes }) => n + bytes, 0),
    state: described.problem === null ? 'ready' : 'unusable',
  }
}

function inFolder(folder: string, described: Described): Place {
  return { entry: entryOf(described), folder, pathOf: (file) => path.join(folder, ...file.split('/')), own: folder }
}

function gone(name: string, file: string): StudioError {
  return {
    what: `The data set "${name}" cannot be used.`,
    why: `${file} is not there any more, or cannot be reached.`,
    next: 'Put the file back, or delete the entry.',
  }
}

function usedIn(folder: string, uses: readonly Use[]): UsedBy[] {
  return usedBy(uses, (file) => file.startsWith(folder + path.sep))
}

function usedOf(file: string, uses: readonly Use[]): UsedBy[] {
  return usedBy(uses, (used) => used === path.resolve(file))
}

/** Files with rows below a folder, by paths with forward slashes. */
async function dataFiles(folder: string, below = ''): Promise<DatasetEntry['files']> {
  const found: DatasetEntry['files'] = []
  const entries = await readdir(path.join(folder, below), { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue
    const file = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) found.push(...(await dataFiles(folder, file)))
    else if (rows.test(entry.name) && file !== 'dataset.json')
      found.push({ path: file, bytes: (await fileSize(path.join(folder, file))) ?? 0 })
  }
  return found
}

async function firstMissing(folder: string, files: readonly { path: string }[]): Promise<string | null> {
  for (const { path: file } of files) if ((await fileSize(path.join(folder, file))) === null) return file
  return null
}

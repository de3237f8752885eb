/**
 * The models that can be chosen: downloads (models/<owner>--<name> with their download record), folders brought in from this computer
 * (models/<folder>/model-source.json), and the models that projects have of their own.
 */
import path from 'node:path'
import type { LibrarySource, ModelView, StudioError, VerifyOutcome } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { entryId } from '../bridge/model-views'
import { modelPaths } from '../engine/spec-paths'
import { type DownloadRecord, readDownloadRecord } from '../hub/download/record'
import { recordName } from '../hub/safe-path'
import { changedAt, exists, folderBytes, subFolders } from './files'
import { removeEntry } from './library-remove'
import { mayUse, type Use, usedBy, usesOf } from './library-use'
import type { Repair } from './download-queue'
import { memoryFit } from './memory-fit'
import { checkFiles, type Look } from './model-check-files'
import { readCheck, stillDamaged, writeCheck } from './model-check'
import { ModelFactsReader, unknownFacts } from './model-facts'
import { readModelRecord } from './model-record'
import type { Places } from './places'
import { problemOf } from './problem-of'
import type { ProjectStore } from './project-store'

const libraryName = 'library'

interface Place {
  readonly view: ModelView
  readonly record: DownloadRecord | null
}

/** What is known of a folder beside what its files say. */
interface Origin {
  readonly id: string
  readonly name: string
  readonly source: LibrarySource
  readonly licence: string | null
  readonly added: number | null
  /** When its files were compared with their checksums as it came in. */
  readonly verified: number | null
  /** Why it cannot be used, whatever its files say. */
  readonly problem: StudioError | null
  readonly incomplete: boolean
}

export class ModelLibrary {
  private readonly facts: ModelFactsReader
  /** Of models that could be used when they were looked at. */
  private readonly folders = new Map<string, string>()

  constructor(
    private readonly places: Places,
    private readonly projects: ProjectStore,
    /** Hears of defects that one entry could not be read for. */
    private readonly onProblem: (error: unknown) => void,
  ) {
    this.facts = new ModelFactsReader(onProblem)
  }

  async list(): Promise<ModelView[]> {
    return (await this.all()).map(({ view }) => view)
  }

  /** Throws UserError where there is none. */
  async get(id: string): Promise<ModelView> {
    return (await this.place(id)).view
  }

  /** The folder of a model that can be used. Throws UserError. */
  async folder(id: string): Promise<string> {
    const known = this.folders.get(id)
    if (known !== undefined && (await exists(path.join(known, 'config.json')))) return known
    const { folder, problem } = await this.get(id)
    if (problem) throw new UserError(problem)
    this.folders.set(id, folder)
    return folder
  }

  /**
   * Reads every file and compares it with its checksum: the hub's, or for a model without, the one that was noted at the first look
   * (`anew`: that is noted again, whatever it was). What comes of it is remembered. Throws UserError, and the signal's reason.
   */
  async verify(id: string, { anew, ...look }: Look & { readonly anew: boolean }): Promise<VerifyOutcome> {
    const { view, record } = await this.place(id)
    const { folder, name, state } = view
    if (state === 'incomplete') throw new UserError(notYet(name, 'checked'))
    const noted = anew ? [] : ((await readCheck(folder))?.noted ?? [])
    const { outcome, check } = await checkFiles(folder, record?.files ?? null, noted, look)
    await writeCheck(folder, check)
    if (outcome.damaged.length > 0) this.folders.delete(id)
    return outcome
  }

  /** What is to be fetched anew. Throws UserError where the model came from no hub, or nothing is known to be wrong with it. */
  async repairOf(id: string): Promise<Repair> {
    const { view, record } = await this.place(id)
    const refuse = (why: string, next: string) =>
      new UserError({ what: `The model "${view.name}" cannot be repaired.`, why, next })
    if (!record) throw refuse('It was not downloaded from a hub.', 'Bring in a good copy.')
    if (view.damaged.length === 0) throw refuse('No file is known to be damaged.', 'Check its files first.')
    const { kind, name, revision, commit } = record
    return { kind, name, revision, commit, folder: path.basename(view.folder), replace: view.damaged }
  }

  /** Deletes a model of the library; returns the bytes. Throws UserError while a project uses it. */
  async remove(id: string): Promise<number> {
    const { view, record } = await this.place(id)
    const { name, folder, bytes } = view
    const usedBy = [...view.usedBy, ...(await mayUse(this.places, this.projects, folder))]
    await removeEntry({
      ...{ called: `The model "${name}"`, name, usedBy, isDownload: record !== null },
      folder: view.source.kind === 'project' ? null : folder,
      whereUsed: 'Delete the project first, on its Overview.',
    })
    return bytes
  }

  private async place(id: string): Promise<Place> {
    const place = (await this.all()).find(({ view }) => view.id === id)
    if (place) return place
    throw new UserError({
      what: 'There is no such model.',
      why: `The library has none called "${id}" (any more).`,
      next: 'Choose one from the list.',
    })
  }

  private async all(): Promise<Place[]> {
    const uses = await usesOf(this.places, this.projects, ({ spec }) => modelPaths(spec))
    const found: Place[] = []
    for (const name of await subFolders(this.places.models)) {
      // names that no request could carry are not of our making
      if (name.startsWith('.') || !entryId.safeParse(`${libraryName}/${name}`).success) continue
      const place = await this.inLibrary(name, uses)
      if (place) found.push(place)
    }
    return [...found, ...(await this.ofProjects(uses))]
  }

  private async inLibrary(name: string, uses: readonly Use[]): Promise<Place | null> {
    const folder = path.join(this.places.models, name)
    const common = {
      id: `${libraryName}/${name}`,
      name,
      licence: null,
      verified: null,
      problem: null,
      incomplete: false,
    }
    try {
      const record = await readDownloadRecord(folder)
      if (record) {
        if (record.kind !== 'model') return null
        const { endpoint, name: repository, revision, commit, licence, complete } = record
        const added = await changedAt(path.join(folder, recordName))
        const origin: Origin = {
          ...common,
          name: repository,
          licence,
          source: { kind: 'hub', endpoint, name: repository, revision, commit },
          added,
          verified: complete && record.files.every(({ verifiedAt }) => verifiedAt !== null) ? added : null,
          incomplete: !complete,
        }
        return { view: await this.viewOf(folder, origin, uses, complete ? record.files : []), record }
      }
      const imported = await readModelRecord(folder)
      if (!imported && !(await exists(path.join(folder, 'config.json')))) return null
      const source: LibrarySource = imported
        ? { kind: 'imported', from: imported.from, shared: imported.shared }
        : { kind: 'unknown' }
      const added = imported?.added ?? null
      return {
        view: await this.viewOf(folder, { ...common, name: imported?.name ?? name, source, added }, uses),
        record: null,
      }
    } catch (error) {
      const problem = problemOf(error, `The model "${name}" cannot be read.`, this.onProblem)
      const origin: Origin = { ...common, source: { kind: 'unknown' }, added: null, problem }
      return { view: await this.viewOf(folder, origin, uses), record: null }
    }
  }

  /** Models that lie in a project's folder and are named by its pipeline. */
  private async ofProjects(uses: readonly Use[]): Promise<Place[]> {
    const found = new Map<string, Place>()
    for (const { project, path: folder } of uses) {
      const assets = this.places.assets(project)
      if (project === libraryName || !folder.startsWith(assets + path.sep) || found.has(folder)) continue
      const name = path.basename(folder)
      const origin: Origin = {
        id: `${project}/${path.relative(assets, folder).split(path.sep).join('/')}`,
        name,
        source: { kind: 'project', project },
        licence: null,
        added: null,
        verified: null,
        problem: null,
        incomplete: false,
      }
      found.set(folder, { view: await this.viewOf(folder, origin, uses), record: null })
    }
    return [...found.values()]
  }

  /** `wanted`: files that have to be there. */
  private async viewOf(
    folder: string,
    { incomplete, ...origin }: Origin,
    uses: readonly Use[],
    wanted: readonly { readonly path: string }[] = [],
  ): Promise<ModelView> {
    const { memory, problem, dtypes, ...facts } = origin.problem === null ? await this.facts.read(folder) : unknownFacts
    const unfinished = incomplete ? notYet(origin.name, 'used') : null
    const { at, damaged: found, unread } = await this.checked(folder)
    const there = await Promise.all(wanted.map(({ path: file }) => exists(path.join(folder, file))))
    const damaged = [...new Set([...found, ...wanted.filter((_, i) => !there[i]).map(({ path: file }) => file)])]
    const fault = damaged.length > 0 ? damage(origin, damaged) : problem
    const why = origin.problem ?? unfinished ?? unread ?? fault
    return {
      ...origin,
      ...facts,
      dtypes: [...dtypes],
      folder,
      bytes: await folderBytes(folder),
      verified: at ?? origin.verified,
      damaged,
      state: incomplete ? 'incomplete' : why === null ? 'ready' : 'unusable',
      problem: why,
      usedBy: usedBy(uses, (used) => used === folder),
      fit: memory && memoryFit(memory),
    }
  }

  /** What the last look at a folder's files found. */
  private async checked(folder: string): Promise<{ at: number | null; damaged: string[]; unread: StudioError | null }> {
    try {
      const check = await readCheck(folder)
      return { at: check?.at ?? null, damaged: check ? await stillDamaged(folder, check) : [], unread: null }
    } catch (error) {
      const unread = problemOf(error, `The model in ${folder} cannot be read.`, this.onProblem)
      return { at: null, damaged: [], unread }
    }
  }
}

function notYet(name: string, done: string): StudioError {
  return {
    what: `The model "${name}" cannot be ${done} yet.`,
    why: 'Its download is not complete.',
    next: 'Resume the download.',
  }
}

const namedFiles = 10

function damage({ name, source }: Pick<Origin, 'name' | 'source'>, damaged: readonly string[]): StudioError {
  const one = damaged.length === 1
  const more = damaged.length > namedFiles ? ` and ${damaged.length - namedFiles} more` : ''
  return {
    what: `${one ? '1 file' : `${damaged.length} files`} of ${name} ${one ? 'is' : 'are'} damaged or missing.`,
    why: `Their content is not what the checksums say, or they are gone: ${damaged.slice(0, namedFiles).join(', ')}${more}.`,
    next:
      source.kind === 'hub'
        ? 'Repair the model: only these files are downloaded again.'
        : 'Bring in a good copy; where you changed the files yourself, have them noted as they are.',
  }
}

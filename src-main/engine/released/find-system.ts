/**
 * Finding the parts of a published system on this computer: a folder that holds a folder per part, or a folder for each part.
 * All files of links that will be needed are looked for here, before anything is opened.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { UserError } from '../errors'
import { asReadError } from '../formats/disk-errors'
import { outerLinkType } from '../nn/link-types'
import { namedLinks, type StyleDefinition } from '../styles/style'
import { requireKeys } from '../training/link-files'
import { findReferenceInner, findReferenceOuter } from '../training/link-files-reference'
import { manifestName } from '../training/link-manifest'
import { byPart, hasLinksByTask, partOf, partsOf, styleOfSystem } from './parts'
import { outerPart, releasedOrganisation, type ReleasedSystem, releasedSystem, releasedSystems } from './systems'

export interface SystemPlace {
  /**
   * Holds a folder per part, called as the part (`planner`, `outer`), as its repository, or as folders of downloaded models and
   * hub caches call it.
   */
  readonly folder?: string
  /** Part -> its folder, where it is not in `folder`. */
  readonly parts?: Readonly<Record<string, string>>
}

/** What of a system is asked for. */
export interface Wanted {
  /** Models alone, or with their inner links, or outer links as well. Default: all. */
  readonly links?: 'none' | 'inner' | 'all'
  /** Agent indices. Default: every agent. */
  readonly agents?: readonly number[]
}

export interface FoundAgent {
  readonly role: string
  readonly model: string
  /** For `loadInnerLink`; null where it is not wanted. */
  readonly innerLink: string | null
}

export interface FoundSystem {
  readonly style: StyleDefinition
  /** Those that are wanted, in that order; by default the style's. */
  readonly agents: readonly FoundAgent[]
  /** For `loadOuterLinks`; null where they are not wanted. */
  readonly outerLinks: string | null
}

/**
 * The parts of a system. `name`: a published system's, or a style's own (or a style file) for a system in the same layout. UserErrors name parts and
 * links that are missing or that lead out of their folder, link types that are not known, parts that no system of the style has.
 */
export async function findSystem(
  name: string,
  place: SystemPlace,
  task: string,
  wanted: Wanted = {},
): Promise<FoundSystem> {
  return findSystemOf(await styleOfSystem(name), releasedSystem(name)?.name ?? null, place, task, wanted)
}

/** The same for a style that is at hand; `release`: the published system's name where there is one. */
export async function findSystemOf(
  style: StyleDefinition,
  release: string | null,
  place: SystemPlace,
  task: string,
  { links = 'all', agents: wanted = style.roles.map((_, i) => i) }: Wanted = {},
): Promise<FoundSystem> {
  const given = byPart(style, place.parts ?? {})
  const folderOf = async (part: string): Promise<string> =>
    given.get(part) ?? (await partIn(place.folder, style, release, part))
  const models = new Map<number, string>()
  for (const i of wanted) models.set(i, await folderOf(partOf(style.roles[i])))
  const outerLinks = links === 'all' ? await folderOf(outerPart) : null
  const linkTask = hasLinksByTask(style) ? task : undefined
  const agents: FoundAgent[] = []
  for (const [i, model] of models)
    agents.push({
      role: style.roles[i].role,
      model,
      innerLink: links === 'none' ? null : await innerLinkIn(model, linkTask),
    })
  if (outerLinks !== null) await checkOuterLinks(outerLinks, style, task)
  return { style, agents, outerLinks }
}

/** Our own checkpoints tell of themselves when they are read. */
async function innerLinkIn(folder: string, task: string | undefined): Promise<string> {
  return (await namesIn(folder)).includes(manifestName) ? folder : findReferenceInner(folder, task)
}

async function checkOuterLinks(folder: string, style: StyleDefinition, task: string): Promise<void> {
  if ((await namesIn(folder)).includes(manifestName)) return
  const links = namedLinks(style)
  const found = await findReferenceOuter(folder, task, links)
  requireKeys(folder, links, [...found.keys()])
  for (const { key } of links) {
    const { file, type } = found.get(key)!
    if (type !== null) outerLinkType(type, file)
  }
}

async function partIn(
  folder: string | undefined,
  style: StyleDefinition,
  release: string | null,
  part: string,
): Promise<string> {
  const missing = (why: string) =>
    new UserError({
      what: `The system has no ${part === outerPart ? 'outer links' : part}.`,
      why,
      next: `Put the part's folder there, or name it (parts: ${partsOf(style).join(', ')}).`,
    })
  if (folder === undefined) throw missing(`No folder is given for the part ${part}.`)
  const names = namesOf(style, release, part)
  const found: string[] = []
  for (const name of names) {
    const path = join(folder, name)
    if (await isFolder(path)) found.push(name.startsWith('models--') ? await snapshotIn(path) : path)
  }
  if (found.length === 1) return found[0]
  if (found.length === 0) {
    // tells a folder that is missing or forbidden
    await namesIn(folder)
    throw missing(`${folder} holds none of ${names.filter((n) => !n.includes('--')).join(', ')}.`)
  }
  throw new UserError({
    what: `The folder holds the part ${part} more than once.`,
    why: `There are ${found.join(' and ')}.`,
    next: 'Say which published system is meant, or give the folder of the part.',
  })
}

/** Folder names under which a part may stand. */
function namesOf(style: StyleDefinition, release: string | null, part: string): string[] {
  const repositories = releasedSystems
    .filter((s) => s.style === style.name && (release === null || s.name === release))
    .map((s: ReleasedSystem) =>
      part === outerPart ? s.outer : s.agents[style.roles.findIndex((r) => partOf(r) === part)],
    )
  const role = style.roles.find((r) => partOf(r) === part)?.role
  return [
    ...new Set([
      part,
      ...(role === undefined ? [] : [role]),
      ...repositories.flatMap((name) => [
        name,
        join(releasedOrganisation, name),
        `${releasedOrganisation}--${name}`,
        `models--${releasedOrganisation}--${name}`,
      ]),
    ]),
  ]
}

/** A hub cache keeps revisions in `snapshots`; the one that `refs/main` names, or the only one. */
async function snapshotIn(cache: string): Promise<string> {
  const snapshots = join(cache, 'snapshots')
  const main = await readFile(join(cache, 'refs', 'main'), 'utf8').catch(() => '')
  const known = await readdir(snapshots).catch((): string[] => [])
  if (known.includes(main.trim())) return join(snapshots, main.trim())
  if (known.length === 1) return join(snapshots, known[0])
  throw new UserError({
    what: `The download of ${basename(cache)} cannot be used.`,
    why:
      known.length === 0
        ? `${snapshots} holds no revision.`
        : `${snapshots} holds ${known.length} revisions, and refs/main names none of them.`,
    next: 'Give the folder of one revision as the part.',
  })
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    throw asReadError(error, folder, 'system folder')
  })
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (s) => s.isDirectory(),
    () => false,
  )
}

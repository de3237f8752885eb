/**
 * Links on disk: our own folders (`manifest.json` and `links.safetensors`), single .safetensors and .pt files, and folders in
 * the reference's layouts. Whatever the source, a link is checked strictly against its type and the widths it shall serve.
 */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../errors'
import { writeFolderWhole } from '../formats/atomic-files'
import { asReadError } from '../formats/disk-errors'
import type { HostTensor } from '../formats/dtypes'
import { readSafetensors, writeSafetensors } from '../formats/safetensors'
import { readTorchTensors } from '../formats/torch-file'
import {
  innerLinkType,
  innerParameterShapes,
  type InnerLinkType,
  type LinkParameters,
  outerLinkType,
  outerParameterShapes,
  type OuterLinkType,
} from '../nn/link-types'
import {
  checkNumbers,
  type InnerLinkRecord,
  innerKey,
  innerTypesByNames,
  type LinkRecord,
  linkWidths,
  type OuterLinkRecord,
  outerTypeByNames,
  recordTensors,
  takeParameters,
  type TensorSource,
  unusable,
} from './link-files-record'
import {
  findReferenceInner,
  findReferenceOuter,
  linkWords,
  type NamedLink,
  readAdapterType,
  readOuterTypes,
} from './link-files-reference'
import {
  type LinkManifest,
  type LinkProvenance,
  linksName,
  manifestName,
  readManifest,
  writeManifest,
} from './link-manifest'

export interface InnerLinkFile {
  readonly type: InnerLinkType
  readonly width: number
  readonly parameters: LinkParameters
  /** Null for files that are not ours. */
  readonly manifest: LinkManifest | null
  /** The file that was read. */
  readonly source: string
}

export interface OuterLinkFile {
  readonly key: string
  readonly type: OuterLinkType
  readonly inWidth: number
  readonly outWidth: number
  readonly parameters: LinkParameters
}

export interface OuterLinksFile {
  /** By key; exactly the expected ones. */
  readonly links: ReadonlyMap<string, OuterLinkFile>
  readonly manifest: LinkManifest | null
  /** The folder or file that was read. */
  readonly source: string
}

export interface ExpectedOuterLink extends NamedLink {
  /** Absent: whatever type the file has. */
  readonly type?: OuterLinkType
  readonly inWidth: number
  readonly outWidth: number
}

// ---------------------------------------------------------------- saving

/** Saves an inner link as a folder that appears whole. A link folder already there is replaced; any other folder is not touched. */
export async function saveInnerLink(
  folder: string,
  link: Omit<InnerLinkRecord, 'kind'>,
  provenance: LinkProvenance,
): Promise<LinkManifest> {
  return saveLinks(folder, [{ ...link, kind: 'inner' }], provenance)
}

/** Saves outer links, several in one folder, as `saveInnerLink`. */
export async function saveOuterLinks(
  folder: string,
  links: readonly Omit<OuterLinkRecord, 'kind'>[],
  provenance: LinkProvenance,
): Promise<LinkManifest> {
  return saveLinks(
    folder,
    links.map((link) => ({ ...link, kind: 'outer' })),
    provenance,
  )
}

async function saveLinks(
  folder: string,
  links: readonly LinkRecord[],
  provenance: LinkProvenance,
): Promise<LinkManifest> {
  let manifest: LinkManifest | undefined
  const fill = async (temporary: string): Promise<void> => {
    manifest = await writeLinkFolder(temporary, links, provenance, [])
  }
  await writeFolderWhole(folder, fill, { replaces: (names) => names.includes(manifestName) })
  return manifest as LinkManifest
}

/** Writes the files of a link folder into a temporary one; `others` are files already there that belong to it too. */
export async function writeLinkFolder(
  temporary: string,
  links: readonly LinkRecord[],
  provenance: LinkProvenance,
  others: readonly string[],
): Promise<LinkManifest> {
  const described = links.map((link) =>
    link.kind === 'inner'
      ? { key: innerKey, type: link.type, inWidth: link.width, outWidth: link.width }
      : { key: link.key, type: link.type, inWidth: link.inWidth, outWidth: link.outWidth },
  )
  const tensors = links.flatMap((link) =>
    recordTensors(link).map(
      ([name, tensor]) => [link.kind === 'inner' ? name : `${link.key}.${name}`, tensor] as const,
    ),
  )
  await writeSafetensors(join(temporary, linksName), tensors, {
    format: 'recursivemas-links',
    links: JSON.stringify(described),
  })
  const kind = links[0].kind === 'inner' ? 'inner-link' : 'outer-links'
  const manifest = { ...provenance, kind, links: described, created: new Date().toISOString() } as const
  return writeManifest(temporary, manifest, [linksName, ...others])
}

// ---------------------------------------------------------------- inner links

export interface InnerLinkOptions {
  /** Width of the model that the link shall serve. */
  readonly width: number
  /** For folders with a link per task. */
  readonly task?: string
}

/** Loads an inner link from one of our folders, a reference folder, a .safetensors or a .pt file. */
export async function loadInnerLink(path: string, options: InnerLinkOptions): Promise<InnerLinkFile> {
  const place = await locate(path)
  switch (place.kind) {
    case 'ours': {
      const manifest = await readManifest(place.folder, [linksName])
      if (manifest.kind !== 'inner-link') throw wrongKind(place.folder, 'outer links', 'an inner link')
      return { ...(await innerFromFile(join(place.folder, linksName), manifest.links[0].type, options)), manifest }
    }
    case 'folder': {
      const file = await findReferenceInner(place.folder, options.task)
      return { ...(await innerFromFile(file, await readAdapterType(place.folder), options)), manifest: null }
    }
    case 'file':
      return {
        ...(await innerFromFile(place.file, await readAdapterType(dirname(place.file)), options)),
        manifest: null,
      }
    default:
      return unreachable(place)
  }
}

async function innerFromFile(
  file: string,
  typeName: string | null,
  { width }: InnerLinkOptions,
): Promise<Omit<InnerLinkFile, 'manifest'>> {
  const source = { file, what: 'an inner link' }
  const { tensors, declared } = await readLinkTensors(file)
  if (declared?.some((d) => d.key !== innerKey)) throw wrongKind(file, 'outer links', 'an inner link')
  checkNumbers(tensors, source)
  const type = innerType(tensors, declared?.[0].type ?? typeName, source)
  checkWidth(tensors, { inWidth: width, outWidth: width }, source)
  return {
    type,
    width,
    parameters: takeParameters(tensors, innerParameterShapes(type, width), type, source),
    source: file,
  }
}

function innerType(
  tensors: ReadonlyMap<string, HostTensor>,
  named: string | null,
  source: TensorSource,
): InnerLinkType {
  if (named !== null) return innerLinkType(named, source.file)
  const possible = innerTypesByNames(tensors.keys())
  if (possible.length === 1) return possible[0]
  if (possible.length > 1)
    throw new UserError({
      what: 'The type of the inner link is not known.',
      why: `${source.file} has the parameters of ${possible.join(' and of ')}, and no adapter_config.json stands beside it.`,
      next: `Put an adapter_config.json with {"adapter_type": "${possible[0]}"} or "${possible[1]}" beside the file.`,
    })
  throw unusable(
    source,
    `its tensors (${[...tensors.keys()].slice(0, 8).join(', ') || 'none'}) are those of no inner link type`,
  )
}

// ---------------------------------------------------------------- outer links

export interface OuterLinksOptions {
  readonly expected: readonly ExpectedOuterLink[]
  /** For folders with a set of links per task. */
  readonly task?: string
}

/** Loads the expected outer links from one of our folders, its links.safetensors, or a reference folder. */
export async function loadOuterLinks(path: string, { expected, task }: OuterLinksOptions): Promise<OuterLinksFile> {
  const place = await locate(path)
  switch (place.kind) {
    case 'ours': {
      const manifest = await readManifest(place.folder, [linksName])
      if (manifest.kind !== 'outer-links') throw wrongKind(place.folder, 'an inner link', 'outer links')
      return { links: await outerFromBundle(join(place.folder, linksName), expected), manifest, source: place.folder }
    }
    case 'file':
      return { links: await outerFromBundle(place.file, expected), manifest: null, source: place.file }
    case 'folder': {
      const files = await findReferenceOuter(place.folder, task, expected)
      requireKeys(place.folder, expected, [...files.keys()])
      const types = await readOuterTypes(place.folder)
      const links = new Map<string, OuterLinkFile>()
      for (const want of expected) {
        const { file, type } = files.get(want.key) as { file: string; type: string | null }
        const { tensors } = await readLinkTensors(file)
        links.set(want.key, outerFromTensors(tensors, type ?? types.get(want.key) ?? null, want, file))
      }
      return { links, manifest: null, source: place.folder }
    }
    default:
      return unreachable(place)
  }
}

/** One file of ours with all links, tensors named `<key>.<parameter>`. */
async function outerFromBundle(
  file: string,
  expected: readonly ExpectedOuterLink[],
): Promise<Map<string, OuterLinkFile>> {
  const { tensors, declared } = await readLinkTensors(file)
  const byKey = new Map<string, Map<string, HostTensor>>()
  for (const [name, tensor] of tensors) {
    const dot = name.indexOf('.')
    const key = name.slice(0, dot)
    byKey.set(key, (byKey.get(key) ?? new Map<string, HostTensor>()).set(name.slice(dot + 1), tensor))
  }
  requireKeys(file, expected, [...byKey.keys()])
  return new Map(
    expected.map((want) => {
      const type = declared?.find((d) => d.key === want.key)?.type ?? null
      return [want.key, outerFromTensors(byKey.get(want.key) as Map<string, HostTensor>, type, want, file)]
    }),
  )
}

function outerFromTensors(
  tensors: ReadonlyMap<string, HostTensor>,
  typeName: string | null,
  want: ExpectedOuterLink,
  file: string,
): OuterLinkFile {
  const source = { file, what: `outer link ${want.key}` }
  checkNumbers(tensors, source)
  const type = typeName === null ? outerTypeByNames(tensors.keys()) : outerLinkType(typeName, file)
  if (!type)
    throw unusable(
      source,
      `its tensors (${[...tensors.keys()].slice(0, 12).join(', ') || 'none'}) are those of no outer link type`,
    )
  if (want.type && want.type !== type) throw unusable(source, `it is of type ${type}, where ${want.type} is asked for`)
  checkWidth(tensors, want, source)
  const { key, inWidth, outWidth } = want
  return {
    key,
    type,
    inWidth,
    outWidth,
    parameters: takeParameters(tensors, outerParameterShapes(type, inWidth, outWidth), type, source),
  }
}

/** Throws a UserError that names the links which a folder or file does not have. */
export function requireKeys(source: string, expected: readonly NamedLink[], present: readonly string[]): void {
  const missing = expected.filter((e) => !present.includes(e.key)).map(linkWords)
  if (missing.length === 0) return
  throw new UserError({
    what: 'Outer links are missing.',
    why: `${source} has ${present.join(', ') || 'none'}, but ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} needed too.`,
    next: 'Choose the links of a system of the same style.',
  })
}

// ---------------------------------------------------------------- shared

type Place =
  | { readonly kind: 'ours'; readonly folder: string }
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'file'; readonly file: string }

async function locate(path: string): Promise<Place> {
  const info = await stat(path).catch((error: unknown) => {
    throw asReadError(error, path, 'link')
  })
  if (info.isDirectory())
    return { kind: (await readdir(path)).includes(manifestName) ? 'ours' : 'folder', folder: path }
  if (basename(path) === linksName && (await readdir(dirname(path))).includes(manifestName))
    return { kind: 'ours', folder: dirname(path) }
  return { kind: 'file', file: path }
}

const declaredLinks = z.array(z.object({ key: z.string(), type: z.string() })).min(1)

/** Tensors of a link file, and what a file of ours declares about its links. */
async function readLinkTensors(
  file: string,
): Promise<{ tensors: ReadonlyMap<string, HostTensor>; declared: z.infer<typeof declaredLinks> | null }> {
  if (/\.(pt|pth|bin)$/i.test(file)) return { tensors: await readTorchTensors(file), declared: null }
  if (!/\.safetensors$/i.test(file))
    throw new UserError({
      what: 'The file is not a link.',
      why: `${file} ends neither in .safetensors nor in .pt.`,
      next: 'Choose a link checkpoint folder, a .safetensors or a .pt file.',
    })
  const { tensors, metadata } = await readSafetensors(file)
  if (metadata.format !== 'recursivemas-links') return { tensors, declared: null }
  try {
    return { tensors, declared: declaredLinks.parse(JSON.parse(metadata.links)) }
  } catch {
    throw unusable({ file, what: 'a link' }, 'the description of its links is damaged')
  }
}

function checkWidth(
  tensors: ReadonlyMap<string, HostTensor>,
  want: { inWidth: number; outWidth: number },
  { file, what }: TensorSource,
): void {
  const has = linkWidths(tensors)
  if (!has || (has.inWidth === want.inWidth && has.outWidth === want.outWidth)) return
  const text = (w: { inWidth: number; outWidth: number }): string =>
    w.inWidth === w.outWidth ? `${w.inWidth}` : `${w.inWidth} to ${w.outWidth}`
  throw new UserError({
    what: `The link does not fit: it cannot be used as ${what}.`,
    why: `${file} is for width ${text(has)}, but the models here need ${text(want)}.`,
    next: 'Choose a link that was trained for these models.',
  })
}

function wrongKind(path: string, has: string, needs: string): UserError {
  return new UserError({
    what: `The link checkpoint cannot be used as ${needs}.`,
    why: `${path} holds ${has}.`,
    next: `Choose a checkpoint of ${needs}.`,
  })
}

function unreachable(place: never): never {
  throw new Error(`place ${String(place)}`)
}

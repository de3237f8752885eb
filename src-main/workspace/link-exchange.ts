/**
 * Links to and from the published system: whole folders of its files out of one of our checkpoints, and a checkpoint of ours out of
 * its files. Numbers never change: float32 stays float32; half-precision files are widened, which is exact, and their links go out
 * again as they came in. What the files do not tell of a link (models, data) stays unknown.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { UserError } from '../engine/errors'
import { writeFolderWhole } from '../engine/formats/atomic-files'
import { asReadError } from '../engine/formats/disk-errors'
import { type HostTensor, isFloat32Exact } from '../engine/formats/dtypes'
import type { FloatStorage } from '../engine/formats/half-precision'
import { readSafetensors } from '../engine/formats/safetensors'
import { readTorchTensors } from '../engine/formats/torch-file'
import { canonicalRole, styles } from '../engine/styles/registry'
import type { StyleDefinition } from '../engine/styles/style'
import {
  loadInnerLink,
  loadOuterLinks,
  saveInnerLink,
  saveOuterLinks,
  type ExpectedOuterLink,
} from '../engine/training/link-files'
import {
  type ExportedInner,
  type ExportedOuter,
  exportReferenceInner,
  exportReferenceOuter,
  referenceAgents,
  type ReferenceOuterOptions,
  type ReferenceStyle,
  referenceStyles,
} from '../engine/training/link-files-export'
import { innerKey, linkWidths } from '../engine/training/link-files-record'
import {
  findReferenceInner,
  findReferenceOuter,
  outerAdapterConfigName,
  outerConfigName,
  readReferenceOrigin,
} from '../engine/training/link-files-reference'
import { manifestName, readManifest, type LinkManifest, type LinkProvenance } from '../engine/training/link-manifest'
import { appVersion } from '../engine/version'
import { trainArgs } from './train-args'

const tasks = ['math', 'code', 'choice'] as const

export type Task = (typeof tasks)[number]

/** Folder name of an exported checkpoint. */
export function exportName(label: string, step: number): string {
  const slug = label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return `${slug || 'links'}-step-${step}`
}

/**
 * Writes the links of a checkpoint of ours in the published layout. `to`: a new or an empty folder, which appears whole. The files
 * of outer links name models and inner links as `inner/<role>`, for whoever copies them together. Throws UserError.
 */
export async function exportLinks(checkpoint: string, to: string): Promise<{ folder: string; files: string[] }> {
  const manifest = await readManifest(checkpoint)
  const fill =
    manifest.kind === 'inner-link' ? await innerFiles(checkpoint, manifest) : await outerFiles(checkpoint, manifest)
  await writeFolderWhole(to, fill)
  return { folder: path.resolve(to), files: (await readdir(to)).sort() }
}

async function innerFiles(checkpoint: string, manifest: LinkManifest): Promise<(folder: string) => Promise<void>> {
  const { links } = manifest
  const link = await exportedInner(checkpoint, links[0].inWidth)
  return (folder) => exportReferenceInner(folder, link, { trainArgs: trainArgs(manifest) })
}

async function outerFiles(checkpoint: string, manifest: LinkManifest): Promise<(folder: string) => Promise<void>> {
  const style = publishedStyle(manifest.style)
  const links = await exportedOuter(checkpoint, manifest.links)
  const task = tasks.find((name) => name === manifest.task)
  if (!task) throw notExported(`has no task "${manifest.task}"`)
  const { roles } = styleNamed(style)!
  const agents = roles.map(({ role }, i) => ({
    model: manifest.baseModels[i]?.id ?? role,
    innerLink: `inner/${role}`,
  }))
  const options = { ...outerOptions(manifest), style, task, agents, trainArgs: trainArgs(manifest) }
  return (folder) => exportReferenceOuter(folder, links, options)
}

/** A style that the published layout has; else a UserError. */
export function publishedStyle(name: string): ReferenceStyle {
  const style = referenceStyles.find((s) => s === name)
  if (style) return style
  throw notExported(`has no style "${name}"`)
}

/** What outer_adapter_config.json says of the training. `manifest`: null for links that tell nothing. */
export function outerOptions(
  manifest: LinkManifest | null,
): Pick<ReferenceOuterOptions, 'rounds' | 'superviseFinalOnly' | 'earlierRoundsWeight' | 'enableThinking'> {
  const { rounds = null, options = {} } = manifest ?? {}
  return {
    rounds: typeof rounds === 'number' ? rounds : (rounds?.to ?? 1),
    superviseFinalOnly: options.superviseFinalOnly !== false,
    earlierRoundsWeight: typeof options.earlierRoundsWeight === 'number' ? options.earlierRoundsWeight : 0,
    enableThinking: options.enableThinking === true,
  }
}

/** An inner link as it goes out: in the element type that it came in with. */
export async function exportedInner(from: string, width: number, task?: string): Promise<ExportedInner> {
  const { type, parameters, manifest, source } = await loadInnerLink(from, { width, task })
  return { type, width, parameters, storage: manifest ? storageIn(manifest, innerKey) : (await look(source)).storage }
}

/** The same for outer links. */
export async function exportedOuter(
  from: string,
  expected: readonly { key: string; inWidth: number; outWidth: number }[],
  task?: string,
): Promise<ExportedOuter[]> {
  const wanted = expected.map(({ key, inWidth, outWidth }) => ({ key, inWidth, outWidth }))
  const { links, manifest, source } = await loadOuterLinks(from, { expected: wanted, task })
  const files = manifest || !(await isFolder(source)) ? null : await findReferenceOuter(source, task, wanted)
  const found: ExportedOuter[] = []
  for (const link of links.values()) {
    const file = files?.get(link.key)?.file
    const storage = manifest ? storageIn(manifest, link.key) : file === undefined ? 'F32' : (await look(file)).storage
    found.push({ ...link, storage })
  }
  return found
}

/** Links that were imported and not trained since know the element type of their file. */
function storageIn({ options }: LinkManifest, key: string): FloatStorage {
  const stored = storages.safeParse(options[storageOption])
  return stored.data?.[key] ?? 'F32'
}

const storageOption = 'storage'
const storages = z.record(z.string(), z.enum(['F32', 'F16', 'BF16']))

function notExported(why: string): UserError {
  return new UserError({
    what: 'The links cannot be exported.',
    why: `The published layout ${why}.`,
    next: 'Use the links in this program.',
  })
}

// ---------------------------------------------------------------- import

/**
 * Makes a checkpoint of ours at `to` (new, empty, or a link checkpoint, which is replaced) out of a folder or file of the published
 * system. `task`: for folders with links of several tasks. Throws UserError.
 */
export async function importLinks(from: string, to: string, task?: Task): Promise<LinkManifest> {
  const names = (await isFolder(from)) ? await readdir(from) : []
  if (names.includes(manifestName))
    throw new UserError({
      what: 'There is nothing to import.',
      why: `${from} is a checkpoint of this program already.`,
      next: 'Use it as it is.',
    })
  const outer = names.flatMap((name) => /^(outer_\w+)\.pt$/.exec(name)?.[1] ?? [])
  const isOuter = outer.length > 0 || names.includes(outerConfigName) || names.includes(outerAdapterConfigName)
  return isOuter ? importOuter(from, to, outer, task) : importInner(from, to, task)
}

async function importInner(from: string, to: string, task: Task | undefined): Promise<LinkManifest> {
  const folder = (await isFolder(from)) ? from : path.dirname(from)
  const file = folder === from ? await findReferenceInner(from, task) : from
  const { inWidth, storage } = await look(file)
  const { type, width, parameters } = await loadInnerLink(file, { width: inWidth, task })
  const told = folder === from ? await trainedAs(folder) : null
  const role = told?.role ?? null
  const style = styles.find((s) => s.roles.some((r) => r.role === role))?.name
  const hasModel = folder === from && (await readdir(folder)).includes('config.json')
  return saveInnerLink(
    to,
    { type, width, parameters },
    {
      ...imported(from, task ?? told?.task, { [innerKey]: storage }),
      role,
      ...(style === undefined ? {} : { style }),
      baseModels: hasModel
        ? [{ role: role ?? '', id: path.basename(path.resolve(folder)), revision: null, hiddenSize: width }]
        : [],
    },
  )
}

async function importOuter(
  from: string,
  to: string,
  keys: readonly string[],
  task: Task | undefined,
): Promise<LinkManifest> {
  const origin = await readReferenceOrigin(from, referenceAgents)
  const expected: ExpectedOuterLink[] = []
  const stored: Record<string, FloatStorage> = {}
  const named = keys.map((key) => ({ key }))
  for (const [key, { file }] of await findReferenceOuter(from, task, named)) {
    const { storage, ...widths } = await look(file)
    expected.push({ key, ...widths })
    stored[key] = storage
  }
  const { links } = await loadOuterLinks(from, { expected, task })
  const style = (origin.style === null ? null : styleNamed(origin.style)) ?? styleOfKeys([...links.keys()])
  return saveOuterLinks(to, [...links.values()], {
    ...imported(from, task ?? tasks.find((t) => t === origin.task), stored),
    ...(style ? { style: style.name } : {}),
    rounds: origin.rounds,
    baseModels: style ? modelsOf(style, origin.models, expected) : [],
  })
}

/** The models that the links were trained between, where the files name them all. */
function modelsOf(
  style: StyleDefinition,
  names: readonly string[],
  widths: readonly ExpectedOuterLink[],
): LinkProvenance['baseModels'] {
  if (names.length !== style.roles.length) return []
  return style.roles.flatMap(({ role }, i) => {
    const link = style.links.find((l) => l.source === i)
    const hiddenSize = widths.find((w) => w.key === link?.key)?.inWidth
    return hiddenSize === undefined ? [] : [{ role, id: path.basename(names[i]), revision: null, hiddenSize }]
  })
}

function styleNamed(name: string): StyleDefinition | null {
  return styles.find((s) => s.name === name) ?? null
}

function styleOfKeys(keys: readonly string[]): StyleDefinition | null {
  return styles.find((s) => keys.some((key) => s.links.some((l) => l.key === key))) ?? null
}

const trainedSchema = z.object({ mas_role: z.string().nullish(), mas_task: z.enum(tasks).catch('math') })

/** Role and task of an inner link's training, from train_args.json; null where nothing can be read from it. */
async function trainedAs(folder: string): Promise<{ role: string | null; task: Task } | null> {
  try {
    const told = trainedSchema.parse(JSON.parse(await readFile(path.join(folder, 'train_args.json'), 'utf8')))
    return { role: told.mas_role ? canonicalRole(told.mas_role) : null, task: told.mas_task }
  } catch {
    return null
  }
}

/** Widths and element type of a link's file; the type is float32 where its tensors differ in theirs. */
async function look(file: string): Promise<{ inWidth: number; outWidth: number; storage: FloatStorage }> {
  const tensors = /\.safetensors$/i.test(file) ? (await readSafetensors(file)).tensors : await readTorchTensors(file)
  const widths = linkWidths(tensors)
  if (widths) return { ...widths, storage: commonStorage(tensors) }
  throw new UserError({
    what: 'The file is not a link.',
    why: `${file} holds no proj1.weight of two dimensions.`,
    next: 'Choose a folder with adapter.pt or outer links, or a .pt file of a link.',
  })
}

function commonStorage(tensors: ReadonlyMap<string, HostTensor>): FloatStorage {
  const [dtype, other] = new Set([...tensors.values()].map((t) => t.dtype))
  return other === undefined && isFloat32Exact(dtype) ? dtype : 'F32'
}

async function isFolder(from: string): Promise<boolean> {
  const info = await stat(from).catch((error: unknown) => {
    throw asReadError(error, from, 'link')
  })
  return info.isDirectory()
}

function imported(
  from: string,
  task: Task | undefined,
  storage: Readonly<Record<string, FloatStorage>>,
): LinkProvenance {
  return {
    style: 'sequential',
    role: null,
    task: task ?? 'math',
    mode: 'reference',
    baseModels: [],
    dataset: null,
    promptPack: null,
    seed: 0,
    step: 0,
    states: null,
    feedback: null,
    rounds: null,
    metrics: {},
    options: { importedFrom: path.resolve(from), [storageOption]: { ...storage } },
    parentRun: null,
    appVersion,
  }
}

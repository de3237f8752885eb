/**
 * Links to and from the published system: whole folders of its files out of one of our checkpoints, and a checkpoint of ours out of
 * its files. What the files do not tell of a link (models, data) stays unknown.
 */
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { UserError } from '../engine/errors'
import { writeFolderWhole } from '../engine/formats/atomic-files'
import { asReadError } from '../engine/formats/disk-errors'
import { readSafetensors } from '../engine/formats/safetensors'
import { readTorchTensors } from '../engine/formats/torch-file'
import {
  loadInnerLink,
  loadOuterLinks,
  saveInnerLink,
  saveOuterLinks,
  type ExpectedOuterLink,
} from '../engine/training/link-files'
import { exportReferenceInner, exportReferenceOuter, type ReferenceStyle } from '../engine/training/link-files-export'
import { linkWidths } from '../engine/training/link-files-record'
import { findReferenceInner, findReferenceOuter, outerConfigName } from '../engine/training/link-files-reference'
import { manifestName, readManifest, type LinkManifest, type LinkProvenance } from '../engine/training/link-manifest'
import { appVersion } from '../engine/version'

const referenceStyles: readonly ReferenceStyle[] = ['sequential', 'mixture', 'deliberation', 'distillation']
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

async function innerFiles(
  checkpoint: string,
  { links, options }: LinkManifest,
): Promise<(folder: string) => Promise<void>> {
  const link = await loadInnerLink(checkpoint, { width: links[0].inWidth })
  return (folder) => exportReferenceInner(folder, link, { trainArgs: jsonOf(options) })
}

async function outerFiles(checkpoint: string, manifest: LinkManifest): Promise<(folder: string) => Promise<void>> {
  const { baseModels, options, rounds } = manifest
  const style = referenceStyles.find((name) => name === manifest.style)
  const task = tasks.find((name) => name === manifest.task)
  if (!style || !task)
    throw new UserError({
      what: 'The outer links cannot be exported.',
      why: `The published layout has no ${style ? `task "${manifest.task}"` : `style "${manifest.style}"`}.`,
      next: 'Use the links in this program.',
    })
  const expected = manifest.links.map(({ key, inWidth, outWidth }) => ({ key, inWidth, outWidth }))
  const { links } = await loadOuterLinks(checkpoint, { expected })
  return (folder) =>
    exportReferenceOuter(folder, [...links.values()], {
      style,
      task,
      agents: baseModels.map(({ id, role }) => ({ model: id, innerLink: `inner/${role}` })),
      rounds: typeof rounds === 'number' ? rounds : (rounds?.to ?? 1),
      superviseFinalOnly: options.superviseFinalOnly !== false,
      earlierRoundsWeight: typeof options.earlierRoundsWeight === 'number' ? options.earlierRoundsWeight : 0,
      enableThinking: options.enableThinking === true,
      trainArgs: jsonOf(options),
    })
}

type Json = Parameters<typeof exportReferenceInner>[2] extends { trainArgs?: infer T } | undefined ? T : never

function jsonOf(options: LinkManifest['options']): Json {
  return options as Json
}

/**
 * Makes a checkpoint of ours at `to` (new, empty, or a link checkpoint, which is replaced) out of a folder or file of the published
 * system. `task`: for folders with links of several tasks. Throws UserError.
 */
export async function importLinks(from: string, to: string, task?: Task): Promise<LinkManifest> {
  const info = await stat(from).catch((error: unknown) => {
    throw asReadError(error, from, 'link')
  })
  const names = info.isDirectory() ? await readdir(from) : []
  if (names.includes(manifestName))
    throw new UserError({
      what: 'There is nothing to import.',
      why: `${from} is a checkpoint of this program already.`,
      next: 'Use it as it is.',
    })
  const outer = names.flatMap((name) => /^(outer_\w+)\.pt$/.exec(name)?.[1] ?? [])
  if (names.includes(outerConfigName) || outer.length > 0) return importOuter(from, to, outer, task)
  const file = info.isDirectory() ? await findReferenceInner(from, task) : from
  const { inWidth } = await widthsIn(file)
  const { type, width, parameters } = await loadInnerLink(file, { width: inWidth, task })
  return saveInnerLink(to, { type, width, parameters }, imported(from, task))
}

async function importOuter(
  from: string,
  to: string,
  keys: readonly string[],
  task: Task | undefined,
): Promise<LinkManifest> {
  const expected: ExpectedOuterLink[] = []
  for (const [key, { file }] of await findReferenceOuter(from, task, keys))
    expected.push({ key, ...(await widthsIn(file)) })
  const { links } = await loadOuterLinks(from, { expected, task })
  return saveOuterLinks(to, [...links.values()], imported(from, task))
}

async function widthsIn(file: string): Promise<{ inWidth: number; outWidth: number }> {
  const tensors = /\.safetensors$/i.test(file) ? (await readSafetensors(file)).tensors : await readTorchTensors(file)
  const widths = linkWidths(tensors)
  if (widths) return widths
  throw new UserError({
    what: 'The file is not a link.',
    why: `${file} holds no proj1.weight of two dimensions.`,
    next: 'Choose a folder with adapter.pt or outer links, or a .pt file of a link.',
  })
}

function imported(from: string, task: Task | undefined): LinkProvenance {
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
    options: { importedFrom: path.resolve(from) },
    parentRun: null,
    appVersion,
  }
}

/**
 * Whole systems to and from the published layout: an evaluation's models and trained links as a folder per part, which the published
 * program and a job's `system` read; and such a folder's links as checkpoints of ours.
 */
import { copyFile, link, mkdir, readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { UserError } from '../engine/errors'
import { writeFolderWhole } from '../engine/formats/atomic-files'
import type { EvaluateJob, JobSpec } from '../engine/job-spec'
import { readConfig } from '../engine/models/families'
import { findSystem, type SystemPlace } from '../engine/released/find-system'
import { hasLinksByTask, partOf } from '../engine/released/parts'
import { withSystem } from '../engine/released/system-spec'
import { outerPart } from '../engine/released/systems'
import { inRoleOrder, styleByName } from '../engine/styles/registry'
import type { StyleDefinition } from '../engine/styles/style'
import {
  type ExportedInner,
  type ExportedOuter,
  exportReferenceInner,
  exportReferenceInnerByTask,
  exportReferenceOuter,
  exportReferenceOuterByTask,
} from '../engine/training/link-files-export'
import { adapterConfigName, innerConfigName, layoutTask } from '../engine/training/link-files-reference'
import { linksName, manifestName, readManifest, type LinkManifest } from '../engine/training/link-manifest'
import { exportedInner, exportedOuter, importLinks, outerOptions, publishedStyle, type Task } from './link-exchange'

/** A system of one task, read and checked. */
interface Trained {
  readonly style: StyleDefinition
  readonly task: Task
  /** In the style's order, real paths. */
  readonly models: readonly string[]
  readonly inner: readonly ExportedInner[]
  readonly outer: readonly ExportedOuter[]
  readonly manifest: LinkManifest | null
  /** Of the evaluation, for links that do not tell how many they were trained for. */
  readonly rounds: number
}

/**
 * Writes a folder that holds a folder per part: models with their inner links side by side, and the outer links. Weights are hard
 * links where the volume allows it, else copies. Several evaluations of one team, each of another task, give links by task. `to`: new
 * or empty; appears whole. Throws UserError.
 */
export async function exportSystem(jobs: readonly JobSpec[], to: string): Promise<{ folder: string; parts: string[] }> {
  const systems: Trained[] = []
  for (const job of jobs) systems.push(await trained(job))
  checkTogether(systems)
  await writeFolderWhole(to, (folder) => fill(folder, systems))
  return { folder: path.resolve(to), parts: (await readdir(to)).sort() }
}

async function trained(spec: JobSpec): Promise<Trained> {
  if (spec.kind !== 'evaluate') throw refuse(`The job is of the kind ${spec.kind}.`, 'Give the spec of an evaluation.')
  const job = (await withSystem(spec)) as EvaluateJob
  const style = styleByName(publishedStyle(job.style))
  const { outerLinks, task } = job
  const models: string[] = []
  const inner: ExportedInner[] = []
  for (const { role, model, innerLink } of inRoleOrder(style, job.agents)) {
    if (innerLink === undefined) throw refuse(`The ${role} has no inner link.`, 'Name the trained link of every agent.')
    const { hiddenSize } = await readConfig(model)
    models.push(await realpath(model))
    inner.push(await exportedInner(innerLink, hiddenSize, task))
  }
  if (outerLinks === undefined) throw refuse('The job names no outer links.', 'Name the trained outer links.')
  const widths = style.links.map(({ key, source, target }) => ({
    key,
    inWidth: inner[source].width,
    outWidth: inner[target].width,
  }))
  const outer = await exportedOuter(outerLinks, widths, task)
  const hasManifest = (await readdir(outerLinks).catch((): string[] => [])).includes(manifestName)
  return {
    style,
    task,
    models,
    inner,
    outer,
    manifest: hasManifest ? await readManifest(outerLinks) : null,
    rounds: job.rounds,
  }
}

function checkTogether(systems: readonly Trained[]): void {
  const [first, ...others] = systems
  if (!first) throw new Error('no system to export')
  if (others.length === 0) return
  if (!hasLinksByTask(first.style))
    throw refuse(`The style ${first.style.name} has one set of links for all tasks.`, 'Export one evaluation.')
  const known = systems.map((s) => layoutTask(s.task))
  if (new Set(known).size < known.length)
    throw refuse(
      `The tasks are ${known.join(', ')}.`,
      'Give evaluations of different tasks; choice uses the links of math.',
    )
  for (const { style, models, inner } of others) {
    if (style.name !== first.style.name || models.some((m, i) => m !== first.models[i]))
      throw refuse('The evaluations are of different teams.', 'Give evaluations of the same style and models.')
    const i = inner.findIndex((l, n) => l.type !== first.inner[n].type)
    if (i >= 0)
      throw refuse(
        `The inner links of the ${style.roles[i].role} have the types ${first.inner[i].type} and ${inner[i].type}, and the layout has one type per model.`,
        'Export the tasks apart.',
      )
  }
}

async function fill(folder: string, systems: readonly Trained[]): Promise<void> {
  const [{ style, task, models, inner, outer, manifest, rounds }] = systems
  for (const [i, role] of style.roles.entries()) {
    const place = path.join(folder, partOf(role))
    await mkdir(place)
    await takeModel(models[i], place)
    if (systems.length === 1) await exportReferenceInner(place, inner[i])
    else await exportReferenceInnerByTask(place, new Map(systems.map((s) => [layoutTask(s.task), s.inner[i]])))
  }
  const agents = style.roles.map((role) => ({ model: partOf(role), innerLink: partOf(role) }))
  const told = manifest?.rounds ? outerOptions(manifest) : { ...outerOptions(manifest), rounds }
  const options = { ...told, style: publishedStyle(style.name), task, agents }
  const place = path.join(folder, outerPart)
  await mkdir(place)
  if (systems.length === 1) await exportReferenceOuter(place, outer, options)
  else await exportReferenceOuterByTask(place, new Map(systems.map((s) => [layoutTask(s.task), s.outer])), options)
}

/** Files of links that may stand beside a model; those of the system take their place. */
const isLinkFile = (name: string): boolean =>
  /\.pt$/.test(name) || [adapterConfigName, innerConfigName, 'train_args.json', manifestName, linksName].includes(name)

async function takeModel(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    const file = await realpath(path.join(from, name))
    if (isLinkFile(name) || !(await stat(file)).isFile()) continue
    const target = path.join(to, name)
    // small files are copied, so that nobody edits a model through its twin
    const linked =
      name.endsWith('.safetensors') &&
      (await link(file, target).then(
        () => true,
        () => false,
      ))
    if (!linked) await copyFile(file, target)
  }
}

/**
 * Checkpoints of ours out of a system in the published layout: `inner-<role>` for every agent and `outer`. `to`: new or empty;
 * appears whole. The models stay where they are. Throws UserError.
 */
export async function importSystem(
  name: string,
  place: SystemPlace,
  to: string,
  task: Task = 'math',
): Promise<{ folder: string; checkpoints: string[] }> {
  const { style, agents, outerLinks } = await findSystem(name, place, task)
  await writeFolderWhole(to, async (folder) => {
    const linkTask = hasLinksByTask(style) ? task : undefined
    for (const { role, model } of agents) await importLinks(model, path.join(folder, `inner-${role}`), linkTask)
    await importLinks(outerLinks!, path.join(folder, outerPart), task)
  })
  return { folder: path.resolve(to), checkpoints: (await readdir(to)).sort() }
}

function refuse(why: string, next: string): UserError {
  return new UserError({ what: 'The system cannot be exported.', why, next })
}

/**
 * Training checkpoints: `step-N` folders under a run's `checkpoints`. Each is a link checkpoint like any other and holds
 * beside it all that the run needs to go on as if it had never stopped: moments, generator, place in the data, counters.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../errors'
import { removeFolderWhole, removeLeftovers, writeFolderWhole, writeJsonWhole } from '../formats/atomic-files'
import { explainingDiskErrors } from '../formats/disk-errors'
import type { HostTensor, TensorValue } from '../formats/dtypes'
import { readSafetensors, writeSafetensors } from '../formats/safetensors'
import { checkJson } from '../formats/schema-faults'
import { innerLinkType, innerParameterShapes, outerLinkType, outerParameterShapes } from '../nn/link-types'
import type { GeneratorState } from '../nn/torch-generator'
import { listSteps } from './checkpoint-folders'
import type { DataOrderState } from './data-order'
import { writeLinkFolder } from './link-files'
import { checkNumbers, type LinkRecord, takeParameters } from './link-files-record'
import { type LinkManifest, type LinkProvenance, linksName, manifestName, readManifest } from './link-manifest'
import type { Moments, OptimiserState } from './optimiser'

export interface TrainingState {
  /** Optimiser steps done; also `provenance.step`. */
  readonly step: number
  /** One inner link, or all outer links in order. */
  readonly links: readonly LinkRecord[]
  readonly provenance: LinkProvenance
  readonly optimiser: OptimiserState
  /** The run's generator after the draws so far. */
  readonly generator: GeneratorState
  readonly dataOrder: DataOrderState
  /** The best held-out metric so far and its step. */
  readonly best: { readonly step: number; readonly value: number } | null
  /** Whatever else the trainer counts; must be plain JSON with finite numbers. */
  readonly extra: z.infer<ReturnType<typeof z.json>>
}

export interface KeepOptions {
  /** Older checkpoints kept beside the one just written and the best one. */
  readonly keepLast: number
}

const stateName = 'training-state.json'
const tensorsName = 'training-state.safetensors'

const stateFile = z.object({
  format: z.literal(1),
  step: z.number().int().min(0),
  /** Parameter -> steps that AdamW has taken with it. */
  optimiserSteps: z.record(z.string(), z.number().int().min(0)),
  generatorUsed: z.number().int().min(0),
  epoch: z.number().int().min(0),
  position: z.number().int().min(0),
  best: z.object({ step: z.number().int().min(0), value: z.number() }).nullable(),
  extra: z.json(),
})

/** Writes `step-N` whole, then takes away checkpoints that are no longer kept. Returns its folder. */
export async function saveTrainingState(
  checkpoints: string,
  state: TrainingState,
  { keepLast }: KeepOptions,
): Promise<string> {
  const folder = join(checkpoints, `step-${state.step}`)
  await explainingDiskErrors(
    { folder: checkpoints, doing: `The checkpoint of step ${state.step} could not be saved` },
    async () => {
      await mkdir(checkpoints, { recursive: true })
      await removeLeftovers(checkpoints)
      await writeFolderWhole(folder, (temporary) => writeState(temporary, state), {
        replaces: (names) => names.includes(manifestName),
      })
    },
  )
  await prune(checkpoints, state.step, state.best?.step ?? null, keepLast)
  return folder
}

/** Reads a checkpoint back, bit for bit what was saved. A UserError names what is missing or damaged. */
export async function loadTrainingState(folder: string): Promise<TrainingState> {
  const manifest = await readManifest(folder)
  if (!(stateName in manifest.files) || !(tensorsName in manifest.files))
    throw new UserError({
      what: 'Training cannot be continued from here.',
      why: `${folder} holds links, but not the state of a training run.`,
      next: 'Start a new run from these links, or choose a checkpoint of a training run.',
    })
  const state = await readStateFile(join(folder, stateName))
  const { tensors } = await readSafetensors(join(folder, tensorsName))
  const links = await readSafetensors(join(folder, linksName))
  checkNumbers(links.tensors, { file: join(folder, linksName), what: 'the links of a run' })
  return {
    step: state.step,
    links: manifest.links.map((described) => recordOf(described, links.tensors, manifest, join(folder, linksName))),
    provenance: provenanceOf(manifest),
    optimiser: new Map(
      Object.entries(state.optimiserSteps).map(([name, steps]) => [name, momentsOf(tensors, name, steps)]),
    ),
    generator: { words: [...integers(tensors, 'generator')], used: state.generatorUsed },
    dataOrder: { epoch: state.epoch, position: state.position, order: [...integers(tensors, 'order')] },
    best: state.best,
    extra: state.extra,
  }
}

export interface FoundCheckpoint {
  readonly folder: string
  readonly step: number
  /** Newer ones that are damaged or incomplete, newest first. */
  readonly skipped: readonly { readonly folder: string; readonly why: string }[]
}

/** The newest checkpoint that is whole; null when there is none. */
export async function newestCheckpoint(checkpoints: string): Promise<FoundCheckpoint | null> {
  const skipped: { folder: string; why: string }[] = []
  for (const step of (await listSteps(checkpoints)).reverse()) {
    const folder = join(checkpoints, `step-${step}`)
    try {
      const manifest = await readManifest(folder)
      if (stateName in manifest.files) return { folder, step, skipped }
      skipped.push({ folder, why: 'It holds no training state.' })
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      skipped.push({ folder, why: error.why })
    }
  }
  return null
}

async function prune(checkpoints: string, newest: number, best: number | null, keepLast: number): Promise<void> {
  const older = (await listSteps(checkpoints)).filter((step) => step < newest && step !== best)
  for (const step of older.slice(0, Math.max(0, older.length - keepLast)))
    await removeFolderWhole(join(checkpoints, `step-${step}`))
}

async function writeState(temporary: string, state: TrainingState): Promise<void> {
  const { step, links, provenance, optimiser, generator, dataOrder, best, extra } = state
  if (provenance.step !== step) throw new Error(`state of step ${step} says step ${provenance.step} in its provenance`)
  const file: z.infer<typeof stateFile> = {
    format: 1,
    step,
    optimiserSteps: Object.fromEntries([...optimiser].map(([name, { steps }]) => [name, steps])),
    generatorUsed: generator.used,
    epoch: dataOrder.epoch,
    position: dataOrder.position,
    best,
    extra,
  }
  // Refuses what JSON cannot say, such as NaN, instead of losing it.
  await writeJsonWhole(join(temporary, stateName), stateFile.parse(file))
  await writeSafetensors(join(temporary, tensorsName), stateTensors(optimiser, generator, dataOrder))
  await writeLinkFolder(temporary, links, provenance, [stateName, tensorsName])
}

function* stateTensors(
  optimiser: OptimiserState,
  generator: GeneratorState,
  dataOrder: DataOrderState,
): Iterable<readonly [string, TensorValue]> {
  const list = (values: readonly number[]): TensorValue => ({
    shape: [values.length],
    data: BigInt64Array.from(values, BigInt),
  })
  yield ['generator', list(generator.words)]
  yield ['order', list(dataOrder.order)]
  for (const [name, { first, second }] of optimiser) {
    yield [`first/${name}`, { shape: [first.length], data: first }]
    yield [`second/${name}`, { shape: [second.length], data: second }]
  }
}

async function readStateFile(path: string): Promise<z.infer<typeof stateFile>> {
  const parsed = checkJson(stateFile, await readFile(path, 'utf8'))
  if (parsed.ok) return parsed.data
  throw new UserError({
    what: 'Training cannot be continued from here.',
    why: `${path} is not a training state of this version (${parsed.why}).`,
    next: 'Use another checkpoint, or update the app.',
  })
}

function recordOf(
  { key, type, inWidth, outWidth }: LinkManifest['links'][number],
  tensors: ReadonlyMap<string, HostTensor>,
  manifest: LinkManifest,
  file: string,
): LinkRecord {
  if (manifest.kind === 'inner-link') {
    const known = innerLinkType(type)
    const parameters = takeParameters(tensors, innerParameterShapes(known, inWidth), type, {
      file,
      what: 'an inner link',
    })
    return { kind: 'inner', type: known, width: inWidth, parameters }
  }
  const known = outerLinkType(type)
  const own = new Map(
    [...tensors].flatMap(([name, t]) => (name.startsWith(`${key}.`) ? [[name.slice(key.length + 1), t] as const] : [])),
  )
  const parameters = takeParameters(own, outerParameterShapes(known, inWidth, outWidth), type, {
    file,
    what: `outer link ${key}`,
  })
  return { kind: 'outer', key, type: known, inWidth, outWidth, parameters }
}

function provenanceOf(manifest: LinkManifest): LinkProvenance {
  const { format: _format, kind: _kind, links: _links, created: _created, files: _files, ...provenance } = manifest
  return provenance
}

function momentsOf(tensors: ReadonlyMap<string, HostTensor>, name: string, steps: number): Moments {
  const first = tensors.get(`first/${name}`)?.data
  const second = tensors.get(`second/${name}`)?.data
  if (!(first instanceof Float32Array) || !(second instanceof Float32Array))
    throw new Error(`${tensorsName} lacks the moments of ${name}`)
  return { steps, first, second }
}

function integers(tensors: ReadonlyMap<string, HostTensor>, name: string): number[] {
  const data = tensors.get(name)?.data
  if (!(data instanceof BigInt64Array)) throw new Error(`${tensorsName} lacks ${name}`)
  return Array.from(data, Number)
}

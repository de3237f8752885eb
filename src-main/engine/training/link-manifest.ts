/**
 * `manifest.json` of a link checkpoint: what the links are and where they come from. It stands beside `links.safetensors`
 * and names every file of the folder with its size and hash, so that a checkpoint can be told whole from damaged.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../errors'
import { asReadError } from '../formats/disk-errors'
import { writeJsonWhole } from '../formats/atomic-files'
import { parseJson } from '../formats/json-text'
import { checkAgainst } from '../formats/schema-faults'
import { refuseRunFolder } from './checkpoint-folders'

export const manifestName = 'manifest.json'
export const linksName = 'links.safetensors'

const count = z.number().int().min(0)

/** What a run tells of itself in everything that it saves. */
const provenance = {
  style: z.string(),
  /** The agent's role (inner link); null for outer links. */
  role: z.string().nullable(),
  task: z.string(),
  mode: z.enum(['reference', 'corrected']),
  /** Inner: the one model; outer: all agents in order. `id` is the model folder's name, `revision` its commit where known. */
  baseModels: z.array(
    z.object({
      role: z.string(),
      id: z.string(),
      revision: z.string().nullable(),
      hiddenSize: z.number().int().min(1),
    }),
  ),
  /** The file that was read and its hash, the rows of it that were used, and how they were chosen and named (job-spec.ts, `data`). */
  dataset: z
    .object({
      file: z.string(),
      sha256: z.string(),
      rows: count,
      /** From here on absent in checkpoints of earlier versions. */
      field: z.string().nullable().optional(),
      columns: z.record(z.string(), z.string()).optional(),
      shuffle: z.boolean().optional(),
      limit: count.optional(),
    })
    .nullable(),
  /** Hash of the prompt pack. */
  promptPack: z.string().nullable(),
  seed: count,
  /** Optimiser steps done; 0 = untrained. */
  step: count,
  /** Which states crossed the links (outer). */
  states: z.string().nullable(),
  feedback: z.string().nullable(),
  rounds: z.union([z.number().int(), z.object({ from: z.number().int(), to: z.number().int() })]).nullable(),
  metrics: z.record(z.string(), z.number()),
  /** Every other option that shaped the links, under the job's own names. */
  options: z.record(z.string(), z.json()),
  parentRun: z.string().nullable(),
  appVersion: z.string(),
}

const provenanceSchema = z.object(provenance)
export type LinkProvenance = z.infer<typeof provenanceSchema>

export const linkManifest = z.object({
  format: z.literal(1),
  kind: z.enum(['inner-link', 'outer-links']),
  links: z
    .array(
      z.object({
        key: z.string().min(1),
        type: z.string(),
        inWidth: z.number().int().min(1),
        outWidth: z.number().int().min(1),
      }),
    )
    .min(1),
  ...provenance,
  /** ISO 8601. */
  created: z.string(),
  /** All other files of the folder. */
  files: z.record(z.string(), z.object({ bytes: count, sha256: z.string() })),
})
export type LinkManifest = z.infer<typeof linkManifest>

/** Writes the manifest of a folder whose other files are all there; to be called last, while the folder is temporary. */
export async function writeManifest(
  folder: string,
  manifest: Omit<LinkManifest, 'files' | 'format'>,
  files: readonly string[],
): Promise<LinkManifest> {
  const described: LinkManifest['files'] = {}
  for (const name of files) described[name] = await describeFile(join(folder, name))
  const whole = linkManifest.parse({ ...manifest, format: 1, files: described })
  await writeJsonWhole(join(folder, manifestName), whole)
  return whole
}

/** Reads a folder's manifest and checks that the named files (default: all it lists) are whole. UserErrors name what is wrong. */
export async function readManifest(folder: string, files?: readonly string[]): Promise<LinkManifest> {
  const path = join(folder, manifestName)
  const text = await readFile(path, 'utf8').catch(async (error: unknown) => {
    await refuseRunFolder(folder)
    throw asReadError(error, path, 'checkpoint manifest')
  })
  const manifest = parseManifest(path, text)
  for (const name of files ?? Object.keys(manifest.files)) await checkFile(folder, name, manifest.files[name])
  return manifest
}

function parseManifest(path: string, text: string): LinkManifest {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    throw damaged(path, `is not JSON (${(error as Error).message})`)
  }
  const format = (value as { format?: unknown } | null)?.format
  if (typeof format === 'number' && format > 1)
    throw new UserError({
      what: 'The checkpoint cannot be read.',
      why: `${path} has format ${format}; this version reads format 1.`,
      next: 'Update the app.',
    })
  const parsed = checkAgainst(linkManifest, value)
  if (!parsed.ok) throw damaged(path, `is no link manifest (${parsed.why})`)
  return parsed.data
}

async function checkFile(
  folder: string,
  name: string,
  expected: LinkManifest['files'][string] | undefined,
): Promise<void> {
  const path = join(folder, name)
  if (!expected || /[/\\]|^\.\.?$/.test(name)) throw damaged(join(folder, manifestName), `does not describe ${name}`)
  const size = await stat(path).then(
    (s) => s.size,
    (error: unknown) => {
      throw asReadError(error, path, 'checkpoint')
    },
  )
  if (size !== expected.bytes) throw damaged(path, `has ${size} bytes instead of ${expected.bytes}`)
  if ((await describeFile(path)).sha256 !== expected.sha256)
    throw damaged(path, 'has changed since it was written (its hash differs)')
}

async function describeFile(path: string): Promise<LinkManifest['files'][string]> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

function damaged(path: string, why: string): UserError {
  return new UserError({ what: 'The checkpoint is damaged.', why: `${path} ${why}.`, next: 'Use another checkpoint.' })
}

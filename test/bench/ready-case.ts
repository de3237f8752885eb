/** A case with the folders and inputs that both sides read. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeJsonWhole } from '../../src-main/engine/formats/atomic-files'
import { readConfig } from '../../src-main/engine/models/families'
import type { BenchCase, ModelName } from './cases'
import { type Need, needOf } from './flops'
import { inputsFile, readInputs } from './inputs'
import type { WorkRecord } from './measure'
import {
  type Baseline,
  baselineOn,
  type BaselineOptions,
  type BaselineRecord,
  baselineResults,
  baselineWork,
  folderWith,
  ownWork,
  type Variant,
} from './run-child'

export interface ReadyCase {
  readonly case: BenchCase
  readonly need: Need
  ours(options: { readonly warmup: number; readonly repeats: number; readonly results?: string }): Promise<WorkRecord>
  /** null where the baseline has no such work. */
  readonly theirs: {
    run(variant: Variant, options: Omit<BaselineOptions, 'scratch'>): Promise<BaselineRecord>
    /** Where it saves its results. */
    results(variant: Variant): string
  } | null
}

export interface Site {
  /** Where the models are; both are there. */
  readonly folders: Readonly<Record<ModelName, string>>
  readonly threads: number
  readonly scratch: string
  /** null: nothing is run against. */
  readonly baseline: Baseline | null
}

export async function readyCase(c: BenchCase, { folders, threads, scratch, baseline }: Site): Promise<ReadyCase> {
  const folder = folders[c.model]
  const usual = await readInputs(inputsFile(folder))
  const inputs = c.inputs ? c.inputs(usual, (await readConfig(folder)).vocabSize) : usual
  const own = join(scratch, c.name)
  // the baseline knows the model that it makes, with the inputs that it writes; anything else is put before it
  const apart = c.inputs !== undefined || c.model !== 'llama'
  if (baseline && c.baseline && apart) await folderWith(own, folder, inputs)
  else if (c.inputs) {
    await mkdir(own)
    await writeJsonWhole(inputsFile(own), inputs)
  }
  const request = {
    work: c.work,
    folder,
    threads,
    record: join(scratch, 'ours.json'),
    ...(c.inputs ? { inputs: inputsFile(own) } : {}),
  }
  return {
    case: c,
    need: await needOf(c.work, folder, inputs),
    ours: (options) => ownWork({ ...request, ...options }),
    theirs:
      baseline && c.baseline && theirs(c.baseline, apart ? { ...baseline, folder: own } : baseline, apart, scratch),
  }
}

function theirs(
  { work, checkpointing = false }: NonNullable<BenchCase['baseline']>,
  baseline: Baseline,
  apart: boolean,
  scratch: string,
): ReadyCase['theirs'] {
  return {
    run: (variant, options) =>
      apart
        ? baselineOn(baseline, work, { ...options, scratch, checkpointing })
        : baselineWork(baseline, work, variant, { ...options, scratch }),
    results: (variant) => baselineResults(baseline.folder, work, variant),
  }
}

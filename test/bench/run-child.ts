/** Work in fresh processes: this program's own, and the baseline's. */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../../src-main/engine/errors'
import type { ChildRequest, GemmRecord, WorkName, WorkRecord } from './measure'

/** Runs this program again for one piece of work; the record is read from `request.record`. */
export async function ownWork(request: ChildRequest & { work: WorkName }): Promise<WorkRecord> {
  return (await own(request)) as WorkRecord
}

export async function ownGemm(request: ChildRequest & { work: 'gemm' }): Promise<GemmRecord> {
  return (await own(request)) as GemmRecord
}

async function own(request: ChildRequest): Promise<unknown> {
  // the bundle of this program; collecting garbage before a run is not part of the run
  const program = fileURLToPath(import.meta.url)
  await run(process.execPath, ['--expose-gc', program, '--child', JSON.stringify(request)], `The work ${request.work}`)
  return JSON.parse(await readFile(request.record, 'utf8'))
}

/** What of the baseline's record is used here. */
export interface BaselineRecord {
  readonly seconds: readonly number[]
  readonly median: number
  readonly cpu_median: number
  readonly loaded_mb: number | null
  readonly peak_mb: number
}

export interface Baseline {
  /** Interpreter that has torch. */
  readonly python: string
  /** baseline.py */
  readonly script: string
  readonly folder: string
  /** The baseline's name for the shape of the model. */
  readonly model: string
  readonly threads: number
}

export type Variant = 'best' | 'reference'

/** One piece of work of the baseline; with `save`, results go to `resultsFile`. */
export async function baselineWork(
  baseline: Baseline,
  work: WorkName,
  variant: Variant,
  options: { readonly warmup: number; readonly repeats: number; readonly save: boolean; readonly scratch: string },
): Promise<BaselineRecord> {
  const file = join(options.scratch, 'baseline.json')
  await callBaseline(baseline, file, [
    ...['--work', work, '--variant', variant],
    ...['--warmup', String(options.warmup), '--repeats', String(options.repeats)],
    ...(options.save ? ['--save-results'] : []),
  ])
  const { records } = JSON.parse(await readFile(file, 'utf8')) as { records: BaselineRecord[] }
  return records[0]
}

/** GFLOP/s of torch and numpy by product; the baseline fills the weights folder on the way, where that is needed. */
export async function baselineGemm(baseline: Baseline, scratch: string): Promise<Record<string, number>> {
  const file = join(scratch, 'baseline.json')
  await callBaseline(baseline, file, ['--work', 'gemm', '--repeats', '5'])
  const { records } = JSON.parse(await readFile(file, 'utf8')) as { records: { gflops: Record<string, number> }[] }
  return records[0].gflops
}

export function baselineResults({ folder }: Baseline, work: WorkName, variant: Variant): string {
  return join(folder, 'results', `${work}-${variant}.safetensors`)
}

async function callBaseline(baseline: Baseline, json: string, args: readonly string[]): Promise<void> {
  const { python, script, folder, model, threads } = baseline
  const common = ['--weights', folder, '--model', model, '--threads', String(threads), '--json', json]
  await run(python, [script, ...common, ...args], 'The baseline')
}

/** Standard output is dropped, standard error shown when the process fails. */
function run(command: string, args: readonly string[], what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4000)))
    const fail = (why: string) =>
      reject(
        new UserError({
          what: `${what} could not be measured.`,
          why: `"${command}" ${why}`,
          next: 'Correct that and start again; with --against, the interpreter needs the packages that the baseline names.',
        }),
      )
    child.on('error', (error) => fail(`could not be started: ${error.message}.`))
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else fail(`ended with ${signal ?? `code ${code}`}:\n${errors.trim()}`)
    })
  })
}

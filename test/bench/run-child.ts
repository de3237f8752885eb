/** Work in fresh processes: this program's own, and the baseline's. */
import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../../src-main/engine/errors'
import { writeJsonWhole } from '../../src-main/engine/formats/atomic-files'
import type { Throughput } from './download'
import type { BenchInputs } from './inputs'
import type { ChildRequest, ChildWork, GemmRecord, WorkName, WorkRecord } from './measure'
import type { Waits } from './waits'

/** Runs this program again for one piece of work; the record is read from `request.record`. */
export async function ownWork(request: ChildRequest & { work: ChildWork }): Promise<WorkRecord> {
  return (await own(request)) as WorkRecord
}

export async function ownGemm(request: ChildRequest & { work: 'gemm' }): Promise<GemmRecord> {
  return (await own(request)) as GemmRecord
}

export async function ownBrowser(request: ChildRequest & { work: 'browser' }): Promise<Waits> {
  return (await own(request)) as Waits
}

export async function ownDownload(request: ChildRequest & { work: 'download' }): Promise<Throughput> {
  return (await own(request)) as Throughput
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

export interface BaselineOptions {
  readonly warmup: number
  readonly repeats: number
  /** Results go to `baselineResults`. */
  readonly save: boolean
  readonly scratch: string
}

/** One piece of work of the baseline. */
export async function baselineWork(
  baseline: Baseline,
  work: WorkName,
  variant: Variant,
  options: BaselineOptions,
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

/**
 * One piece of work of the baseline's `best` on inputs of ours, or on a model that it does not know by name: as a process of its own
 * starts it, since from the outside it writes its own inputs first.
 */
export async function baselineOn(
  baseline: Baseline,
  work: WorkName,
  options: BaselineOptions & { readonly checkpointing: boolean },
): Promise<BaselineRecord> {
  const { python, script, folder, threads } = baseline
  const file = join(options.scratch, 'baseline.json')
  const args = [script, '--child', work, '--variant', 'best', '--weights', folder, '--json', file]
  args.push('--threads', String(threads), '--warmup', String(options.warmup), '--repeats', String(options.repeats))
  if (options.save) args.push('--save-results')
  if (options.checkpointing) args.push('--checkpointing')
  // what the baseline gives to its processes
  const env: NodeJS.ProcessEnv = { ...process.env, CUDA_VISIBLE_DEVICES: '', HF_HUB_OFFLINE: '1' }
  for (const name of ['OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'OPENBLAS_NUM_THREADS']) env[name] = String(threads)
  await run(python, args, 'The baseline', env)
  return JSON.parse(await readFile(file, 'utf8')) as BaselineRecord
}

/** A weights folder with the files of another and inputs of its own; results go there too. */
export async function folderWith(folder: string, original: string, inputs: BenchInputs): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const file of await readdir(original))
    if (file.endsWith('.safetensors') || file === 'config.json') await symlink(join(original, file), join(folder, file))
  await writeJsonWhole(join(folder, 'inputs.json'), inputs)
}

/** GFLOP/s of torch and numpy by product; the baseline fills the weights folder on the way, where that is needed. */
export async function baselineGemm(baseline: Baseline, scratch: string): Promise<Record<string, number>> {
  const file = join(scratch, 'baseline.json')
  await callBaseline(baseline, file, ['--work', 'gemm', '--repeats', '5'])
  const { records } = JSON.parse(await readFile(file, 'utf8')) as { records: { gflops: Record<string, number> }[] }
  return records[0].gflops
}

export function baselineResults(folder: string, work: WorkName, variant: Variant): string {
  return join(folder, 'results', `${work}-${variant}.safetensors`)
}

async function callBaseline(baseline: Baseline, json: string, args: readonly string[]): Promise<void> {
  const { python, script, folder, model, threads } = baseline
  const common = ['--weights', folder, '--model', model, '--threads', String(threads), '--json', json]
  await run(python, [script, ...common, ...args], 'The baseline')
}

/** Standard output is dropped, standard error shown when the process fails. */
function run(command: string, args: readonly string[], what: string, env = process.env): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env })
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

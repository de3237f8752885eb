/** The child process: makes one piece of work ready, runs and times it, and knows its own memory. */
import { readFile } from 'node:fs/promises'
import type { TensorValue } from '../../src-main/engine/formats/dtypes'
import { writeJsonWhole } from '../../src-main/engine/formats/atomic-files'
import { writeSafetensors } from '../../src-main/engine/formats/safetensors'
import { type GemmRates, measureGemm } from './gemm'
import { measureBrowser } from './browser'
import { measureDownload, serveHub } from './download'
import { decode, forward, rollout } from './inference'
import { innerTraining } from './inner-step'
import { inputsFile, readInputs } from './inputs'
import { mixtureTraining, outerTraining } from './outer-step'
import { thinking } from './think'
import type { ReadyWork, Results, SessionTime, WorkContext } from './work'

const works: Readonly<Record<ChildWork, (context: WorkContext) => Promise<ReadyWork>>> = {
  forward_hidden: (c) => forward(c, 'hidden'),
  forward_logits: (c) => forward(c, 'logits'),
  rollout: (c) => rollout(c, 'rollout'),
  rollout8: (c) => rollout(c, 'rollout8'),
  decode,
  inner_step: (c) => innerTraining(c, false),
  inner_epoch2: (c) => innerTraining(c, true),
  outer_step: outerTraining,
  mixture_step: mixtureTraining,
  think: thinking,
}

/** The baseline's names and order, `gemm` apart. */
export const workNames = [
  'forward_hidden',
  'forward_logits',
  'rollout',
  'rollout8',
  'decode',
  'inner_step',
  'inner_epoch2',
  'outer_step',
] as const
export type WorkName = (typeof workNames)[number]

/** What a process can do; the baseline does not have the last ones. */
export type ChildWork = WorkName | 'mixture_step' | 'think'

/** The fields that the baseline's records have too keep its names; memory in MB (MiB), times in seconds. */
export interface WorkRecord {
  readonly seconds: readonly number[]
  readonly min: number
  readonly median: number
  /** Processor time of all threads. */
  readonly cpu_median: number
  /** Opening the model: everything before the first run, sessions included. */
  readonly load_s: number
  /** Resident when all is loaded; null where the system does not say. */
  readonly loaded_mb: number | null
  readonly peak_mb: number
  readonly sessions: readonly SessionTime[]
  readonly result: Readonly<Record<string, Checksum>>
}

export interface GemmRecord extends GemmRates {
  readonly peak_mb: number
}

type Checksum =
  | { readonly value: number }
  | { readonly shape: readonly number[]; readonly values: readonly number[] }
  | {
      readonly shape: readonly number[]
      readonly l2: number
      readonly first8: readonly number[]
      readonly last8: readonly number[]
    }

/** What a person waits for; `folder` is then one for files of its own. */
export const screenWorks = ['browser', 'download'] as const
export type ScreenWork = (typeof screenWorks)[number]

export interface ChildRequest {
  readonly work: ChildWork | 'gemm' | ScreenWork | 'hub'
  readonly folder: string
  /** inputs.json, where it is not the folder's. */
  readonly inputs?: string
  readonly threads: number
  readonly warmup: number
  readonly repeats: number
  /** Where the record goes. */
  readonly record: string
  /** Where the results go in full. */
  readonly results?: string
}

export async function runChild(request: ChildRequest): Promise<void> {
  switch (request.work) {
    case 'hub':
      return serveHub()
    case 'browser':
      return writeJsonWhole(request.record, await measureBrowser(request.folder))
    case 'download':
      return writeJsonWhole(request.record, await measureDownload(request.folder, request.repeats))
  }
  if (request.work === 'gemm') {
    const rates = await measureGemm(request.threads, request.repeats)
    const record: GemmRecord = { ...rates, peak_mb: (await memory()).peak }
    return writeJsonWhole(request.record, record)
  }
  const { folder, threads, warmup, repeats } = request
  const context: WorkContext = { folder, inputs: await readInputs(request.inputs ?? inputsFile(folder)), threads }
  const started = performance.now()
  const work = await works[request.work](context)
  const load = (performance.now() - started) / 1000
  try {
    const { resident: loaded } = await memory()
    const seconds: number[] = []
    const cpu: number[] = []
    let results: Results = {}
    for (let i = 0; i < warmup + repeats; i++) {
      await work.reset?.()
      results = {}
      globalThis.gc?.()
      const before = process.cpuUsage()
      const start = performance.now()
      results = await work.run()
      const end = performance.now()
      const used = process.cpuUsage(before)
      if (i < warmup) continue
      seconds.push((end - start) / 1000)
      cpu.push((used.user + used.system) / 1e6)
    }
    const { peak } = await memory()
    if (request.results) await writeSafetensors(request.results, Object.entries(results))
    const record: WorkRecord = {
      seconds: seconds.map(microseconds),
      min: microseconds(Math.min(...seconds)),
      median: microseconds(median(seconds)),
      cpu_median: microseconds(median(cpu)),
      load_s: microseconds(load),
      loaded_mb: loaded,
      peak_mb: peak,
      sessions: work.sessions.map((s) => ({ ...s, seconds: microseconds(s.seconds) })),
      result: Object.fromEntries(Object.entries(results).map(([name, t]) => [name, checksum(t)])),
    }
    await writeJsonWhole(request.record, record)
  } finally {
    await work.dispose()
  }
}

/** Resident and peak memory of this process, MiB, as Linux counts them; elsewhere the peak that Node knows. */
async function memory(): Promise<{ resident: number | null; peak: number }> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => null)
  const field = (name: string) => Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status!)![1]) / 1024)
  if (status) return { resident: field('VmRSS'), peak: field('VmHWM') }
  return { resident: null, peak: Math.round(process.resourceUsage().maxRSS / 1024) }
}

/** A result in short, as the baseline shows it. */
function checksum({ shape, data }: TensorValue): Checksum {
  if (data instanceof BigInt64Array) return { shape, values: Array.from(data, Number) }
  if (data.length === 1) return { value: data[0] }
  let squares = 0
  for (const x of data) squares += x * x
  const show = (part: Float32Array | Float64Array) => Array.from(part, (x) => Number(x.toPrecision(7)))
  return {
    shape,
    l2: Number(Math.sqrt(squares).toPrecision(9)),
    first8: show(data.subarray(0, 8)),
    last8: show(data.subarray(-8)),
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

const microseconds = (seconds: number) => Math.round(seconds * 1e6) / 1e6

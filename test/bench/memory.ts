/**
 * The estimate of a job's memory against what its process came to: every job in a process of its own, all kinds, two styles, short and
 * long texts, small and larger batches, on the demo's models and on a random one of 135 million parameters with the demo's tokenizer.
 */
import { spawn } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runJob } from '../../src-main/engine/engine'
import type { JobEvent, JobEventOf } from '../../src-main/engine/job-events'
import { jobSpec, type JobSpecInput } from '../../src-main/engine/job-spec'
import { engineFlags } from '../../src-main/engine/memory/runtime-share'
import { styleByName } from '../../src-main/engine/styles/registry'

/** One of three models of different widths. */
export const demoModel = (demo: string, agent: number): string =>
  join(demo, 'models', ['planner', 'critic', 'solver'][agent % 3])

/** Share of the measured peak by which the estimate may be off. */
export const memoryTolerance = 0.2

export interface MemoryCase {
  readonly name: string
  readonly spec: (output: string) => JobSpecInput
}

export interface MemoryRecord {
  readonly name: string
  /** Bytes. */
  readonly estimate: number
  readonly peak: number
  readonly parts: readonly { readonly name: string; readonly bytes: number }[]
  /** (estimate - peak) / peak */
  readonly off: number
}

/** The random model of `weights` with the demo's tokenizer, which it needs to be given text. */
export async function modelWithText(demo: string, weights: string, folder: string): Promise<string> {
  const planner = join(demo, 'models', 'planner')
  await mkdir(folder, { recursive: true })
  for (const file of await readdir(planner))
    if (/token|template/.test(file)) await copyFile(join(planner, file), join(folder, file))
  for (const file of ['config.json', 'model.safetensors']) await symlink(join(weights, file), join(folder, file))
  return folder
}

/** Rows with every role's text, each about so many words of the demo's language. */
async function writeRows(demo: string, file: string, words: number, count: number): Promise<void> {
  const lines = (await readFile(join(demo, 'train.jsonl'), 'utf8')).split('\n').slice(0, count)
  const rows = lines.map((line) => {
    const row = JSON.parse(line) as Record<string, unknown>
    const long = (text: unknown) => {
      const own = String(text).split(' ')
      return Array.from({ length: words }, (_, i) => own[i % own.length]).join(' ')
    }
    const text = long(row.question)
    const roles = ['plan', 'refined_plan', 'answer', 'math_expert', 'code_expert', 'science_expert', 'summary']
    return { question: text, ...Object.fromEntries(roles.map((name) => [name, text])) }
  })
  await writeFile(file, rows.map((row) => JSON.stringify(row) + '\n').join(''))
}

/** `which`: how its cases are called; `modelOf`: the folder of each agent's model. */
export async function memoryCases(
  demo: string,
  which: string,
  modelOf: (agent: number) => string,
  scratch: string,
  sizes: readonly { readonly words: number; readonly batchSize: number }[],
  more: { readonly rounds: number; readonly latents: number; readonly steps: number },
): Promise<MemoryCase[]> {
  const cases: MemoryCase[] = []
  for (const { words, batchSize } of sizes) {
    const file = join(scratch, `rows-${words}.jsonl`)
    await writeRows(demo, file, words, 8)
    const data = { file }
    const size = `${words} words x ${batchSize}`
    const { rounds, latents, steps } = more
    cases.push({
      name: `${which}, inner, ${size}`,
      spec: (output) => ({ kind: 'inner', role: 'solver', model: modelOf(2), output, data, batchSize, steps }),
    })
    for (const style of ['sequential', 'mixture']) {
      const agents = styleByName(style).roles.map(({ role }, i) => ({ role, model: modelOf(i) }))
      cases.push(
        {
          name: `${which}, outer, ${style}, ${size}`,
          spec: (output) => ({
            kind: 'outer',
            style,
            agents,
            output,
            data,
            batchSize,
            steps,
            rounds,
            latentCap: latents,
          }),
        },
        {
          name: `${which}, evaluate, ${style}, ${size}`,
          spec: (output) => ({
            ...{ kind: 'evaluate', style, agents, output, data, batchSize, rounds, latentSteps: latents },
            generation: { maxNewTokens: 24 },
            grader: 'exact',
          }),
        },
      )
    }
  }
  return cases
}

/** The demo's own jobs, with all its rows and as many steps as show what piles up in a long run. */
export function demoCases(demo: string): MemoryCase[] {
  const agents = styleByName('sequential').roles.map(({ role }, i) => ({ role, model: demoModel(demo, i) }))
  const own = { promptPack: join(demo, 'prompt-pack.json'), batchSize: 16 }
  const train = { file: join(demo, 'train.jsonl') }
  return [
    {
      name: 'demo, inner, as in its pipeline',
      spec: (output) => ({
        kind: 'inner',
        role: 'solver',
        model: demoModel(demo, 2),
        output,
        ...own,
        data: train,
        steps: 400,
      }),
    },
    {
      name: 'demo, outer, as in its pipeline, 20 steps',
      spec: (output) => ({
        ...{ kind: 'outer', agents, output, ...own, data: train, steps: 20, rounds: 3, latentCap: 11 },
        ...{ start: 'aligned', align: { steps: 40, rows: 500, latentSteps: 11 } },
      }),
    },
    {
      name: 'demo, evaluate, as in its pipeline',
      spec: (output) => ({
        ...{ kind: 'evaluate', agents, output, ...own, data: { file: join(demo, 'held-out.jsonl') } },
        ...{ rounds: 3, latentSteps: 11, generation: { maxNewTokens: 12 }, grader: 'exact' },
      }),
    },
  ]
}

/** Of a process of its own: the last line that it prints is the record of the job's two memory events. */
export async function measureMemory(c: MemoryCase, scratch: string, program: readonly string[]): Promise<MemoryRecord> {
  const output = join(scratch, c.name.replace(/\W+/g, '-'))
  const spec = JSON.stringify(c.spec(output))
  const [command, ...args] = program
  const text = await new Promise<string>((resolve, reject) => {
    // as processes of the engine run
    const child = spawn(command, [...engineFlags, ...args, '--memory-child', spec], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let all = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => (all += part))
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(all) : reject(new Error(`${c.name}: ${all}`))))
  })
  const { memory, used } = JSON.parse(text) as { memory: JobEventOf<'memory'>; used: JobEventOf<'memory-used'> }
  const peak = used.peak!
  return { name: c.name, estimate: memory.total, peak, parts: memory.parts, off: (memory.total - peak) / peak }
}

/** The child: runs the job and prints what it said of memory, or how it failed. */
export async function runMemoryChild(spec: string): Promise<number> {
  const events: JobEvent[] = []
  await runJob(jobSpec.parse(JSON.parse(spec)), { emit: (event) => events.push(event) })
  const of = (kind: JobEvent['kind']) => events.find((e) => e.kind === kind)
  const failed = of('failed')
  process.stdout.write(JSON.stringify(failed ?? { memory: of('memory'), used: of('memory-used') }))
  return failed ? 1 : 0
}

export function memoryTable(records: readonly MemoryRecord[]): string {
  const mb = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`
  const line = (r: MemoryRecord) =>
    `| ${r.name} | ${mb(r.estimate)} | ${mb(r.peak)} | ${(100 * r.off).toFixed(1)} % | ${Math.abs(r.off) <= memoryTolerance ? '' : 'too far off'} |\n`
  return `| job | estimate | peak | off | |\n| --- | ---: | ---: | ---: | --- |\n${records.map(line).join('')}`
}

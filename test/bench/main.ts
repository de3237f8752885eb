/**
 * `npm run bench`: times the engine's pieces of work, alone or in turn with the PyTorch baseline. Every measurement is a
 * process of its own. Method and findings: BENCHMARKS.md.
 */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseOptions, wholeNumber } from '../../src-main/cli/options'
import { duration } from '../../src-main/cli/progress-line'
import { UsageError } from '../../src-main/cli/usage-error'
import { UserError } from '../../src-main/engine/errors'
import { writeJsonWhole } from '../../src-main/engine/formats/atomic-files'
import { type Agreement, compareResults } from './agreement'
import { type BenchCase, casesByDefault, casesNamed, furtherNames, type ModelName } from './cases'
import {
  type ChildRequest,
  type GemmRecord,
  median,
  runChild,
  screenWorks,
  type ScreenWork,
  workNames,
  type WorkRecord,
} from './measure'
import {
  demoModel,
  measureMemory,
  memoryCases,
  demoCases,
  type MemoryRecord,
  memoryTable,
  memoryTolerance,
  modelWithText,
  runMemoryChild,
} from './memory'
import { writeRandomModel } from './random-model'
import { type ReadyCase, readyCase } from './ready-case'
import { agreementTable, aims, gemmLines, ownTable, type Pair, pairTable, seriesTable } from './report'
import { throughputTable } from './download'
import { type Baseline, baselineGemm, ownBrowser, ownDownload, ownGemm, type Variant } from './run-child'
import { targets } from './targets'
import { waitsTable } from './waits'

const root = fileURLToPath(new URL('..', import.meta.url))

const usage = `npm run bench -- [--weights DIR] [--only NAMES] [--against PYTHON] [options]
  --weights DIR     model, links and inputs; filled when it is not there (default .bench/smollm2-135m)
  --only NAMES      of gemm, ${workNames.join(', ')} (all of these without --only), separated
                    by commas; forward = both forwards; further names below
  --against PYTHON  an interpreter with torch: runs in turn with the baseline, and compares results first
  --baseline FILE   baseline.py (default ../shared/baseline/baseline.py)
  --threads N       compute threads of both sides (default: one per core)
  --repeats N       measured runs in a process (default 3; with --against 1)
  --warmup N        runs before them (default 1)
  --pairs N         processes of each side with --against (default 5; 2 against the variant "reference")
  --minutes N       with --against, nothing is started that would end later (default 45)
  --json FILE       everything measured

--only takes more than runs by itself:
${furtherNames}
  memory        estimates of jobs' memory against what their processes come to
  browser       waits of the data browser on a generated set of a million rows
  download      downloads over loopback, next to curl`

interface Settings {
  readonly screens: readonly ScreenWork[]
  readonly folders: Readonly<Record<ModelName, string>>
  readonly gemm: boolean
  readonly memory: boolean
  readonly cases: readonly BenchCase[]
  readonly threads: number
  readonly repeats: number
  readonly warmup: number
  readonly scratch: string
}

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === '--child') {
    await runChild(JSON.parse(args[1]) as ChildRequest)
    return 0
  }
  if (args[0] === '--memory-child') return runMemoryChild(args[1])
  const text = { type: 'string' } as const
  const { values } = parseOptions(
    args,
    {
      weights: text,
      only: text,
      against: text,
      baseline: text,
      threads: text,
      repeats: text,
      warmup: text,
      pairs: text,
      minutes: text,
      json: text,
      help: { type: 'boolean' },
    },
    usage,
  )
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const count = (name: 'threads' | 'repeats' | 'warmup' | 'pairs' | 'minutes', usual: number, least = 1) =>
    values[name] === undefined ? usual : wholeNumber(name, values[name], least, usage)
  const scratch = await mkdtemp(join(tmpdir(), 'recursivemas-bench-'))
  try {
    const settings: Settings = {
      folders: {
        llama: resolve(values.weights ?? join(root, '.bench', 'smollm2-135m')),
        'delta-net': join(root, '.bench', 'delta-net'),
      },
      ...chosen(values.only),
      threads: count('threads', cpus().length),
      repeats: count('repeats', values.against === undefined ? 3 : 1),
      warmup: count('warmup', 1, 0),
      scratch,
    }
    const load = [loadavg()[0]]
    const report =
      values.against === undefined
        ? await alone(settings)
        : await against(settings, {
            python: values.against,
            script: resolve(values.baseline ?? join(root, '..', 'shared', 'baseline', 'baseline.py')),
            pairs: count('pairs', 5),
            minutes: count('minutes', 45),
          })
    load.push(loadavg()[0])
    process.stdout.write(`Load average ${load[0].toFixed(1)} before, ${load[1].toFixed(1)} after.\n`)
    const { threads, repeats, warmup, folders } = settings
    const machine = { processor: cpus()[0]?.model ?? null, cores: cpus().length, node: process.version }
    if (values.json !== undefined)
      await writeJsonWhole(resolve(values.json), {
        weights: folders.llama,
        threads,
        repeats,
        warmup,
        ...machine,
        load_average: load,
        ...report.json,
      })
    return report.ok ? 0 : 1
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function chosen(only: string | undefined): Pick<Settings, 'gemm' | 'cases' | 'screens' | 'memory'> {
  if (only === undefined) return { gemm: true, memory: false, cases: [...casesByDefault], screens: [] }
  const names = only.split(',')
  const cases = names
    .filter((name) => name !== 'gemm' && name !== 'memory' && !isScreen(name))
    .flatMap((name) => {
      const found = casesNamed(name)
      if (!found) throw new UsageError(`There is no work "${name}".`, usage)
      return found
    })
  return {
    gemm: names.includes('gemm'),
    memory: names.includes('memory'),
    cases: [...new Set(cases)],
    screens: screenWorks.filter((s) => names.includes(s)),
  }
}

const isScreen = (name: string) => (screenWorks as readonly string[]).includes(name)

const say = (line: string) => process.stderr.write(`${line}\n`)

interface Report {
  readonly ok: boolean
  readonly json: Record<string, unknown>
}

async function makeMissing(folders: Settings['folders'], models: ReadonlySet<ModelName>): Promise<void> {
  for (const model of models) {
    if (existsSync(folders[model])) continue
    say(`making a random model in ${folders[model]} ...`)
    await writeRandomModel(folders[model], model, 0)
  }
}

async function alone(settings: Settings): Promise<Report> {
  const { folders, cases, threads, repeats, warmup, scratch } = settings
  await makeMissing(folders, new Set(cases.map((c) => c.model)))
  const ready: ReadyCase[] = []
  for (const c of cases) ready.push(await readyCase(c, { folders, threads, scratch, baseline: null }))
  let gemm: GemmRecord | null = null
  if (settings.gemm) {
    say('gemm ...')
    gemm = await ownGemm({ ...settings, folder: folders.llama, work: 'gemm', record: join(scratch, 'ours.json') })
    process.stdout.write(gemmLines(gemm))
  }
  const records = new Map<string, WorkRecord[]>()
  for (const r of ready) {
    say(`${r.case.name} ...`)
    records.set(r.case.name, [await r.ours({ warmup, repeats })])
  }
  if (ready.length > 0) {
    process.stdout.write(ownTable(records, needMap(ready), gemm))
    const points = ready.map((r) => ({ case: r.case, ours: records.get(r.case.name)![0].median, theirs: null }))
    process.stdout.write(seriesTable(points) + aims())
  }
  const screens = await measureScreens(settings)
  const flat = [...records].map(([work, [record]]) => ({ work, variant: 'ours', ...record }))
  const memory = settings.memory ? await memoryRecords(settings) : null
  return {
    ok: memory === null || memory.every(({ off }) => Math.abs(off) <= memoryTolerance),
    json: {
      ...(memory ? { memory } : {}),
      records: [...(gemm ? [{ work: 'gemm', variant: 'ours', ...gemm }] : []), ...flat, ...screens],
    },
  }
}

/** Estimates against peaks, in a table; the bundle of this program is the child. */
async function memoryRecords({ folders, scratch }: Settings): Promise<MemoryRecord[]> {
  await makeMissing(folders, new Set(['llama']))
  const demo = join(root, 'native-assets', 'demo')
  const random = await modelWithText(demo, folders.llama, join(scratch, 'random'))
  const more = { rounds: 2, latents: 16, steps: 2 }
  const cases = [
    ...(await memoryCases(
      demo,
      'demo',
      (agent) => demoModel(demo, agent),
      scratch,
      [
        { words: 10, batchSize: 2 },
        { words: 40, batchSize: 8 },
      ],
      more,
    )),
    ...(await memoryCases(
      demo,
      '135m',
      () => random,
      scratch,
      [
        { words: 10, batchSize: 1 },
        { words: 80, batchSize: 4 },
      ],
      more,
    )),
    ...demoCases(demo),
  ]
  const records: MemoryRecord[] = []
  for (const c of cases) {
    say(`${c.name} ...`)
    records.push(await measureMemory(c, scratch, [process.execPath, fileURLToPath(import.meta.url)]))
  }
  process.stdout.write(memoryTable(records))
  return records
}

async function measureScreens(settings: Settings): Promise<object[]> {
  const records: object[] = []
  for (const work of settings.screens) {
    say(`${work} ...`)
    const folder = join(settings.scratch, work)
    await mkdir(folder)
    const request = { ...settings, folder, record: join(settings.scratch, 'ours.json') }
    if (work === 'browser') {
      const waits = await ownBrowser({ ...request, work })
      process.stdout.write(waitsTable(waits))
      records.push({ work, ...waits })
    } else {
      const throughput = await ownDownload({ ...request, work })
      process.stdout.write(throughputTable(throughput))
      records.push({ work, ...throughput })
    }
    await rm(folder, { recursive: true })
  }
  return records
}

const needMap = (ready: readonly ReadyCase[]) => new Map(ready.map((r) => [r.case.name, r.need]))

interface Comparison {
  readonly python: string
  readonly script: string
  readonly pairs: number
  readonly minutes: number
}

/** Pairs against the variant that recomputes everything: enough to see factors of 3 and more. */
const referencePairs = 2

async function against(settings: Settings, comparison: Comparison): Promise<Report> {
  const started = performance.now()
  const alone = [...settings.screens, ...(settings.memory ? ['memory'] : [])]
  if (alone.length > 0) throw new UsageError(`${alone.join(' and ')}: measured alone.`, usage)
  const { folders, threads, scratch } = settings
  const { python, script } = comparison
  const folder = folders.llama
  if (!existsSync(script))
    throw new UserError({
      what: 'The baseline is missing.',
      why: `There is no file ${script}.`,
      next: 'Name it with --baseline FILE.',
    })
  await mkdir(folder, { recursive: true })
  const baseline: Baseline = { python, script, folder, threads, model: await shapeName(folder) }

  say('products of both sides ...')
  const theirGemm = await baselineGemm(baseline, scratch)
  const gemm = await ownGemm({ ...settings, folder, work: 'gemm', record: join(scratch, 'ours.json') })
  process.stdout.write(gemmLines(gemm))
  process.stdout.write(
    `the baseline's: ${Object.entries(theirGemm)
      .map(([p, rate]) => `${p} ${rate} GFLOP/s`)
      .join(', ')}\n\n`,
  )
  // the baseline has made its own
  await makeMissing(folders, new Set(settings.cases.map((c) => c.model)))
  const cases: ReadyCase[] = []
  for (const c of settings.cases) cases.push(await readyCase(c, { folders, threads, scratch, baseline }))

  const agreements = new Map<string, Agreement[]>()
  for (const { case: c, ours, theirs } of cases) {
    if (!theirs) continue
    say(`${c.name}: do the results agree? ...`)
    const results = ownResults(scratch, c)
    await ours({ warmup: 0, repeats: 1, results })
    await theirs.run('best', { warmup: 0, repeats: 1, save: true })
    agreements.set(c.name, await compareResults(results, theirs.results('best')))
  }
  if (agreements.size > 0) process.stdout.write(agreementTable(agreements) + '\n')
  const agree = () => [...agreements.values()].flat().every((a) => a.agrees !== false)
  const agreementJson = () => [...agreements].flatMap(([work, all]) => all.map((a) => ({ work, ...a })))
  if (!agree()) {
    process.stdout.write('The results differ: times are not compared.\n')
    return { ok: false, json: { agreement: agreementJson() } }
  }

  const pairs: Pair[] = []
  const left: string[] = []
  for (const { ready, variant, number } of schedule(cases, comparison.pairs)) {
    const { case: c, ours, theirs } = ready
    const work = c.name
    const known = pairs.filter((p) => p.work === work && p.variant === variant)
    const elapsed = (performance.now() - started) / 60_000
    if (elapsed + expectedMinutes(work, variant, pairs) > comparison.minutes) {
      left.push(`${work} against ${variant}, pair ${number}`)
      continue
    }
    say(`${work}${theirs ? ` against ${variant}` : ''}, pair ${number}, ${duration(60 * elapsed)} so far ...`)
    const start = performance.now()
    const { warmup, repeats } = settings
    const own = await ours({ warmup, repeats })
    const save = variant === 'reference' && known.length === 0
    const other = theirs && (await theirs.run(variant, { warmup, repeats, save }))
    pairs.push({ work, variant, ours: own, theirs: other, minutes: (performance.now() - start) / 60_000 })
    if (theirs && save)
      agreements.set(`${work} (reference)`, await compareResults(ownResults(scratch, c), theirs.results(variant)))
  }
  if (agreements.has('rollout (reference)') || agreements.has('outer_step (reference)'))
    process.stdout.write(agreementTable(new Map([...agreements].filter(([name]) => name.includes('(')))) + '\n')
  const of = (c: BenchCase) => pairs.filter((p) => p.work === c.name)
  const records = new Map(cases.map(({ case: c }) => [c.name, of(c).map((p) => p.ours)]))
  for (const [work, all] of records) if (all.length === 0) records.delete(work)
  process.stdout.write(ownTable(records, needMap(cases), gemm) + '\n')
  const points = cases.flatMap(({ case: c }) => {
    const all = of(c)
    const others = all.flatMap((p) => p.theirs?.median ?? [])
    return all.length > 0
      ? [{ case: c, ours: median(all.map((p) => p.ours.median)), theirs: others.length > 0 ? median(others) : null }]
      : []
  })
  process.stdout.write(pairTable(pairs) + seriesTable(points) + aims())
  if (left.length > 0) process.stdout.write(`Left out, ${comparison.minutes} minutes being over: ${left.join('; ')}.\n`)
  process.stdout.write(`It took ${duration((performance.now() - started) / 1000)}.\n`)
  return {
    ok: agree(),
    json: { gemm: { ours: gemm, baseline: theirGemm }, agreement: agreementJson(), pairs, left_out: left },
  }
}

const ownResults = (scratch: string, c: BenchCase) => join(scratch, `${c.name}.safetensors`)

/** All works once, then all again: whatever drifts on the machine meets all of them. */
function schedule(
  cases: readonly ReadyCase[],
  pairs: number,
): { ready: ReadyCase; variant: Variant; number: number }[] {
  return Array.from({ length: pairs }, (_, i) =>
    cases.flatMap((ready) =>
      (['best', 'reference'] as const)
        .filter((v) => v === 'best' || (i < referencePairs && targets.reference[ready.case.name] !== undefined))
        .map((variant) => ({ ready, variant, number: i + 1 })),
    ),
  ).flat()
}

/** The longest pair of its kind so far; before the first, that of nearest kind. */
function expectedMinutes(work: string, variant: Variant, done: readonly Pair[]): number {
  const longest = (list: readonly Pair[]) => Math.max(0, ...list.map((p) => p.minutes))
  const same = done.filter((p) => p.work === work)
  return longest(same.filter((p) => p.variant === variant)) || 2 * longest(same)
}

/** The baseline's name for the shape of the model in a folder; an empty one is filled with the smallest real one. */
async function shapeName(folder: string): Promise<string> {
  const config = await readFile(join(folder, 'config.json'), 'utf8').catch(() => null)
  if (config === null) return 'smollm2-135m'
  const { hidden_size: width } = JSON.parse(config) as { hidden_size?: number }
  const name = { 64: 'tiny', 576: 'smollm2-135m', 2048: 'llama-1b' }[width ?? 0]
  if (name) return name
  throw new UserError({
    what: 'The baseline does not know this model.',
    why: `${join(folder, 'config.json')} has hidden_size ${width}.`,
    next: 'Use a folder that the baseline has made.',
  })
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (error instanceof UserError) process.stderr.write(`${error.what}\n${error.why}\n${error.next}\n`)
  else if (error instanceof UsageError) process.stderr.write(`${error.message}\n${error.usage}\n`)
  else throw error
  process.exitCode = 1
}

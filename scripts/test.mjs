// `npm test [check] [unit] [golden] [e2e]`: the parts named, or all of them, then one line "N passed, N failed".
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { describe, runShown, SetUpError } from './setup/process.mjs'
import { ensure, root } from './setup/set-up.mjs'
import { closingLine, countVitest } from './test-count.mjs'

const partNames = ['check', 'unit', 'golden', 'e2e']
const modules = path.join(root, 'node_modules')
const vitest = path.join(modules, 'vitest', 'vitest.mjs')
const checks = [
  { name: 'tsc', args: [path.join(modules, 'typescript', 'bin', 'tsc'), '--noEmit', '-p', '.'] },
  {
    name: 'svelte-check',
    args: [
      path.join(modules, 'svelte-check', 'bin', 'svelte-check'),
      '--tsconfig',
      './tsconfig.json',
      '--fail-on-warnings',
    ],
  },
]

/** @param {string} line */
const title = (line) => process.stdout.write(`\n== ${line}\n`)

/**
 * Runs a program of this project with its output shown. Returns its exit code, 128 when a signal ended it.
 * @param {string} command
 * @param {string[]} args
 */
const run = (command, args) => runShown(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })

/**
 * A type check, of the TypeScript or of the Svelte sources, counted as one test.
 * @param {typeof checks[number]} check
 */
async function countCheck({ name, args }) {
  title(name)
  const ok = (await run(process.execPath, args)) === 0
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1 }
}

/**
 * Runs vitest projects, through `wrapper` (a program and its arguments) if given.
 * @param {string[]} projects
 * @param {string[]} wrapper
 */
async function countProjects(projects, wrapper = []) {
  title(`${projects.join(', ')} tests`)
  const report = path.join(root, '.cache', 'test-results', `${projects.join('-')}.json`)
  mkdirSync(path.dirname(report), { recursive: true })
  rmSync(report, { force: true })
  const [command, ...args] = [
    ...wrapper,
    process.execPath,
    vitest,
    'run',
    ...projects.flatMap((name) => ['--project', name]),
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]
  const code = await run(command, args)
  let parsed = null
  try {
    parsed = JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    // No report: the runner crashed, which countVitest counts.
  }
  const count = countVitest(parsed, code)
  for (const problem of count.problems) process.stdout.write(`! ${problem}\n`)
  if (count.skipped > 0) process.stdout.write(`  ${count.skipped} skipped\n`)
  return count
}

/** In a desktop session of their own, where there may be none. */
function countEndToEnd() {
  const session = path.join(root, 'scripts', 'e2e-session.mjs')
  return countProjects(['e2e'], process.platform === 'linux' ? [process.execPath, session] : [])
}

/**
 * What to do, in order, for the parts named (all when none is). What only the end-to-end tests need is fetched early, so that a
 * person who is asked for system packages is asked at once; failing to get it stops none of the others.
 * @param {string[]} names
 * @returns {Task[]}
 */
function tasksOf(names) {
  /** @param {string} name */
  const wanted = (name) => names.length === 0 || names.includes(name)
  const plain = [...(wanted('unit') ? ['unit', 'page'] : []), ...(wanted('golden') ? ['golden'] : [])]
  const session = 'what the e2e tests need'
  /** @type {Task[]} */
  const tasks = [{ name: 'packages', run: () => ensure(['dependencies']) }]
  if (wanted('e2e')) tasks.push({ name: session, after: 'packages', run: () => ensure(['testing', 'electron']) })
  if (wanted('check'))
    tasks.push(...checks.map((check) => ({ name: check.name, after: 'packages', run: () => countCheck(check) })))
  if (plain.length > 0) tasks.push({ name: plain.join(', '), after: 'packages', run: () => countProjects(plain) })
  if (wanted('e2e')) {
    tasks.push({ name: 'build', after: session, run: () => ensure(['build']) })
    tasks.push({ name: 'e2e', after: 'build', run: countEndToEnd })
  }
  return tasks
}

/**
 * A test part, which returns its counts, or a preparation, which does not; left out when the task `after` which it comes was
 * not done.
 * @typedef {{ name: string, after?: string, run: () => Promise<{ passed: number, failed: number } | void> }} Task
 */

/**
 * Runs the tasks and prints the closing line, whatever fails and whoever ends it: a task that could not be done is one failed
 * test. Returns the exit code: 0 only when nothing failed.
 * @param {Task[]} tasks
 */
async function runTasks(tasks) {
  let stopped = false
  const stop = () => (stopped = true)
  process.on('SIGTERM', stop)
  const counts = []
  const done = new Set()
  for (const { name, after, run } of tasks) {
    if (after && !done.has(after)) continue
    if (stopped) {
      process.stdout.write(`! ended before ${name}\n`)
      counts.push({ passed: 0, failed: 1 })
      break
    }
    try {
      counts.push((await run()) ?? { passed: 0, failed: 0 })
      done.add(name)
    } catch (error) {
      process.stdout.write(`! ${name}: ${describe(error)}\n`)
      counts.push({ passed: 0, failed: 1 })
    }
  }
  process.off('SIGTERM', stop)
  process.stdout.write(`\n${closingLine(counts)}\n`)
  return counts.some((count) => count.failed > 0) ? 1 : 0
}

/**
 * Returns the exit code: 0 only when nothing failed.
 * @param {string[]} args
 */
export async function runTests(args) {
  const unknown = args.filter((name) => !partNames.includes(name))
  if (unknown.length > 0) throw new SetUpError(`There is no test part "${unknown[0]}". Parts: ${partNames.join(', ')}.`)
  return runTasks(tasksOf(args))
}

/** `npm run check`. */
export async function runChecks() {
  const counts = []
  for (const check of checks) counts.push(await countCheck(check))
  return counts.some((count) => count.failed > 0) ? 1 : 0
}

/** `npm run test:large`: the tests that take gigabytes of disk. */
export async function runLargeTests() {
  await ensure(['dependencies'])
  const count = await countProjects(['large'])
  process.stdout.write(`\n${closingLine([count])}\n`)
  return count.failed > 0 ? 1 : 0
}

// `npm test [check] [unit] [golden] [e2e]`: the parts named, or all of them, then one line "N passed, N failed".
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { describe, SetUpError } from './setup/process.mjs'
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
 * Runs a program of this project with its output shown.
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<number>} its exit code, 128 when a signal ended it
 */
function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    const end = () => child.kill('SIGTERM')
    process.once('SIGTERM', end)
    child.on('error', reject)
    child.on('exit', (code) => {
      process.off('SIGTERM', end)
      resolve(code ?? 128)
    })
  })
}

/** Type checks of the TypeScript and of the Svelte sources, one count each. */
async function countChecks() {
  const counts = []
  for (const { name, args } of checks) {
    title(name)
    const ok = (await run(process.execPath, args)) === 0
    counts.push({ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 })
  }
  return counts
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

/** End-to-end tests need the runtime and the build; failing to get them is a failed test, not the end of the run. */
async function countEndToEnd() {
  try {
    await ensure(['electron', 'build'])
  } catch (error) {
    process.stdout.write(`! the app could not be made ready: ${describe(error)}\n`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
  const session = path.join(root, 'scripts', 'e2e-session.mjs')
  return countProjects(
    ['e2e'],
    process.platform === 'linux' ? ['dbus-run-session', '--', process.execPath, session] : [],
  )
}

/**
 * Returns the exit code: 0 only when nothing failed.
 * @param {string[]} args
 */
export async function runTests(args) {
  const unknown = args.filter((name) => !partNames.includes(name))
  if (unknown.length > 0) throw new SetUpError(`There is no test part "${unknown[0]}". Parts: ${partNames.join(', ')}.`)
  /** @param {string} name */
  const wanted = (name) => args.length === 0 || args.includes(name)
  await ensure(wanted('e2e') ? ['dependencies', 'testing', 'electron'] : ['dependencies'])
  const counts = []
  if (wanted('check')) counts.push(...(await countChecks()))
  const plain = [...(wanted('unit') ? ['unit', 'page'] : []), ...(wanted('golden') ? ['golden'] : [])]
  if (plain.length > 0) counts.push(await countProjects(plain))
  if (wanted('e2e')) counts.push(await countEndToEnd())
  process.stdout.write(`\n${closingLine(counts)}\n`)
  return counts.some((count) => count.failed > 0) ? 1 : 0
}

/** `npm run check`. */
export async function runChecks() {
  return (await countChecks()).some((count) => count.failed > 0) ? 1 : 0
}

// What a command needs before it can run, checked in milliseconds and made when missing. Checks come first and without a
// lock; only when something is missing is the lock taken, and the checks are repeated under it.
import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { dependencyProblem, installDependencies } from './dependencies.mjs'
import { withLock } from './lock.mjs'
import { say, SetUpError } from './process.mjs'
import { hashFiles, readStamp, writeStamp } from './stamp.mjs'
import { installMissing, libraries, missingHere, tools } from './system-packages.mjs'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Lies in dist/ itself, so that it is there exactly when the whole of dist/ is. */
const buildStamp = path.join(root, 'dist', 'made-from')
/** Everything that dist/ is made from. */
const buildInputs = [
  'src-main',
  'src-renderer',
  'test/bench',
  'scripts/build.mjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]

/**
 * One thing to make sure of: null when it is there, else the way to make it.
 * @typedef {() => null | (() => Promise<unknown>) | Promise<null | (() => Promise<unknown>)>} Step
 * @typedef {'dependencies' | 'window' | 'testing' | 'electron' | 'build'} Need
 */

/**
 * In the order in which they are done.
 * @type {Record<Need, Step>}
 */
const steps = {
  dependencies: () => (dependencyProblem(root) ? () => installDependencies(root) : null),
  window: systemStep(libraries),
  testing: systemStep([...libraries, ...tools]),
  electron: async () => {
    const { findElectron, installElectron } = await import('../electron-runtime.mjs')
    return findElectron() ? null : installElectron
  },
  build: () => {
    const sources = hashFiles(root, buildInputs)
    return readStamp(buildStamp) === sources ? null : () => build(sources)
  },
}

/**
 * Root gets everything that any command could want at once; others are only asked for what this command cannot do without.
 * @param {string[]} needed
 * @returns {Step}
 */
function systemStep(needed) {
  return () => {
    const missing = missingHere(process.getuid?.() === 0 ? [...libraries, ...tools] : needed)
    return missing.length > 0 ? () => installMissing(missing) : null
  }
}

/** @param {string} sources hash of what it is built from */
async function build(sources) {
  say('building the application ...')
  const { buildAll } = await import('../build.mjs')
  try {
    await buildAll({
      log: say,
      finish: (folder) => writeStamp(path.join(folder, path.basename(buildStamp)), sources),
    })
  } catch (error) {
    throw new SetUpError(`The application could not be built. ${error instanceof Error ? error.message : error}`)
  }
}

/**
 * Makes sure of `needs` (names of steps). Throws SetUpError with a sentence for the person when that is impossible.
 * All output goes to standard error.
 * @param {Need[]} needs
 */
export async function ensure(needs) {
  const order = /** @type {Need[]} */ (Object.keys(steps)).filter((name) => needs.includes(name))
  if (await allThere(order)) return
  await withLock(
    path.join(root, '.cache', 'set-up.lock'),
    async () => {
      sweep(path.join(root, '.cache'))
      for (const name of order) {
        const make = await steps[name]()
        if (make) await make()
      }
    },
    () =>
      say('another set-up of this folder is running, waiting for it ... (if there is none, delete .cache/set-up.lock)'),
  )
}

/** Folders that a set-up works in; an ended one may have left several 100 MB. */
const workFolders = /^(electron-unpack|dist|dist-old|set-up\.lock)[-.][\w-]+$/

/**
 * Removes what set-ups that were ended have left. Only for the holder of the lock: nobody else works in such a folder then.
 * @param {string} cache
 */
function sweep(cache) {
  for (const name of readdirSync(cache)) {
    if (workFolders.test(name)) rmSync(path.join(cache, name), { recursive: true, force: true })
  }
}

/** @param {Need[]} order */
async function allThere(order) {
  for (const name of order) if (await steps[name]()) return false
  return true
}

// What a command needs before it can run, checked in milliseconds and made when missing. Checks come first and without a
// lock; only when something is missing is the lock taken, and the checks are repeated under it.
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
 * The steps, in the order in which they are done. Each `missing` returns what is to be done (anything truthy) or a falsy
 * value; `make` gets that value.
 */
const steps = {
  dependencies: { missing: () => dependencyProblem(root), make: () => installDependencies(root) },
  window: systemStep(libraries),
  testing: systemStep([...libraries, ...tools]),
  electron: {
    missing: async () => !(await import('../electron-runtime.mjs')).findElectron(),
    make: async () => (await import('../electron-runtime.mjs')).installElectron(),
  },
  build: {
    missing: () => {
      const now = hashFiles(root, buildInputs)
      return readStamp(buildStamp) === now ? null : now
    },
    make: async (hash) => {
      say('building the application ...')
      const { buildAll } = await import('../build.mjs')
      try {
        await buildAll({ log: say, finish: (folder) => writeStamp(path.join(folder, path.basename(buildStamp)), hash) })
      } catch (error) {
        throw new SetUpError(`The application could not be built. ${error.message}`)
      }
    },
  },
}

/** Root gets everything that any command could want at once; others are only asked for what this command cannot do without. */
function systemStep(needed) {
  return {
    missing: () => {
      const missing = missingHere(process.getuid?.() === 0 ? [...libraries, ...tools] : needed)
      return missing.length > 0 && missing
    },
    make: installMissing,
  }
}

/**
 * Makes sure of `needs` (names of steps). Throws SetUpError with a sentence for the person when that is impossible.
 * All output goes to standard error.
 * @param {(keyof typeof steps)[]} needs
 */
export async function ensure(needs) {
  const order = Object.keys(steps).filter((name) => needs.includes(name))
  if (await allThere(order)) return
  await withLock(
    path.join(root, '.cache', 'set-up.lock'),
    async () => {
      for (const name of order) {
        const missing = await steps[name].missing()
        if (missing) await steps[name].make(missing)
      }
    },
    () => say('another set-up of this folder is running, waiting for it ...'),
  )
}

async function allThere(order) {
  for (const name of order) if (await steps[name].missing()) return false
  return true
}

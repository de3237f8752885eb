// node_modules as the lock file says, installed by `npm ci` when it differs.
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { npmCommand, runShown, say, SetUpError } from './process.mjs'

/** @typedef {{ version?: string, link?: boolean, optional?: boolean, devOptional?: boolean }} Entry */

/**
 * @param {string} file
 * @returns {{ packages: Record<string, Entry> }}
 */
const read = (file) => JSON.parse(readFileSync(file, 'utf8'))

/**
 * The first package in which node_modules differs from the lock file, as words, or null when all is there. npm's own record
 * (node_modules/.package-lock.json) is written last, so a broken-off install has none. Optional packages (builds for
 * other systems) may be absent.
 * @param {string} root
 */
export function dependencyProblem(root) {
  const modules = path.join(root, 'node_modules')
  let installed
  try {
    installed = read(path.join(modules, '.package-lock.json')).packages
  } catch {
    return 'the packages are not installed'
  }
  const locked = read(path.join(root, 'package-lock.json')).packages
  for (const [folder, entry] of Object.entries(locked)) {
    if (folder === '' || entry.link) continue
    const there = installed[folder]
    if (!there) {
      if (entry.optional || entry.devOptional) continue
      return `${folder} is missing`
    }
    if (there.version !== entry.version) return `${folder} is ${there.version}, the lock file says ${entry.version}`
    if (!statSync(path.join(root, folder), { throwIfNoEntry: false })) return `${folder} is missing`
  }
  return null
}

/**
 * Installs by the lock file. Throws SetUpError when npm fails.
 * @param {string} root
 */
export async function installDependencies(root) {
  const [command, first] = npmCommand()
  say('installing the packages (npm ci) ...')
  const code = await runShown(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root })
  if (code !== 0)
    throw new SetUpError(`"npm ci" failed (exit code ${code}); its output is above. Is the package registry reachable?`)
}

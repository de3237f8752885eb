// Whether this Node can run the project: package.json's `engines.node` decides, `.nvmrc` names the version to install.
import { readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

/**
 * 'v20.19.1' -> [20, 19, 1]; missing parts are 0.
 * @param {string} version
 */
function parse(version) {
  const parts = version.trim().replace(/^v/, '').split('-')[0].split('.').map(Number)
  return [parts[0], parts[1] || 0, parts[2] || 0]
}

/** @param {number[]} a @param {number[]} b */
function compare(a, b) {
  for (let i = 0; i < 3; i++) if (a[i] !== b[i]) return a[i] - b[i]
  return 0
}

/**
 * Whether `version` lies in `range`: alternatives joined by `||`, each a list of `>=x.y.z`, `<x`, `>x`, `<=x`, `=x`.
 * @param {string} version
 * @param {string} range
 */
export function inRange(version, range) {
  const have = parse(version)
  return range.split('||').some((alternative) =>
    alternative
      .trim()
      .split(/\s+/)
      .every((term) => {
        const match = /^(>=|<=|>|<|=)(\d[\d.]*)$/.exec(term)
        if (!match) throw new Error(`engines.node holds "${term}", which this check cannot read`)
        const order = compare(have, parse(match[2]))
        if (match[1] === '=') return order === 0
        if (match[1].endsWith('=') && order === 0) return true
        return match[1].startsWith('>') ? order > 0 : order < 0
      }),
  )
}

/**
 * A sentence that says what is wrong and what to do, or null when this Node will do.
 * @param {string} version
 * @param {string} range
 * @param {string} recommended
 */
export function nodeProblem(version, range, recommended) {
  if (inRange(version, range)) return null
  return [
    `RecursiveMAS Studio needs Node ${range}; this is Node ${version.replace(/^v/, '')}.`,
    `Install Node ${recommended} (the version in .nvmrc), for example with "nvm install ${recommended}" and "nvm use ${recommended}", and run the command again.`,
  ].join('\n')
}

/** The same for the running process and the project's own files. */
export function checkNode() {
  const range = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')).engines.node
  const recommended = readFileSync(new URL('.nvmrc', root), 'utf8').trim()
  return nodeProblem(process.version, range, recommended)
}

// Stamps say what a finished step was made from. They are written only after success, so an interrupted step has none.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * Every file under `entries` (files or folders, relative to `root`), sorted; entries that do not exist are left out.
 * @param {string} root
 * @param {string[]} entries
 */
export function listFiles(root, entries) {
  /** @type {string[]} */
  const found = []
  /** @param {string} relative */
  const walk = (relative) => {
    const stat = statSync(path.join(root, relative), { throwIfNoEntry: false })
    if (!stat) return
    if (!stat.isDirectory()) found.push(relative)
    else for (const name of readdirSync(path.join(root, relative))) walk(`${relative}/${name}`)
  }
  entries.forEach(walk)
  return found.sort()
}

/**
 * SHA-256 over the names and contents of the files under `entries`.
 * @param {string} root
 * @param {string[]} entries
 */
export function hashFiles(root, entries) {
  const hash = createHash('sha256')
  for (const file of listFiles(root, entries)) {
    const content = readFileSync(path.join(root, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/**
 * What the stamp says, or null when there is none.
 * @param {string} file
 */
export function readStamp(file) {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return null
  }
}

/**
 * Writes the stamp under its final name in one move.
 * @param {string} file
 * @param {string} value
 */
export function writeStamp(file, value) {
  mkdirSync(path.dirname(file), { recursive: true })
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, value + '\n')
  renameSync(temporary, file)
}

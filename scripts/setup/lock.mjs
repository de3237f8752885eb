// One set-up at a time: a folder is the lock (mkdir is atomic), and names its holder, so that a dead one blocks nobody.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { codeOf } from './process.mjs'

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** @param {number} pid */
function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/**
 * Whether the lock's holder is gone: its process has ended, or it died between making the folder and naming itself.
 * @param {string} lock
 */
function abandoned(lock) {
  try {
    const holder = Number(readFileSync(path.join(lock, 'pid'), 'utf8'))
    if (holder > 0) return !alive(holder)
  } catch {
    // Not named yet, or given back since.
  }
  const made = statSync(lock, { throwIfNoEntry: false })
  return made !== undefined && Date.now() - made.mtimeMs > 5_000
}

/**
 * Tries to take the lock. Two comers may find the same dead holder, and the slower one then removes what the faster one has
 * just made: so a moment later it must still be ours.
 * @param {string} lock
 */
async function take(lock) {
  try {
    mkdirSync(path.dirname(lock), { recursive: true })
    mkdirSync(lock)
    writeFileSync(path.join(lock, 'pid'), String(process.pid))
    await sleep(50)
    return readFileSync(path.join(lock, 'pid'), 'utf8') === String(process.pid)
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/**
 * Runs `work` while holding the lock folder `lock`, waiting for another live holder. `waiting` is called once if it has to
 * wait. The lock is given back however `work` ends; a killed process leaves one that the next comer takes over.
 * @template T
 * @param {string} lock
 * @param {() => Promise<T>} work
 * @param {() => void} waiting
 * @returns {Promise<T>}
 */
export async function withLock(lock, work, waiting = () => {}) {
  let told = false
  while (!(await take(lock))) {
    if (abandoned(lock)) {
      rmSync(lock, { recursive: true, force: true })
      continue
    }
    if (!told) waiting()
    told = true
    await sleep(200)
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

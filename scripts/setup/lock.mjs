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
    return !alive(Number(readFileSync(path.join(lock, 'pid'), 'utf8')))
  } catch {
    try {
      return Date.now() - statSync(lock).mtimeMs > 5_000
    } catch {
      return false
    }
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
  mkdirSync(path.dirname(lock), { recursive: true })
  let told = false
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    if (abandoned(lock)) {
      rmSync(lock, { recursive: true, force: true })
      continue
    }
    if (!told) waiting()
    told = true
    await sleep(200)
  }
  writeFileSync(path.join(lock, 'pid'), String(process.pid))
  try {
    return await work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

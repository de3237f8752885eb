// One set-up at a time: a folder is the lock (mkdir is atomic), and names its holder, so that a dead one blocks nobody.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Whether the lock's holder is gone: its process has ended, or it died between making the folder and naming itself. */
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
 */
export async function withLock(lock, work, waiting = () => {}) {
  mkdirSync(path.dirname(lock), { recursive: true })
  let told = false
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
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

// One set-up at a time: a folder is the lock. It appears by one move with its holder's name in it, so it is never there without
// one, and a holder that has ended blocks nobody.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import path from 'node:path'
import { codeOf } from './process.mjs'

/**
 * Who holds the lock. `place` is where its pid means something, `start` tells the processes of one pid apart ('' where the
 * system does not say), `id` is new for every taking.
 * @typedef {{ id: string, place: string, pid: number, start: string }} Holder
 */

/** A holder touches its lock this often; one that cannot be seen from here counts as ended after `silentMs`. */
const touchMs = 5_000
const silentMs = 60_000
/** Removing a dead holder's lock takes milliseconds; who has not done it by then has ended too. */
const claimMs = 10_000

/** How systems say that a folder cannot be moved to where another is (the last two: Windows), or that a sweep removed it. */
const placeTaken = ['EEXIST', 'ENOTEMPTY', 'ENOENT', 'EPERM', 'EACCES']

/** The takings of this process that have not been given back. */
const own = new Set()

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * What the call returns, or `instead` when it throws.
 * @template T
 * @param {() => T} call
 * @param {T} instead
 */
function orElse(call, instead) {
  try {
    return call()
  } catch {
    return instead
  }
}

/** Machine, boot and container: pids repeat in each of them. */
const place = [
  hostname(),
  orElse(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), ''),
  orElse(() => String(statSync('/proc/self/ns/pid').ino), ''),
].join(' ')

/**
 * When the process was started, in ticks since boot; '' where there is no /proc, null when there is no such process.
 * @param {number} pid
 */
function startOf(pid) {
  if (!existsSync('/proc/self/stat')) return ''
  const stat = orElse(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), null)
  // The 22nd value; the second one, a name in brackets, may hold spaces and brackets.
  return stat && stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}

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
 * The holder that the lock names; null when it names none that can be read or there is no lock.
 * @param {string} lock
 * @returns {Holder | null}
 */
const holderOf = (lock) => orElse(() => JSON.parse(readFileSync(path.join(lock, 'holder'), 'utf8')), null)

/**
 * Whether the lock's holder has ended. A silent one that can be seen to run has not: the machine may have slept.
 * @param {string} lock
 * @param {Holder | null} holder
 */
function abandoned(lock, holder) {
  if (holder?.place === place) {
    if (holder.pid === process.pid && holder.start === startOf(process.pid)) return !own.has(holder.id)
    if (!alive(holder.pid)) return true
    const start = startOf(holder.pid)
    if (holder.start && start) return holder.start !== start
  }
  const touched = statSync(lock, { throwIfNoEntry: false })
  return touched !== undefined && Date.now() - touched.mtimeMs > silentMs
}

/**
 * Tries to take the lock: a folder made beside it is moved into its place, which fails when a lock is there.
 * Returns the taking's id, or null.
 * @param {string} lock
 */
function take(lock) {
  const id = randomUUID()
  const fresh = `${lock}.${id}`
  /** @type {Holder} */
  const holder = { id, place, pid: process.pid, start: startOf(process.pid) ?? '' }
  mkdirSync(path.dirname(lock), { recursive: true })
  try {
    mkdirSync(fresh)
    writeFileSync(path.join(fresh, 'holder'), JSON.stringify(holder))
    renameSync(fresh, lock)
    own.add(id)
    return id
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    if (placeTaken.includes(codeOf(error) ?? '')) return null
    throw error
  }
}

/**
 * Removes a lock in one move, so that it never lies there half.
 * @param {string} lock
 */
function remove(lock) {
  const aside = `${lock}.${randomUUID()}`
  renameSync(lock, aside)
  rmSync(aside, { recursive: true, force: true })
}

/**
 * Removes the lock of a holder that has ended. Several comers may have found it: the one whose claim lies in the lock removes
 * it, after making sure that it is still that holder's. (A claim made too late lies in somebody else's lock and is withdrawn.)
 * @param {string} lock
 * @param {Holder | null} dead
 */
function removeDead(lock, dead) {
  const claim = path.join(lock, 'claim')
  try {
    mkdirSync(claim)
  } catch {
    const made = statSync(claim, { throwIfNoEntry: false })
    if (made && Date.now() - made.mtimeMs > claimMs) orElse(() => rmdirSync(claim), undefined)
    return
  }
  const still = holderOf(lock)
  if (still?.id === dead?.id && existsSync(claim)) remove(lock)
  else orElse(() => rmdirSync(claim), undefined)
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
  let id = take(lock)
  while (id === null) {
    const holder = holderOf(lock)
    if (abandoned(lock, holder)) {
      removeDead(lock, holder)
      await sleep(10)
    } else {
      if (!told) waiting()
      told = true
      await sleep(200)
    }
    id = take(lock)
  }
  const beat = setInterval(() => orElse(() => utimesSync(lock, new Date(), new Date()), undefined), touchMs)
  beat.unref()
  try {
    return await work()
  } finally {
    clearInterval(beat)
    own.delete(id)
    if (holderOf(lock)?.id === id) remove(lock)
  }
}

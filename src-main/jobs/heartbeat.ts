/**
 * Signs of life. The engine's run() blocks its thread for as long as a step takes, so a worker thread writes heartbeat.json into
 * the run's folder once a second. A run counts as running only while that file is fresh and its process is there.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { UserError } from '../engine/errors'
import { processExists } from '../system/process-exists'

const heartbeat = z.object({ pid: z.number(), time: z.number(), memoryBytes: z.number() })

/** Ten beats: a machine that swaps may lose a few. */
const staleAfter = 10_000

export type Heartbeat = z.infer<typeof heartbeat>

/** Runs in the worker thread, as text: it must not depend on where the program's files are. */
const workerSource = `
const { workerData, parentPort } = require('node:worker_threads')
const { renameSync, rmSync, writeFileSync } = require('node:fs')
const { file, pid } = workerData
const temporary = file + '.' + pid
function beat() {
  try {
    writeFileSync(temporary, JSON.stringify({ pid, time: Date.now(), memoryBytes: process.memoryUsage.rss() }) + '\\n')
    renameSync(temporary, file)
  } catch {}
}
beat()
const timer = setInterval(beat, 1000)
parentPort.once('message', () => {
  clearInterval(timer)
  rmSync(temporary, { force: true })
  rmSync(file, { force: true })
  parentPort.close()
})
`

/** Starts beating in `folder` (which exists); the result stops it and takes the file away. */
export function startHeartbeat(folder: string): () => Promise<void> {
  const worker = new Worker(workerSource, {
    eval: true,
    workerData: { file: heartbeatFile(folder), pid: process.pid },
    // The parent's options (loaders, inspectors, test hooks) are no business of this worker.
    execArgv: [],
  })
  // A folder that cannot be written stops the job itself; the heart only falls silent.
  worker.on('error', () => undefined)
  worker.unref()
  return () =>
    new Promise((resolve) => {
      worker.once('exit', () => resolve())
      worker.ref()
      worker.postMessage('stop')
    })
}

/** The last beat, whether alive or not; null where there is none. */
export async function lastHeartbeat(folder: string): Promise<Heartbeat | null> {
  const text = await readFile(heartbeatFile(folder), 'utf8').catch(() => null)
  if (text === null) return null
  try {
    return heartbeat.parse(JSON.parse(text))
  } catch {
    return null
  }
}

export async function isAlive(folder: string, now = Date.now()): Promise<boolean> {
  const last = await lastHeartbeat(folder)
  return last !== null && Math.abs(now - last.time) < staleAfter && processExists(last.pid)
}

/** Throws UserError where another process works in the folder. */
export async function refuseIfBusy(folder: string): Promise<void> {
  const last = await lastHeartbeat(folder)
  if (last === null || last.pid === process.pid || !(await isAlive(folder))) return
  throw new UserError({
    what: 'This run is already going on.',
    why: `Process ${last.pid} works in ${folder}.`,
    next: 'Wait until it ends or stop it first.',
  })
}

/** Ends a process whatever it is doing; fulfilled when it is gone. Throws UserError where that cannot be done. */
export async function endProcess(pid: number): Promise<void> {
  const refusal = (why: string): UserError =>
    new UserError({
      what: 'The engine could not be ended.',
      why,
      next: 'Log out and in again, or restart the machine.',
    })
  // A damaged file must not make the app end itself, or a whole group of processes.
  if (pid <= 1 || pid === process.pid) throw refusal(`Process ${pid} is no engine.`)
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return
    throw refusal(`Process ${pid}: ${(error as Error).message}.`)
  }
  for (const end = Date.now() + 5000; processExists(pid);) {
    if (Date.now() > end) throw refusal(`Process ${pid} does not go away.`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function heartbeatFile(folder: string): string {
  return path.join(folder, 'heartbeat.json')
}

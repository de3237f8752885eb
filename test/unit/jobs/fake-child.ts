/**
 * Engine processes for tests of main: the real serveJob with the fake engine, either in this process over a made-up line (fast, can be
 * made to misbehave) or in a real child process (can be killed).
 */
import { fork } from 'node:child_process'
import path from 'node:path'
import type { EngineChild, EngineListener, SpawnEngine, ToEngine } from '../../../src-main/jobs/engine-messages'
import { serveJob } from '../../../src-main/jobs/serve-job'
import { runJob } from './fake-engine'

export interface InProcessChild extends EngineChild {
  /** The process goes without a word. */
  die(code: number): void
}

/** `children` collects what was started; `run`: another engine than the fake one. */
export function inProcessSpawner(children: InProcessChild[] = [], run: typeof runJob = runJob): SpawnEngine {
  return (listener: EngineListener) => {
    let gone = false
    let hear: (message: unknown) => void = () => undefined
    const exit = (code: number): void => {
      if (gone) return
      gone = true
      queueMicrotask(() => listener.exit(code, null))
    }
    const child: InProcessChild = {
      pid: process.pid,
      send: (message: ToEngine) => {
        if (!gone) queueMicrotask(() => hear(structuredClone(message)))
      },
      kill: () => exit(9),
      die: exit,
    }
    children.push(child)
    void serveJob(
      {
        send: (message) => {
          if (!gone) queueMicrotask(() => !gone && listener.message(structuredClone(message)))
        },
        listen: (listen) => (hear = listen),
      },
      run,
    ).then(() => exit(0))
    return child
  }
}

/** A real process, which runs `script` (an ES module that talks over node's own channel). */
export function forkSpawner(script: string, pids: number[] = []): SpawnEngine {
  return (listener) => {
    const child = fork(script, [], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] })
    if (child.pid !== undefined) pids.push(child.pid)
    child.stdout!.on('data', (data) => listener.output(String(data)))
    child.stderr!.on('data', (data) => listener.output(String(data)))
    child.on('message', (message) => listener.message(message))
    child.on('close', (code, signal) =>
      listener.exit(code, signal === null ? null : `Its process was ended by ${signal}`),
    )
    return {
      pid: child.pid,
      send: (message) => void child.send(message),
      kill: () => void child.kill('SIGKILL'),
    }
  }
}

export const stubbornEngine = path.join(import.meta.dirname, 'stubborn-engine.mjs')

/** The data process in this one, over a made-up line, and in a process of its own, which can be killed. */
import { fork } from 'node:child_process'
import type { ToData } from '../../../src-main/data-process/messages'
import { serveData } from '../../../src-main/data-process/serve-data'
import type { Spawn } from '../../../src-main/jobs/child'

export function inProcessData(): Spawn<ToData> {
  return (listener) => {
    let gone = false
    let hear: (message: ToData) => void = () => undefined
    queueMicrotask(() =>
      serveData({
        send: (message) => queueMicrotask(() => !gone && listener.message(structuredClone(message))),
        listen: (listen) => (hear = listen),
      }),
    )
    return {
      pid: process.pid,
      send: (message) => queueMicrotask(() => !gone && hear(structuredClone(message))),
      kill: () => {
        gone = true
        queueMicrotask(() => listener.exit(9, null))
      },
    }
  }
}

/** `script`: data-child.ts, built. */
export function forkedData(script: string): Spawn<ToData> {
  return (listener) => {
    const child = fork(script, [], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [],
      serialization: 'advanced',
    })
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (data) => listener.output(String(data)))
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

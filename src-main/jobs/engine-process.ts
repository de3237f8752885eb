/** Entry of the engine process (Electron's utilityProcess; one for each running job). Holds all sessions; its exit gives all memory back. */
import { runJob } from '../engine/engine'
import type { EngineChannel } from './engine-messages'
import { serveJob } from './serve-job'

interface ParentPort {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { data: unknown }) => void): void
}

const { parentPort } = process as unknown as { parentPort?: ParentPort }
if (!parentPort)
  throw new Error('The engine process is started by the app. On a command line use: npm run job -- spec.json')

// A terminal signals every process of its group: main alone decides when an engine stops, and ends it with SIGKILL where it must.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const channel: EngineChannel = {
  send: (message) => parentPort.postMessage(message),
  listen: (listener) => parentPort.on('message', ({ data }) => listener(data)),
}

await serveJob(channel, runJob)
process.exit(0)

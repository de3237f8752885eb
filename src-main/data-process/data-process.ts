/** Entry of the data process (Electron's utilityProcess; at most one). Holds open data sets and tokenizers; its exit gives all memory back. */
import type { DataChannel, ToData } from './messages'
import { serveData } from './serve-data'

interface ParentPort {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { data: ToData }) => void): void
}

const { parentPort } = process as unknown as { parentPort?: ParentPort }
if (!parentPort) throw new Error('The data process is started by the app. On a command line use: npm run data')

// A terminal signals every process of its group: main alone decides when this one ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const channel: DataChannel = {
  send: (message) => parentPort.postMessage(message),
  listen: (listener) => parentPort.on('message', ({ data }) => listener(data)),
}

serveData(channel)

/** The data process as a child of plain Node. */
import type { ToData } from '../../../src-main/data-process/messages'
import { serveData } from '../../../src-main/data-process/serve-data'

serveData({
  send: (message) => void process.send!(message),
  listen: (listener) => process.on('message', (message) => listener(message as ToData)),
})
process.on('disconnect', () => process.exit(0))

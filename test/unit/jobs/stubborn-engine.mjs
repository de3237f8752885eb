// An engine process that says that it started, beats, prints a line, and then computes for ever: it hears nothing any more.
import { writeFileSync } from 'node:fs'
import path from 'node:path'

process.on('message', (message) => {
  if (message.kind !== 'start') return
  const time = Date.now()
  writeFileSync(
    path.join(message.spec.output, 'heartbeat.json'),
    JSON.stringify({ pid: process.pid, time, memoryBytes: 1000 }),
  )
  const event = { kind: 'started', time, job: message.spec.kind, resumedFrom: null }
  console.log('computing for ever')
  process.send({ kind: 'event', event }, () => {
    for (;;);
  })
})
process.send({ kind: 'ready' })

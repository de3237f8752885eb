/** The data process's whole life: answers main's calls, several at a time. Apart from data-process.ts so that it runs in tests over any channel. */
import { UserError } from '../engine/errors'
import type { DataChannel, Operation, Progress, ToData } from './messages'
import { OpenSets } from './open-sets'
import { Pace } from './pace'
import { makeService, type Call, type DataService } from './service'

export function serveData(channel: DataChannel): void {
  let service: DataService | undefined
  const underWay = new Map<string, AbortController>()

  async function work(message: Extract<ToData, { kind: 'call' }>): Promise<void> {
    const { id, ticket, operation, params } = message
    const stop = new AbortController()
    const pace = new Pace<Progress>((progress) => channel.send({ kind: 'progress', progress }))
    if (ticket !== null) underWay.set(ticket, stop)
    const call: Call = {
      signal: stop.signal,
      progress: (share, done, unit) => {
        if (ticket !== null) pace.next({ ticket, share, done, unit })
      },
    }
    try {
      if (!service) throw new Error('called before the start')
      const perform = service[operation] as (params: unknown, call: Call) => Promise<unknown>
      channel.send({ kind: 'done', id, value: await perform(params, call) })
    } catch (error) {
      const told = stop.signal.aborted ? cancelled(operation) : error
      if (told instanceof UserError) {
        const { what, why, next } = told
        channel.send({ kind: 'refused', id, error: { what, why, next } })
      } else {
        const { message: text, stack } = told instanceof Error ? told : new Error(String(told))
        channel.send({ kind: 'failed', id, message: text, stack })
      }
    } finally {
      pace.stop()
      if (ticket !== null && underWay.get(ticket) === stop) underWay.delete(ticket)
    }
  }

  channel.listen((message) => {
    switch (message.kind) {
      case 'start':
        service = makeService(
          new OpenSets({
            firstHandle: message.firstHandle,
            onOrder: (state) => channel.send({ kind: 'order', state }),
          }),
        )
        return
      case 'call':
        void work(message)
        return
      case 'cancel':
        underWay.get(message.ticket)?.abort()
        return
    }
  })
  channel.send({ kind: 'ready' })
}

const doing: Partial<Record<Operation, string>> = {
  open: 'The data set was not opened.',
  save: 'The rows were not saved.',
  split: 'The new data set was not saved.',
}

function cancelled(operation: Operation): UserError {
  return new UserError({
    what: doing[operation] ?? 'The rows were not counted.',
    why: 'It was cancelled.',
    next: 'Start it again when you want it.',
  })
}

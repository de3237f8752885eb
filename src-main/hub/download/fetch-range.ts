/** Fetches what is missing of one range, through every fault that passes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hub, HubResponse } from '../connection'
import { connectionFault, type Question, refusal } from '../refusals'
import { PassingFault, waitBefore } from '../retry'
import { unreachable } from '../connection'
import type { PartialFile, Range } from './partial-file'
import type { Slots } from './slots'

/** The server sends the whole file whatever range is asked for: several ranges would each bring it again. */
export class NoRanges extends Error {}

export interface RangeErrand {
  readonly hub: Hub
  readonly url: string
  readonly question: Question
  readonly file: PartialFile
  readonly signal: AbortSignal
  readonly slots: Slots
  /** Bytes that came in. */
  readonly received: (bytes: number) => void
  /** A fault that is waited out. */
  readonly waiting: (fault: { why: string; waitMs: number }) => void
}

/** Throws UserError, NoRanges where the file has several, the signal's reason. */
export async function fetchRange(errand: RangeErrand, range: Range): Promise<void> {
  const length = range.end - range.start
  for (let failed = 0; range.done < length;) {
    const before = range.done
    try {
      await errand.slots.within(() => tryOnce(errand, range))
      return
    } catch (error) {
      if (!(error instanceof PassingFault)) throw error
      failed = range.done > before ? 1 : failed + 1
      const wait = waitBefore(failed, error, errand.hub.fileRetry)
      if (wait === null) throw unreachable(errand.hub.endpoint, error.why, error)
      errand.waiting({ why: error.why, waitMs: wait })
      await sleep(wait, undefined, { signal: errand.signal })
    }
  }
}

async function tryOnce({ hub, url, question, file, signal, received }: RangeErrand, range: Range): Promise<void> {
  signal.throwIfAborted()
  const from = range.start + range.done
  const response = await hub.ask(url, { signal, headers: { range: `bytes=${from}-${range.end - 1}` } })
  // A stream that nobody reads any more must not end the process with its error.
  response.stream.on('error', () => undefined)
  try {
    let skip = checkedStart(response, { from, size: file.wanted.size, question, hub })
    if (response.status === 200 && file.ranges.length > 1) throw new NoRanges()
    for await (const piece of piecesOf(response, url, signal)) {
      received(piece.length)
      const skipped = Math.min(skip, piece.length)
      skip -= skipped
      const missing = range.end - range.start - range.done
      const wanted = piece.subarray(skipped, skipped + missing)
      await file.write(range, wanted)
      if (wanted.length === missing) return
    }
    throw new PassingFault(`${new URL(hub.endpoint).host} sent less than it was asked for.`)
  } finally {
    response.stream.destroy()
  }
}

/** Pieces of the body, the connection's errors as faults; those of writing stay what they are. */
async function* piecesOf({ stream }: HubResponse, url: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const pieces = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  for (;;) {
    let next: IteratorResult<Buffer>
    try {
      next = await pieces.next()
    } catch (error) {
      signal.throwIfAborted()
      throw connectionFault(error, url)
    }
    if (next.done) return
    yield next.value
  }
}

/** How many bytes of the answer come before those that were asked for: 0 but where a server knows no ranges. */
function checkedStart(
  response: HubResponse,
  { from, size, question, hub }: { from: number; size: number; question: Question; hub: Hub },
): number {
  const { status, headers, fromHub } = response
  const host = new URL(hub.endpoint).host
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    throw new PassingFault(`${host} sent the file in another encoding.`)
  if (status === 206) {
    const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers['content-range'] ?? '')
    if (!match) throw new PassingFault(`${host} did not say which bytes it sends.`)
    if (Number(match[1]) !== from) throw new PassingFault(`${host} sent other bytes than it was asked for.`)
    if (match[3] !== '*' && Number(match[3]) !== size) throw new PassingFault(`${host} has the file in another length.`)
    return 0
  }
  if (status === 200) {
    const length = headers['content-length']
    if (length !== undefined && Number(length) !== size)
      throw new PassingFault(`${host} has the file in another length.`)
    return from
  }
  if (status === 416) throw new PassingFault(`${host} has the file in another length.`)
  // the addresses that the hub names for a file run out; asked again it names new ones
  if (!fromHub && status >= 400 && status < 500 && status !== 429)
    throw new PassingFault(`The file’s address ran out (${status}).`)
  if (status >= 400) throw refusal(response, question, hub.endpoint, hub.hasToken)
  throw new PassingFault(`${host} answered ${status}.`)
}

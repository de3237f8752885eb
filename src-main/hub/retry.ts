/** Faults that pass by themselves, and how long to wait before the next try. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Something that may work a moment later: a lost connection, a busy server. */
export class PassingFault extends Error {
  constructor(
    /** One sentence. */
    readonly why: string,
    /** What the server asked to wait, ms; null where it did not. */
    readonly retryAfterMs: number | null = null,
    options?: ErrorOptions,
  ) {
    super(why, options)
    this.name = 'PassingFault'
  }
}

export interface RetryPolicy {
  /** Tries in a row without a byte of progress. */
  readonly tries: number
  /** Before the second try, ms; doubles from try to try. */
  readonly firstMs: number
  /** The longest wait of our own, ms. */
  readonly mostMs: number
  /** A server that asks for more than this is not waited for, ms. */
  readonly patienceMs: number
}

/** For files: about two minutes without a byte. */
export const patientRetry: RetryPolicy = { tries: 9, firstMs: 500, mostMs: 30_000, patienceMs: 600_000 }
/** For questions that a person waits for. */
export const promptRetry: RetryPolicy = { tries: 4, firstMs: 400, mostMs: 5_000, patienceMs: 60_000 }

/** Milliseconds before the next try after `failed` tries in a row; null: no further one. */
export function waitBefore(
  failed: number,
  fault: PassingFault,
  policy: RetryPolicy,
  random = Math.random,
): number | null {
  if (failed >= policy.tries) return null
  const own = Math.min(policy.mostMs, policy.firstMs * 2 ** (failed - 1)) * (0.75 + random() / 2)
  if (fault.retryAfterMs === null) return own
  return fault.retryAfterMs > policy.patienceMs ? null : Math.max(own, fault.retryAfterMs)
}

/** Runs an action until it works, its fault does not pass, or the tries are used up; `lastly` makes that error. */
export async function retrying<T>(
  action: () => Promise<T>,
  policy: RetryPolicy,
  lastly: (fault: PassingFault) => Error,
  signal?: AbortSignal,
): Promise<T> {
  for (let failed = 1; ; failed++) {
    try {
      return await action()
    } catch (error) {
      if (!(error instanceof PassingFault)) throw error
      const wait = waitBefore(failed, error, policy)
      if (wait === null) throw lastly(error)
      await sleep(wait, undefined, { signal })
    }
  }
}

/** The header Retry-After (seconds or a date) in ms; null where there is none or it cannot be read. */
export function retryAfter(header: string | undefined, now = Date.now()): number | null {
  if (header === undefined) return null
  if (/^\d{1,9}(\.\d+)?$/.test(header.trim())) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

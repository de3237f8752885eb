/** The page's only way out: typed requests to main and events from it. */
import type {
  EventName,
  EventPayload,
  RequestName,
  RequestParams,
  RequestResult,
  StudioBridge,
  StudioError,
} from '../../src-main/bridge/contract'

declare global {
  interface Window {
    readonly studio: StudioBridge
  }
}

/** A request that main refused; `error` says what happened, why, and what to do next. */
export class Refused extends Error {
  constructor(readonly error: StudioError) {
    super(`${error.what} ${error.why}`)
    this.name = 'Refused'
  }
}

/** Throws `Refused` where main says no. */
export async function ask<N extends RequestName>(name: N, params: RequestParams<N>): Promise<RequestResult<N>> {
  const reply = await window.studio.request(name, params)
  if (!reply.ok) throw new Refused(reply.error)
  return reply.value
}

/** Calls `listener` for every such event until the returned function is called. */
export function listen<N extends EventName>(name: N, listener: (payload: EventPayload<N>) => void): () => void {
  return window.studio.on(name, listener)
}

/** Whatever was thrown, in the form that can be shown. */
export function asError(thrown: unknown): StudioError {
  if (thrown instanceof Refused) return thrown.error
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return {
    what: 'Something in the window went wrong.',
    why: message,
    next: 'Reload the window (Ctrl R); nothing is lost.',
  }
}

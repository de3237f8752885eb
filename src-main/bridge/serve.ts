/**
 * The serving side of the bridge: one channel, one order of checks for every request. Who asks, then what is asked, then whether the
 * parameters fit; only then is anything done. Every answer has one shape, and no error of ours reaches the page as a bare stack.
 */
import { UserError } from '../engine/errors'
import { checkAgainst } from '../engine/formats/schema-faults'
import { requests, type CheckedParams, type RequestName, type RequestResult, type StudioError } from './contract'

export type Handlers = {
  [N in RequestName]: (params: CheckedParams<N>) => Promise<RequestResult<N>> | RequestResult<N>
}

export type AnyReply = { ok: true; value: unknown } | { ok: false; error: StudioError }

export async function answer(
  message: { trusted: boolean; name: unknown; params: unknown },
  handlers: Handlers,
  log: (text: string, error?: unknown) => void,
): Promise<AnyReply> {
  if (!message.trusted) {
    log(`refused a request from a page that is not the app's own: ${String(message.name).slice(0, 100)}`)
    return refusal('The request came from a page that is not part of the app.')
  }
  const { name } = message
  if (typeof name !== 'string' || !Object.hasOwn(requests, name)) {
    log(`refused an unknown request: ${String(name).slice(0, 100)}`)
    return refusal('There is no such request.')
  }
  return perform(name as RequestName, message.params, handlers, log)
}

async function perform<N extends RequestName>(
  name: N,
  raw: unknown,
  handlers: Handlers,
  log: (text: string, error?: unknown) => void,
): Promise<AnyReply> {
  const checked = checkAgainst(requests[name].params, raw, 'the parameters')
  if (!checked.ok) {
    log(`refused ${name}: ${checked.why}.`)
    return refusal(`The parameters of ${name} do not fit: ${checked.why}.`)
  }
  try {
    return { ok: true, value: await handlers[name](checked.data as CheckedParams<N>) }
  } catch (error) {
    if (!(error instanceof UserError)) log(`${name} failed`, error)
    return { ok: false, error: errorForPage(error) }
  }
}

/** What a person is told of any error. */
export function errorForPage(error: unknown): StudioError {
  if (error instanceof UserError) {
    const { what, why, next } = error
    return { what, why, next }
  }
  return {
    what: 'Something went wrong inside the app.',
    why: error instanceof Error ? error.message : String(error),
    next: 'Try again; the log of the app (Settings, logs) has the details.',
  }
}

function refusal(why: string): AnyReply {
  return { ok: false, error: { what: 'The request was refused.', why, next: 'Reload the window.' } }
}
